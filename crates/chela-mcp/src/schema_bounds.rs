//! What a server says of a tool's arguments, made fit to be read by a model: clean, bounded, and without
//! anything that leads elsewhere.
//!
//! A schema is text of a stranger. References are followed within it and nowhere else, so nothing is
//! ever fetched; words that are meant for validators, and words that mean something to this program,
//! are left out.

use chela_guard::clean;
use serde_json::{Map, Value, json};

/// A schema is told in at most so many bytes of JSON.
const MOST_BYTES: usize = 12 * 1024;
/// Levels of a schema.
const MOST_DEPTH: usize = 12;
/// Pieces of a schema, references followed.
const MOST_NODES: usize = 1_500;
/// What an argument says of itself.
const MOST_DESCRIPTION: usize = 600;
/// One of several fixed values.
const MOST_VALUE: usize = 200;
const MOST_VALUES: usize = 100;
const LONGEST_NAME: usize = 128;

/// A schema as it may be told, and what was left out of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundedSchema {
    pub schema: Value,
    pub notes: Vec<String>,
}

/// Why a tool cannot be called with any arguments somebody could see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    #[error("an argument has a name that cannot be shown")]
    HiddenName,
    #[error("its arguments are not an object")]
    NoObject,
}

/// Makes a schema fit to be told.
pub(crate) fn bound_schema(told: &Value) -> Result<BoundedSchema, SchemaFault> {
    let empty = json!({ "type": "object" });
    let told = match told {
        Value::Null => &empty,
        Value::Object(fields) => match fields.get("type") {
            None => told,
            Some(Value::String(kind)) if kind == "object" => told,
            Some(_) => return Err(SchemaFault::NoObject),
        },
        _ => return Err(SchemaFault::NoObject),
    };
    let mut walk = SchemaWalk {
        root: told,
        nodes: 0,
        notes: Vec::new(),
        following: Vec::new(),
    };
    let mut schema = walk.schema(told, 0)?;
    if let Value::Object(fields) = &mut schema {
        fields.insert("type".to_owned(), "object".into());
    }
    let mut notes = walk.notes;
    if schema.to_string().len() > MOST_BYTES {
        schema = without_words(schema);
        note(
            &mut notes,
            "what its arguments say of themselves is too long",
        );
    }
    if schema.to_string().len() > MOST_BYTES {
        schema = empty;
        note(&mut notes, "its arguments are too long to be told");
    }
    Ok(BoundedSchema { schema, notes })
}

struct SchemaWalk<'a> {
    root: &'a Value,
    nodes: usize,
    notes: Vec<String>,
    /// References that are being followed: one that leads to itself ends there.
    following: Vec<&'a str>,
}

impl<'a> SchemaWalk<'a> {
    fn schema(&mut self, told: &'a Value, depth: usize) -> Result<Value, SchemaFault> {
        self.nodes += 1;
        if depth > MOST_DEPTH || self.nodes > MOST_NODES {
            note(&mut self.notes, "its arguments are nested too deeply");
            return Ok(json!({}));
        }
        let fields = match told {
            Value::Object(fields) => fields,
            Value::Bool(flag) => return Ok(Value::Bool(*flag)),
            _ => return Ok(json!({})),
        };
        let mut kept = Map::new();
        if let Some(Value::String(reference)) = fields.get("$ref") {
            kept = self.referenced(reference, depth)?;
        }
        for (key, value) in fields {
            if let Some(value) = self.field(key, value, depth)? {
                kept.insert(key.clone(), value);
            }
        }
        Ok(Value::Object(kept))
    }

