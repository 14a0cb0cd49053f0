//! What was expected, in words; and whether something fits, without saying why not.

use super::forms::form_problem;
use crate::node::{Kind, Node};
use crate::schema::plain_number;
use crate::shape::{Form, Literal, Rules, Shape};

/// Whether the value is of the right kind, whatever it holds.
pub fn kind_fits(shape: &Shape, node: &Node) -> bool {
    match shape {
        Shape::Anything => true,
        Shape::Bool | Shape::Exactly(Literal::False) => matches!(node.kind, Kind::Bool(_)),
        Shape::Whole { .. } | Shape::Number => matches!(node.kind, Kind::Number(_)),
        Shape::Text | Shape::Words(_) | Shape::Exactly(Literal::Text(_)) => {
            matches!(node.kind, Kind::String(_))
        }
        Shape::Form(Form::TimeOfDay | Form::HexColor) => matches!(node.kind, Kind::String(_)),
        Shape::Form(Form::Duration | Form::ByteSize | Form::Id) => {
            matches!(node.kind, Kind::String(_) | Kind::Number(_))
        }
        Shape::Form(Form::Scalar) => {
            matches!(node.kind, Kind::String(_) | Kind::Number(_) | Kind::Bool(_))
        }
        Shape::List(_) => matches!(node.kind, Kind::Array(_)),
        Shape::Map(_) | Shape::Object(_) => matches!(node.kind, Kind::Object(_)),
        Shape::OneOf(branches) => branches.iter().any(|branch| kind_fits(branch, node)),
        Shape::Secret(inner) => kind_fits(inner, node),
    }
}

/// Whether the value can be used as it is. Keys that would be ignored do not count.
pub fn fits(shape: &Shape, rules: &Rules, node: &Node) -> bool {
    if !kind_fits(shape, node) {
        return false;
    }
    match (shape, &node.kind) {
        (Shape::Exactly(literal), _) => is_literal(*literal, node),
        (Shape::Words(words), Kind::String(text)) => {
            words.words.iter().any(|word| word.text == text)
        }
        (Shape::Form(form), _) => form_problem(*form, node).is_none(),
        (Shape::Whole { min, max }, Kind::Number(number)) => {
            let whole = number
                .as_u64()
                .map(i128::from)
                .or(number.as_i64().map(i128::from));
            whole.is_some_and(|whole| (i128::from(*min)..=i128::from(*max)).contains(&whole))
                && in_limits(rules, number)
        }
        (Shape::Number, Kind::Number(number)) => in_limits(rules, number),
        (Shape::List(item), Kind::Array(items)) => {
            items.iter().all(|value| fits(item, &Rules::NONE, value))
        }
        (Shape::Map(entry), Kind::Object(members)) => members
            .iter()
            .all(|member| fits(entry, &Rules::NONE, &member.value)),
        (Shape::Object(object), Kind::Object(members)) => {
            let known = members
                .iter()
                .all(|member| match object.field(&member.key) {
                    Some(field) => fits(field.shape, &field.rules, &member.value),
                    None => object
                        .rest
                        .is_some_and(|rest| fits(rest, &Rules::NONE, &member.value)),
                });
            let complete = object
                .fields
                .iter()
                .filter(|field| field.rules.required)
                .all(|field| members.iter().any(|member| member.key == field.key));
            known && complete
        }
        (Shape::OneOf(branches), _) => branches.iter().any(|branch| fits(branch, rules, node)),
        (Shape::Secret(inner), _) => fits(inner, rules, node),
        _ => true,
    }
}

fn in_limits(rules: &Rules, number: &serde_json::Number) -> bool {
    let value = number.as_f64().unwrap_or(f64::NAN);
    rules.min.is_none_or(|min| value >= min) && rules.max.is_none_or(|max| value <= max)
}

pub fn is_literal(literal: Literal, node: &Node) -> bool {
    match (literal, &node.kind) {
        (Literal::False, Kind::Bool(value)) => !value,
        (Literal::Text(wanted), Kind::String(text)) => wanted == text,
        _ => false,
    }
}

/// The shape in words, as in "expected …".
pub fn described(shape: &Shape, rules: &Rules) -> String {
    match shape {
        Shape::Anything => "anything".to_owned(),
        Shape::Bool => "true or false".to_owned(),
        Shape::Whole { min, max } => {
            let top = Some(*max as f64).filter(|_| *max != u64::MAX);
            #[expect(clippy::cast_precision_loss, reason = "limits are small numbers")]
            let bottom = *min as f64;
            ranged(
                "a whole number",
                rules.min.or(Some(bottom)),
                rules.max.or(top),
            )
        }
        Shape::Number => ranged("a number", rules.min, rules.max),
        Shape::Text => "text".to_owned(),
        Shape::Form(form) => match form {
            Form::Duration => "a duration such as `30m`, `1h30m` or `0`",
            Form::ByteSize => "a size such as `10mb`, or a number of bytes",
            Form::TimeOfDay => "a time such as `08:00`, up to `24:00`",
            Form::HexColor => "a colour such as `#22aa88`",
            Form::Id => "text or a whole number",
            Form::Scalar => "text, a number, true or false",
        }
        .to_owned(),
        Shape::Words(words) => {
            let texts: Vec<String> = words
                .words
                .iter()
                .map(|word| format!("`{}`", word.text))
                .collect();
            format!("one of {}", texts.join(", "))
        }
        Shape::Exactly(Literal::False) => "`false`".to_owned(),
        Shape::Exactly(Literal::Text(text)) => format!("`{text}`"),
        Shape::List(item) => match item {
            Shape::Text | Shape::Form(Form::Id) => "a list of text".to_owned(),
            _ => "a list".to_owned(),
        },
        Shape::Map(_) | Shape::Object(_) => "an object".to_owned(),
        Shape::OneOf(branches) => {
            let parts: Vec<String> = branches
                .iter()
                .map(|branch| described(branch, rules))
                .collect();
            parts.join(", or ")
        }
        Shape::Secret(inner) => described(inner, rules),
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
pub fn words_of(shape: &'static Shape) -> Vec<&'static str> {
    match shape {
        Shape::Words(words) => words.words.iter().map(|word| word.text).collect(),
        Shape::Exactly(Literal::Text(text)) => vec![text],
        Shape::OneOf(branches) => branches
            .iter()
            .flat_map(|branch| words_of(branch))
            .collect(),
        Shape::Secret(inner) => words_of(inner),
        _ => Vec::new(),
    }
}

/// Where else a key of this name exists, if in one place only.
pub fn elsewhere(root: &'static Shape, key: &str) -> Option<String> {
    const DEPTH: usize = 3;
    let mut level: Vec<(String, &'static Shape)> = vec![(String::new(), root)];
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
