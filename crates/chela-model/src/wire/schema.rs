//! Tool schemas, as far as an endpoint understands them.

use serde_json::{Map, Value};

use crate::SchemaProfile;

/// Longer limits make a grammar explode.
const LARGE: u64 = 2_000;

/// The schema as an endpoint of this profile takes it.
pub fn adapted(schema: &Value, profile: SchemaProfile) -> Value {
    match profile {
        SchemaProfile::Full => schema.clone(),
        SchemaProfile::LlamaCpp => plain(schema),
    }
}

fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, value)| match key.as_str() {
                    // As a keyword; a property of this name holds a schema, not a text.
                    "pattern" => !value.is_string(),
                    "maxLength" => value.as_u64().is_none_or(|length| length < LARGE),
                    _ => true,
                })
                .map(|(key, value)| (key.clone(), plain(value)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::adapted;
    use crate::SchemaProfile;

    #[test]
    fn what_explodes_in_a_grammar_goes() {
        let schema = json!({"type": "object", "properties": {
            "pattern": {"type": "string", "pattern": "^a+$", "maxLength": 2000},
            "short": {"type": "string", "maxLength": 1999},
        }});
        assert_eq!(
            adapted(&schema, SchemaProfile::LlamaCpp),
            json!({"type": "object", "properties": {
                "pattern": {"type": "string"},
                "short": {"type": "string", "maxLength": 1999},
            }})
        );
        assert_eq!(adapted(&schema, SchemaProfile::Full), schema);
    }
}