    /// What a reference within the schema stands for. One that leads out of it stands for nothing.
    fn referenced(
        &mut self,
        reference: &'a str,
        depth: usize,
    ) -> Result<Map<String, Value>, SchemaFault> {
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            note(
                &mut self.notes,
                "a reference that leads elsewhere is left out",
            );
            return Ok(Map::new());
        };
        if self.following.contains(&reference) {
            note(&mut self.notes, "an argument that contains itself is cut");
            return Ok(Map::new());
        }
        self.following.push(reference);
        let meant = self.schema(target, depth + 1);
        self.following.pop();
        match meant? {
            Value::Object(fields) => Ok(fields),
            _ => Ok(Map::new()),
        }
    }

    fn field(
        &mut self,
        key: &str,
        value: &'a Value,
        depth: usize,
    ) -> Result<Option<Value>, SchemaFault> {
        Ok(match (key, value) {
            ("properties", Value::Object(properties)) => {
                let mut kept = Map::new();
                for (name, inner) in properties {
                    check_name(name)?;
                    kept.insert(name.clone(), self.schema(inner, depth + 1)?);
                }
                Some(Value::Object(kept))
            }
            ("items" | "additionalProperties", inner @ (Value::Object(_) | Value::Bool(_))) => {
                Some(self.schema(inner, depth + 1)?)
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                let kept = all.iter().map(|inner| self.schema(inner, depth + 1));
                Some(Value::Array(kept.collect::<Result<_, _>>()?))
            }
            ("description" | "title", Value::String(text)) => {
                Some(self.words(text, MOST_DESCRIPTION).into())
            }
            ("type" | "format", Value::String(text)) => Some(self.words(text, MOST_VALUE).into()),
            ("type", Value::Array(kinds)) => Some(Value::Array(self.values(kinds))),
            ("enum", Value::Array(values)) => Some(Value::Array(self.values(values))),
            ("required", Value::Array(names)) => {
                for name in names.iter().filter_map(Value::as_str) {
                    check_name(name)?;
                }
                Some(value.clone())
            }
            ("const" | "default", value) => self.value(value),
            ("minimum" | "maximum", Value::Number(_)) => Some(value.clone()),
            ("minItems" | "maxItems", Value::Number(_)) => Some(value.clone()),
            _ => None,
        })
    }

    fn values(&mut self, values: &[Value]) -> Vec<Value> {
        if values.len() > MOST_VALUES {
            note(
                &mut self.notes,
                "some of the values of an argument are not told",
            );
        }
        let told = values.iter().take(MOST_VALUES);
        told.filter_map(|value| self.value(value)).collect()
    }

    /// A value the schema names. One of several parts says nothing a model needs.
    fn value(&mut self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => Some(self.words(text, MOST_VALUE).into()),
            Value::Number(_) | Value::Bool(_) | Value::Null => Some(value.clone()),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn words(&mut self, text: &str, most: usize) -> String {
        let (words, was_cut) = bound_words(text, most);
        if was_cut {
            note(&mut self.notes, "a long text about an argument is cut");
        }
        words
    }
}

/// Text of a server without what nobody sees, cut at a length. Says whether it was cut.
pub(crate) fn bound_words(text: &str, most: usize) -> (String, bool) {
    // What is far behind the end need not be cleaned.
    let near: String = text.chars().take(most.saturating_mul(8)).collect();
    let (clean, _) = clean(&near);
    let mut words: String = clean.trim().chars().take(most).collect();
    let was_cut = clean.trim().chars().nth(most).is_some() || near.len() < text.len();
    if was_cut {
        words.push('…');
    }
    (words, was_cut)
}

/// A name must be what it looks like: it is sent back as it stands.
fn check_name(name: &str) -> Result<(), SchemaFault> {
    let is_shown = name.chars().count() <= LONGEST_NAME
        && clean(name).0 == name
        && chela_core::sanitize::literal(name) == name;
    match is_shown {
        true => Ok(()),
        false => Err(SchemaFault::HiddenName),
    }
}

/// The same without a word about what arguments mean.
fn without_words(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter_map(|(key, value)| match (key.as_str(), &value) {
                    ("description" | "title", Value::String(_)) => None,
                    _ => Some((key, without_words(value))),
                });
            Value::Object(kept.collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(without_words).collect()),
        other => other,
    }
}

/// Each thing is noted once.
fn note(notes: &mut Vec<String>, what: &str) {
    if !notes.iter().any(|known| known == what) {
        notes.push(what.to_owned());
    }
}

#[cfg(test)]
mod tests;
