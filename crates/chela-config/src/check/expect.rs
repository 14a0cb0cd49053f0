//! What was expected, in words; and whether something fits, without saying why not.

use super::forms::form_problem;
use crate::node::{ConfigNode, NodeKind};
use crate::schema::plain_number;
use crate::shape::{FieldRules, FixedValue, TextForm, ValueShape};

/// Whether the value is of the right kind, whatever it holds.
pub fn kind_fits(shape: &ValueShape, node: &ConfigNode) -> bool {
    match shape {
        ValueShape::Anything => true,
        ValueShape::Bool | ValueShape::Exactly(FixedValue::False) => {
            matches!(node.kind, NodeKind::Bool(_))
        }
        ValueShape::Whole { .. } | ValueShape::Number => matches!(node.kind, NodeKind::Number(_)),
        ValueShape::Text | ValueShape::Words(_) | ValueShape::Exactly(FixedValue::Text(_)) => {
            matches!(node.kind, NodeKind::String(_))
        }
        ValueShape::Form(TextForm::TimeOfDay | TextForm::HexColor) => {
            matches!(node.kind, NodeKind::String(_))
        }
        ValueShape::Form(TextForm::Duration | TextForm::ByteSize | TextForm::Id) => {
            matches!(node.kind, NodeKind::String(_) | NodeKind::Number(_))
        }
        ValueShape::Form(TextForm::Scalar) => {
            matches!(
                node.kind,
                NodeKind::String(_) | NodeKind::Number(_) | NodeKind::Bool(_)
            )
        }
        ValueShape::List(_) => matches!(node.kind, NodeKind::Array(_)),
        ValueShape::Map(_) | ValueShape::Object(_) => matches!(node.kind, NodeKind::Object(_)),
        ValueShape::OneOf(branches) => branches.iter().any(|branch| kind_fits(branch, node)),
        ValueShape::Secret(inner) => kind_fits(inner, node),
    }
}

/// Whether the value can be used as it is. Keys that would be ignored do not count.
pub fn fits(shape: &ValueShape, rules: &FieldRules, node: &ConfigNode) -> bool {
    if !kind_fits(shape, node) {
        return false;
    }
    match (shape, &node.kind) {
        (ValueShape::Exactly(literal), _) => is_literal(*literal, node),
        (ValueShape::Words(words), NodeKind::String(text)) => {
            words.words.iter().any(|word| word.text == text)
        }
        (ValueShape::Form(form), _) => form_problem(*form, node).is_none(),
        (ValueShape::Whole { min, max }, NodeKind::Number(number)) => {
            let whole = number
                .as_u64()
                .map(i128::from)
                .or(number.as_i64().map(i128::from));
            whole.is_some_and(|whole| (i128::from(*min)..=i128::from(*max)).contains(&whole))
                && in_limits(rules, number)
        }
        (ValueShape::Number, NodeKind::Number(number)) => in_limits(rules, number),
        (ValueShape::List(item), NodeKind::Array(items)) => items
            .iter()
            .all(|value| fits(item, &FieldRules::NONE, value)),
        (ValueShape::Map(entry), NodeKind::Object(members)) => members
            .iter()
            .all(|member| fits(entry, &FieldRules::NONE, &member.value)),
        (ValueShape::Object(object), NodeKind::Object(members)) => {
            let known = members
                .iter()
                .all(|member| match object.field(&member.key) {
                    Some(field) => fits(field.shape, &field.rules, &member.value),
                    None => object
                        .rest
                        .is_some_and(|rest| fits(rest, &FieldRules::NONE, &member.value)),
                });
            let complete = object
                .fields
                .iter()
                .filter(|field| field.rules.required)
                .all(|field| members.iter().any(|member| member.key == field.key));
            known && complete
        }
        (ValueShape::OneOf(branches), _) => branches.iter().any(|branch| fits(branch, rules, node)),
        (ValueShape::Secret(inner), _) => fits(inner, rules, node),
        _ => true,
    }
}

fn in_limits(rules: &FieldRules, number: &serde_json::Number) -> bool {
    let value = number.as_f64().unwrap_or(f64::NAN);
    rules.min.is_none_or(|min| value >= min) && rules.max.is_none_or(|max| value <= max)
}

