//! The names in a call's arguments that its schema does not declare.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// What could be told in a call is told by its names, too, where any name is taken. Those that the
/// schema declares, wherever it does, are not the caller's to choose.
pub fn chosen_names(arguments: &Map<String, Value>, schema: &Value) -> Vec<String> {
    let mut declared = HashSet::new();
    collect_declared(schema, &mut declared);
    let mut chosen = Vec::new();
    for (name, value) in arguments {
        note(name, &declared, &mut chosen);
        collect_names(value, &declared, &mut chosen);
    }
    chosen
}

fn collect_declared<'s>(schema: &'s Value, declared: &mut HashSet<&'s str>) {
    match schema {
        Value::Array(values) => {
            for value in values {
                collect_declared(value, declared);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                if let ("properties", Value::Object(properties)) = (key.as_str(), value) {
                    declared.extend(properties.keys().map(String::as_str));
                    properties
                        .values()
                        .for_each(|value| collect_declared(value, declared));
                } else {
                    collect_declared(value, declared);
                }
            }
        }
        _ => {}
    }
}

fn collect_names(value: &Value, declared: &HashSet<&str>, chosen: &mut Vec<String>) {
    match value {
        Value::Array(values) => {
            for value in values {
                collect_names(value, declared, chosen);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                note(name, declared, chosen);
                collect_names(value, declared, chosen);
            }
        }
        _ => {}
    }
}

fn note(name: &str, declared: &HashSet<&str>, chosen: &mut Vec<String>) {
    if !declared.contains(name) && !chosen.iter().any(|known| known == name) {
        chosen.push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::chosen_names;

    #[test]
    fn names_nobody_declared_are_the_callers() {
        let schema = json!({ "type": "object", "properties": {
            "to": { "anyOf": [{ "type": "string" }, { "type": "object", "properties": { "email": {} } }] },
            "rows": { "items": { "properties": { "cell": {} } } },
        } });
        let names = |value: Value| chosen_names(value.as_object().unwrap(), &schema);
        let declared = json!({ "to": { "email": "a" }, "rows": [{ "cell": 1 }, { "cell": 2 }] });
        assert!(names(declared).is_empty());
        let chosen =
            json!({ "to": { "mallory": true }, "rows": [{ "4711": [{ "deep": null }] }], "cc": 1 });
        assert_eq!(names(chosen), ["mallory", "4711", "deep", "cc"]);
    }
}
