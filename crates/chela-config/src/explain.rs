//! `config explain`: one key, its value, where it came from, and who says otherwise.

use chela_core::AgentId;
use serde_json::Value;

use crate::diagnostic::SourcePlace;
use crate::key_path::{KeyPath, PathSegment};
use crate::load::LoadedConfig;
use crate::migrate::written_at;
use crate::node::ConfigNode;
use crate::redact::redacted;
use crate::schema::{plain_number, shape_at};
use crate::shape::{FieldRules, FieldShape, FixedValue, TextForm, ValueShape, tidy_doc};

/// Everything there is to say about one key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyExplanation {
    pub path: KeyPath,
    /// The effective value; secrets are hidden. `None`: not set and without a default.
    pub value: Option<Value>,
    pub source: ValueSource,
    pub default: Option<Value>,
    pub doc: Option<String>,
    /// That nothing uses it, or nothing runs what it belongs to.
    pub kept: Option<String>,
    /// The type in words.
    pub kind: String,
    /// The words it may be, each with what it means.
    pub allowed: Vec<(String, String)>,
    /// Agents that set it otherwise.
    pub overridden_by: Vec<AgentOverride>,
}

/// Where the value of a key came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// Set in a file.
    File {
        place: Option<SourcePlace>,
        vars: Vec<String>,
    },
    /// Set in a file under an older name.
    Migrated {
        from: KeyPath,
        place: Option<SourcePlace>,
        migration: &'static str,
    },
    /// Not set: the default.
    Default,
    /// Not set, and there is no default.
    Unset,
}

/// One agent's own value of a key that is set for all.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOverride {
    pub agent: AgentId,
    pub path: KeyPath,
    pub value: Value,
    pub place: Option<SourcePlace>,
}

/// Explains a key. `None` if there can be no such key.
pub fn explain(loaded: &LoadedConfig, path: &KeyPath) -> Option<KeyExplanation> {
    let path = &present(loaded, path);
    let (shape, field) = shape_at(path)?;
    let node = loaded.tree.at_path(path);
    let default = field.and_then(FieldShape::default_value);
    let rules = field.map_or(FieldRules::NONE, |field| field.rules);
    Some(KeyExplanation {
        path: path.clone(),
        value: node
            .map(|node| redacted(node, path))
            .or_else(|| default.clone()),
        source: source(loaded, path, node, default.is_some()),
        default,
        doc: doc(shape, field),
        kept: kept_unused(path),
        kind: kind(shape, &rules),
        allowed: allowed(shape),
        overridden_by: overrides(loaded, path),
    })
}

/// The path in the present shape: what was asked for under an older name is found as well, and
/// `agents.list.<id>` names an agent by its id.
fn present(loaded: &LoadedConfig, path: &KeyPath) -> KeyPath {
    for moved in loaded.moves.iter() {
        if let Some(path) = path.rebased(&moved.from, &moved.to) {
            return path;
        }
    }
    if let [
        PathSegment::Key(agents),
        PathSegment::Key(list),
        PathSegment::Key(id),
        rest @ ..,
    ] = path.segments()
        && agents == "agents"
        && (list == "list" || list == "entries")
        && let Ok(id) = AgentId::parse(id)
        && let Some(entry) = crate::view::entry_path(loaded, &id)
    {
        return rest
            .iter()
            .fold(entry, |path, segment| path.with(segment.clone()));
    }
    path.clone()
}

fn source(
    loaded: &LoadedConfig,
    path: &KeyPath,
    node: Option<&ConfigNode>,
    has_default: bool,
) -> ValueSource {
    let Some(node) = node else {
        return if has_default {
            ValueSource::Default
        } else {
            ValueSource::Unset
        };
    };
    let place = loaded.place(node.at);
    match written_at(&loaded.moves, path) {
        Some((from, migration)) => ValueSource::Migrated {
            from,
            place,
            migration,
        },
        None => ValueSource::File {
            place,
            vars: node.vars.clone(),
        },
    }
}

fn doc(shape: &ValueShape, field: Option<&FieldShape>) -> Option<String> {
    field
        .map(FieldShape::doc)
        .or_else(|| shape.as_object().map(|object| tidy_doc(object.doc)))
}

