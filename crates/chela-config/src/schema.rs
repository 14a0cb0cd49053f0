//! The JSON Schema of the config, written from its [`ValueShape`].

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use crate::key_path::{KeyPath, PathSegment};
use crate::model::Config;
use crate::shape::{
    FieldRules, FieldShape, FixedValue, HasShape, ObjectShape, TextForm, ValueShape, WordList,
    tidy_doc,
};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The whole schema, JSON Schema draft 2020-12.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| document("Chela config", Config::SHAPE, None))
}

/// The part of the schema that describes one key, complete in itself: what it refers to comes
/// along in `$defs`. List items are `[0]`, entries of a map any name.
pub fn schema_at(path: &KeyPath) -> Option<Value> {
    if path.is_root() {
        return Some(schema().clone());
    }
    let (shape, field) = shape_at(path)?;
    Some(document(&path.to_string(), shape, field))
}

/// What may stand at a path, and the known key it is, if it is one.
pub(crate) fn shape_at(
    path: &KeyPath,
) -> Option<(&'static ValueShape, Option<&'static FieldShape>)> {
    path.segments()
        .iter()
        .try_fold((Config::SHAPE, None), |(shape, _), segment| match segment {
            PathSegment::Key(key) => shape.under_key(key).map(|step| (step.shape, step.field)),
            PathSegment::Index(_) => shape.item().map(|item| (item, None)),
        })
}

fn document(title: &str, shape: &'static ValueShape, field: Option<&'static FieldShape>) -> Value {
    let mut writer = Writer::default();
    let mut body = match shape {
        // The object asked for stands in the document itself.
        ValueShape::Object(object) => writer.object(object),
        shape => writer.shape(shape, field.map_or(&FieldRules::NONE, |field| &field.rules)),
    };
    if let Some(field) = field {
        annotate(&mut body, field);
    }
    let mut document = Map::new();
    document.insert("$schema".to_owned(), json!(DRAFT));
    document.insert("title".to_owned(), json!(title));
    document.extend(body);
    if !writer.definitions.is_empty() {
        let definitions: Map<String, Value> = writer
            .definitions
            .into_iter()
            .map(|(name, definition)| (name.to_owned(), Value::Object(definition)))
            .collect();
        document.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Value::Object(document)
}

/// The doc and the default of a key.
fn annotate(body: &mut Map<String, Value>, field: &FieldShape) {
    let doc = match field.kept() {
        Some(kept) => format!("{} Now {kept}.", field.doc()),
        None => field.doc(),
    };
    body.insert("description".to_owned(), json!(doc));
    if let Some(default) = field.default_value() {
        body.insert("default".to_owned(), default);
    }
}

/// Collects the named objects while it writes.
#[derive(Default)]
struct Writer {
    definitions: BTreeMap<&'static str, Map<String, Value>>,
}

impl Writer {
    fn shape(&mut self, shape: &'static ValueShape, rules: &FieldRules) -> Map<String, Value> {
        match shape {
            ValueShape::Anything => Map::new(),
            ValueShape::Bool => fields(json!({ "type": "boolean" })),
            ValueShape::Whole { min, max } => whole(*min, *max, rules),
            ValueShape::Number => limited(json!({ "type": "number" }), rules),
            ValueShape::Text => {
                let mut text = fields(json!({ "type": "string" }));
                if let Some(max) = rules.max_len {
                    text.insert("maxLength".to_owned(), json!(max));
                }
                text
            }
            ValueShape::Form(form) => form_schema(*form),
            ValueShape::Words(words) => words_schema(words),
            ValueShape::Exactly(FixedValue::False) => fields(json!({ "const": false })),
            ValueShape::Exactly(FixedValue::Text(text)) => fields(json!({ "const": text })),
            ValueShape::List(item) => {
                let item = self.shape(item, &FieldRules::NONE);
                fields(json!({ "type": "array", "items": item }))
            }
            ValueShape::Map(entry) => {
                let entry = self.shape(entry, &FieldRules::NONE);
                fields(json!({ "type": "object", "additionalProperties": open(entry) }))
            }
            ValueShape::Object(object) => {
                if !self.definitions.contains_key(object.name) {
                    self.definitions.insert(object.name, Map::new());
                    let definition = self.object(object);
                    self.definitions.insert(object.name, definition);
                }
                fields(json!({ "$ref": format!("#/$defs/{}", object.name) }))
            }
            ValueShape::OneOf(branches) => {
                let branches: Vec<Value> = branches
                    .iter()
                    .map(|branch| Value::Object(self.shape(branch, rules)))
                    .collect();
                fields(json!({ "anyOf": branches }))
            }
            ValueShape::Secret(inner) => {
                let mut secret = self.shape(inner, rules);
                secret.insert("x-secret".to_owned(), json!(true));
                secret
            }
        }
    }

    fn object(&mut self, object: &'static ObjectShape) -> Map<String, Value> {
        let mut properties = Map::new();
        for field in object.fields {
            let mut property = self.shape(field.shape, &field.rules);
            annotate(&mut property, field);
            properties.insert(field.key.to_owned(), Value::Object(property));
        }
        let required: Vec<&str> = object
            .fields
            .iter()
            .filter(|field| field.rules.required)
            .map(|field| field.key)
            .collect();
        let rest = match object.rest {
            Some(rest) => open(self.shape(rest, &FieldRules::NONE)),
            None => json!(false),
        };
        let mut written = fields(json!({
            "type": "object",
            "description": tidy_doc(object.doc),
            "properties": properties,
            "additionalProperties": rest,
        }));
        if object.rest.is_none() {
            // Room for other programs' own keys.
            written.insert("patternProperties".to_owned(), json!({ "^x-": true }));
        }
        if !required.is_empty() {
            written.insert("required".to_owned(), json!(required));
        }
        written
    }
}

fn open(entry: Map<String, Value>) -> Value {
    if entry.is_empty() {
        json!(true)
    } else {
        Value::Object(entry)
    }
}

fn whole(min: i64, max: u64, rules: &FieldRules) -> Map<String, Value> {
    let mut written = limited(json!({ "type": "integer" }), rules);
    written.entry("minimum").or_insert(json!(min));
    // The top of 64 bits is no limit anybody means.
    if max != u64::MAX {
        written.entry("maximum").or_insert(json!(max));
    }
    written
}

fn limited(base: Value, rules: &FieldRules) -> Map<String, Value> {
    let mut written = fields(base);
    for (name, limit) in [("minimum", rules.min), ("maximum", rules.max)] {
        if let Some(limit) = limit {
            written.insert(name.to_owned(), plain_number(limit));
        }
    }
    written
}

/// `20` rather than `20.0`.
pub(crate) fn plain_number(number: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "limits are small numbers")]
    if number.fract() == 0.0 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

