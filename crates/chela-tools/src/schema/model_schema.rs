//! What a model is told of a tool's arguments.
//!
//! A check needs more than a model reads: lengths that go without saying, examples that are quoted
//! when something is wrong. Every word of a schema is paid for in every request, so those stay here.

use serde_json::{Map, Value};

/// Marks the argument that a small model is told of where none is required.
pub(super) const CHIEF: &str = "x-chief";

/// Names under which an argument is taken, too; no model is told of them.
pub(super) const ALIASES: &str = "x-also";

/// Limits up to this are what anybody would expect.
const PLAIN_LIMIT: i64 = 100;

/// The schema as a model is told of it.
pub fn model_schema(parameters: &Value) -> Value {
    match parameters {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, value)| is_told(key, value));
            let told = kept.map(|(key, value)| (key.clone(), told_field(key, value)));
            Value::Object(told.collect())
        }
        other => other.clone(),
    }
}

/// The same with the arguments a call cannot do without, all of them required: what a small model
/// is told of.
pub fn brief_model_schema(parameters: &Value) -> Value {
    let required = parameters["required"].as_array().into_iter().flatten();
    let mut needed: Vec<Value> = required.cloned().collect();
    let all = parameters["properties"].as_object().into_iter().flatten();
    needed.extend(
        all.filter(|(_, own)| own[CHIEF] == true)
            .map(|(name, _)| name.as_str().into()),
    );
    let mut brief = model_schema(parameters);
    if let Value::Object(fields) = &mut brief {
        if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| needed.iter().any(|needed| needed == name));
        }
        if !needed.is_empty() {
            fields.insert("required".to_owned(), needed.into());
        }
    }
    brief
}

fn told_field(key: &str, value: &Value) -> Value {
    match (key, value) {
        // Under these keys stand schemas; everything else is a value of one.
        ("properties", Value::Object(properties)) => {
            let told = properties
                .iter()
                .map(|(name, schema)| (name.clone(), model_schema(schema)));
            Value::Object(told.collect::<Map<_, _>>())
        }
        ("items" | "additionalProperties", schema) => model_schema(schema),
        (_, value) => value.clone(),
    }
}

fn is_told(key: &str, value: &Value) -> bool {
    match key {
        "examples" | "minLength" | CHIEF | ALIASES => false,
        "additionalProperties" => *value != Value::Bool(false),
        "minimum" => value.as_i64().is_none_or(|least| least > PLAIN_LIMIT),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{brief_model_schema, model_schema};
    use crate::schema::{ArgumentKind, ArgumentSchema};

    #[test]
    fn what_goes_without_saying_is_not_said() {
        let schema = ArgumentSchema::object()
            .required(
                "examples",
                ArgumentKind::text().not_empty().such_as("a"),
                "",
            )
            .optional("limit", ArgumentKind::integer().min(1).max(9), "Most")
            .optional("command", ArgumentKind::text().chief(), "A line")
            .build();
        assert_eq!(
            model_schema(&schema).to_string(),
            r#"{"type":"object","properties":{"examples":{"type":"string"},"limit":{"type":"integer","maximum":9,"description":"Most"},"command":{"type":"string","description":"A line"}},"required":["examples"]}"#
        );
        assert_eq!(
            brief_model_schema(&schema).to_string(),
            r#"{"type":"object","properties":{"examples":{"type":"string"},"command":{"type":"string","description":"A line"}},"required":["examples","command"]}"#
        );
    }
}