/// What is said of a key that nothing uses, or of the part it belongs to.
pub fn kept_unused(path: &KeyPath) -> Option<String> {
    let segments = path.segments();
    (1..=segments.len()).find_map(|len| {
        let part = segments
            .iter()
            .take(len)
            .fold(KeyPath::root(), |path, segment| path.with(segment.clone()));
        let (_, field) = shape_at(&part)?;
        let told = field?.kept()?;
        Some(match len == segments.len() {
            true => told.to_owned(),
            false => format!("`{part}` is {told}"),
        })
    })
}

/// Agents that set a key of `agents.defaults` for themselves.
fn overrides(loaded: &LoadedConfig, path: &KeyPath) -> Vec<AgentOverride> {
    let defaults = KeyPath::root().key("agents").key("defaults");
    let Some(rest @ [_, ..]) = path.segments().strip_prefix(defaults.segments()) else {
        return Vec::new();
    };
    let list = KeyPath::root().key("agents").key("list");
    let mut found = Vec::new();
    for (index, entry) in loaded.config.agents.list.iter().enumerate() {
        let own = rest.iter().fold(list.index(index), |path, segment| {
            path.with(segment.clone())
        });
        if let Some(node) = loaded.tree.at_path(&own) {
            found.push(AgentOverride {
                agent: AgentId::normalize(&entry.id),
                value: redacted(node, &own),
                place: loaded.place(node.at),
                path: written_at(&loaded.moves, &own).map_or(own, |(written, _)| written),
            });
        }
    }
    found
}

/// A type in a few words.
pub(crate) fn kind(shape: &ValueShape, rules: &FieldRules) -> String {
    match shape {
        ValueShape::Anything => "anything".to_owned(),
        ValueShape::Bool => "true/false".to_owned(),
        ValueShape::Whole { .. } => with_range("whole number", rules),
        ValueShape::Number => with_range("number", rules),
        ValueShape::Text => "text".to_owned(),
        ValueShape::Form(TextForm::Duration) => "duration".to_owned(),
        ValueShape::Form(TextForm::ByteSize) => "size".to_owned(),
        ValueShape::Form(TextForm::TimeOfDay) => "time of day".to_owned(),
        ValueShape::Form(TextForm::HexColor) => "colour".to_owned(),
        ValueShape::Form(TextForm::Id) => "id".to_owned(),
        ValueShape::Form(TextForm::Scalar) => "text, number or true/false".to_owned(),
        ValueShape::Words(words) => {
            let texts: Vec<String> = words
                .words
                .iter()
                .map(|word| format!("`{}`", word.text))
                .collect();
            texts.join(", ")
        }
        ValueShape::Exactly(FixedValue::False) => "`false`".to_owned(),
        ValueShape::Exactly(FixedValue::Text(text)) => format!("`{text}`"),
        ValueShape::List(item) => format!("list of {}", kind(item, &FieldRules::NONE)),
        ValueShape::Map(ValueShape::Anything) => "object".to_owned(),
        ValueShape::Map(entry) => format!("map of {}", kind(entry, &FieldRules::NONE)),
        ValueShape::Object(_) => "object".to_owned(),
        ValueShape::OneOf(branches) => {
            let kinds: Vec<String> = branches.iter().map(|branch| kind(branch, rules)).collect();
            kinds.join(" or ")
        }
        ValueShape::Secret(_) => "secret".to_owned(),
    }
}

fn with_range(what: &str, rules: &FieldRules) -> String {
    match (rules.min, rules.max) {
        (Some(min), Some(max)) => format!("{what}, {} to {}", plain_number(min), plain_number(max)),
        (Some(min), None) => format!("{what}, from {}", plain_number(min)),
        (None, Some(max)) => format!("{what}, up to {}", plain_number(max)),
        (None, None) => what.to_owned(),
    }
}

fn allowed(shape: &ValueShape) -> Vec<(String, String)> {
    match shape {
        ValueShape::Words(words) => words
            .words
            .iter()
            .map(|word| (word.text.to_owned(), tidy_doc(word.raw_doc)))
            .collect(),
        ValueShape::Exactly(FixedValue::Text(text)) => vec![((*text).to_owned(), String::new())],
        ValueShape::OneOf(branches) => branches.iter().flat_map(|branch| allowed(branch)).collect(),
        ValueShape::Secret(inner) => allowed(inner),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
