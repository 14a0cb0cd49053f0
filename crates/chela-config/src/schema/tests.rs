use serde_json::{Value, json};

use super::{schema, schema_at};
use crate::key_path::KeyPath;

fn at(path: &str) -> Value {
    schema_at(&KeyPath::parse(path).unwrap()).unwrap_or(Value::Null)
}

#[test]
fn a_subtree_is_complete_in_itself() {
    let heartbeat = at("agents.defaults.heartbeat");
    assert_eq!(heartbeat["title"], "agents.defaults.heartbeat");
    assert_eq!(heartbeat["type"], "object");
    assert_eq!(heartbeat["additionalProperties"], false);
    assert_eq!(heartbeat["properties"]["ackMaxChars"]["default"], 300);
    assert_eq!(
        heartbeat["properties"]["activeHours"]["$ref"],
        "#/$defs/ActiveHours"
    );
    assert!(heartbeat["$defs"]["ActiveHours"]["properties"]["start"].is_object());
    assert_eq!(
        heartbeat["$defs"].as_object().unwrap().len(),
        1,
        "{heartbeat:#}"
    );
}

#[test]
fn paths_lead_through_lists_maps_and_choices() {
    assert_eq!(at("agents.list[3].bootstrapMaxChars")["minimum"], 1);
    assert_eq!(
        at("models.providers.any.models[0].contextWindow")["type"],
        "integer"
    );
    assert_eq!(at("agents.defaults.model.fallbacks")["type"], "array");
    assert_eq!(
        at("channels.telegram.dmPolicy")["oneOf"][0]["const"],
        "pairing"
    );
    assert_eq!(at("agents.nonsense"), Value::Null);
    let open = at("plugins.entries.x.config.anything");
    assert_eq!(
        open,
        json!({ "$schema": super::DRAFT, "title": "plugins.entries.x.config.anything" })
    );
}

#[test]
fn every_reference_resolves_and_every_key_is_documented() {
    fn walk(value: &Value, path: &str) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let name = reference.strip_prefix("#/$defs/").unwrap();
                    assert!(schema()["$defs"].get(name).is_some(), "{path}: {name}");
                }
                for (key, property) in map
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                {
                    let doc = property["description"].as_str().unwrap_or_default();
                    assert!(
                        doc.ends_with(['.', '…']),
                        "{path}.{key} has no doc: {property}"
                    );
                }
                map.iter()
                    .for_each(|(key, value)| walk(value, &format!("{path}.{key}")));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path)),
            _ => {}
        }
    }
    walk(schema(), "config");
}

#[test]
fn keys_are_camel_case_and_limits_and_defaults_show() {
    let children = at("agents.defaults.subagents.maxChildrenPerAgent");
    assert_eq!(
        children,
        json!({
            "$schema": super::DRAFT,
            "title": "agents.defaults.subagents.maxChildrenPerAgent",
            "type": "integer", "minimum": 1, "maximum": 20, "default": 5,
            "description": "Children one session may have at the same time.",
        })
    );
    assert_eq!(at("gateway.auth.token")["x-secret"], true);
    assert_eq!(
        at("tools.sessions_spawn.attachments.maxFiles")["default"],
        50
    );
}