pub fn is_literal(literal: FixedValue, node: &ConfigNode) -> bool {
    match (literal, &node.kind) {
        (FixedValue::False, NodeKind::Bool(value)) => !value,
        (FixedValue::Text(wanted), NodeKind::String(text)) => wanted == text,
        _ => false,
    }
}

/// The shape in words, as in "expected …".
pub fn described(shape: &ValueShape, rules: &FieldRules) -> String {
    match shape {
        ValueShape::Anything => "anything".to_owned(),
        ValueShape::Bool => "true or false".to_owned(),
        ValueShape::Whole { min, max } => {
            let top = Some(*max as f64).filter(|_| *max != u64::MAX);
            #[expect(clippy::cast_precision_loss, reason = "limits are small numbers")]
            let bottom = *min as f64;
            ranged(
                "a whole number",
                rules.min.or(Some(bottom)),
                rules.max.or(top),
            )
        }
        ValueShape::Number => ranged("a number", rules.min, rules.max),
        ValueShape::Text => "text".to_owned(),
        ValueShape::Form(form) => match form {
            TextForm::Duration => "a duration such as `30m`, `1h30m` or `0`",
            TextForm::ByteSize => "a size such as `10mb`, or a number of bytes",
            TextForm::TimeOfDay => "a time such as `08:00`, up to `24:00`",
            TextForm::HexColor => "a colour such as `#22aa88`",
            TextForm::Id => "text or a whole number",
            TextForm::Scalar => "text, a number, true or false",
        }
        .to_owned(),
        ValueShape::Words(words) => {
            let texts: Vec<String> = words
                .words
                .iter()
                .map(|word| format!("`{}`", word.text))
                .collect();
            format!("one of {}", texts.join(", "))
        }
        ValueShape::Exactly(FixedValue::False) => "`false`".to_owned(),
        ValueShape::Exactly(FixedValue::Text(text)) => format!("`{text}`"),
        ValueShape::List(item) => match item {
            ValueShape::Text | ValueShape::Form(TextForm::Id) => "a list of text".to_owned(),
            _ => "a list".to_owned(),
        },
        ValueShape::Map(_) | ValueShape::Object(_) => "an object".to_owned(),
        ValueShape::OneOf(branches) => {
            let parts: Vec<String> = branches
                .iter()
                .map(|branch| described(branch, rules))
                .collect();
            parts.join(", or ")
        }
        ValueShape::Secret(inner) => described(inner, rules),
    }
}

fn ranged(what: &str, min: Option<f64>, max: Option<f64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => {
            format!("{what} from {} to {}", plain_number(min), plain_number(max))
        }
        (Some(min), None) => format!("{what} of at least {}", plain_number(min)),
        (None, Some(max)) => format!("{what} of at most {}", plain_number(max)),
        (None, None) => what.to_owned(),
    }
}

/// Every word that would be accepted.
pub fn words_of(shape: &'static ValueShape) -> Vec<&'static str> {
    match shape {
        ValueShape::Words(words) => words.words.iter().map(|word| word.text).collect(),
        ValueShape::Exactly(FixedValue::Text(text)) => vec![text],
        ValueShape::OneOf(branches) => branches
            .iter()
            .flat_map(|branch| words_of(branch))
            .collect(),
        ValueShape::Secret(inner) => words_of(inner),
        _ => Vec::new(),
    }
}

/// Whether there is a key at this path.
pub fn is_key(root: &'static ValueShape, path: &str) -> bool {
    let mut shape = root;
    path.split('.').all(|key| {
        let found = shape.as_object().and_then(|object| object.field(key));
        shape = found.map_or(shape, |field| field.shape);
        found.is_some()
    })
}

/// Where else a key of this name exists, if in one place only.
pub fn elsewhere(root: &'static ValueShape, key: &str) -> Option<String> {
    const DEPTH: usize = 3;
    let mut level: Vec<(String, &'static ValueShape)> = vec![(String::new(), root)];
    let mut found = None;
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for (path, shape) in level {
            let Some(object) = shape.as_object() else {
                continue;
            };
            for field in object.fields {
                let inner = match path.as_str() {
                    "" => field.key.to_owned(),
                    path => format!("{path}.{}", field.key),
                };
                if field.key == key && found.replace(inner.clone()).is_some() {
                    return None;
                }
                next.push((inner, field.shape));
            }
        }
        level = next;
    }
    found
}