fn form_schema(form: TextForm) -> Map<String, Value> {
    fields(match form {
        TextForm::Duration => json!({
            "type": ["string", "number"], "minimum": 0,
            "pattern": r"^\s*(\d+(\.\d+)?\s*(ms|s|sec|m|min|h|hr|d|day|days|w)?\s*)+$",
        }),
        TextForm::ByteSize => json!({
            "type": ["string", "integer"], "minimum": 0,
            "pattern": r"^\s*\d+(\.\d+)?\s*[kKmMgGtT]?[iI]?[bB]?\s*$",
        }),
        TextForm::TimeOfDay => json!({
            "type": "string", "pattern": r"^(([01]\d|2[0-3]):[0-5]\d|24:00)$",
        }),
        TextForm::HexColor => json!({ "type": "string", "pattern": "^#?[0-9a-fA-F]{6}$" }),
        TextForm::Id => json!({ "type": ["string", "integer"] }),
        TextForm::Scalar => json!({ "type": ["string", "number", "boolean"] }),
    })
}

fn words_schema(words: &WordList) -> Map<String, Value> {
    let documented = words.words.iter().any(|word| !word.raw_doc.is_empty());
    fields(if documented {
        let branches: Vec<Value> = words
            .words
            .iter()
            .map(|word| json!({ "const": word.text, "description": tidy_doc(word.raw_doc) }))
            .collect();
        json!({ "type": "string", "oneOf": branches })
    } else {
        let texts: Vec<&str> = words.words.iter().map(|word| word.text).collect();
        json!({ "type": "string", "enum": texts })
    })
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
