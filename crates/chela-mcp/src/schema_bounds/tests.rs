use serde_json::{Value, json};

use super::{SchemaFault, bound_schema, bound_words};

fn bounded(schema: Value) -> Value {
    bound_schema(&schema).unwrap().schema
}

#[test]
fn a_plain_schema_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Where" },
            "depth": { "type": "integer", "minimum": 2, "default": 3 },
            "kind": { "type": "string", "enum": ["a", "b"] },
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    assert_eq!(bounded(schema.clone()), schema);
}

#[test]
fn references_are_followed_inside_and_nowhere_else() {
    let schema = json!({
        "type": "object",
        "$defs": { "place": { "type": "object", "properties": { "city": { "type": "string" } } } },
        "properties": {
            "from": { "$ref": "#/$defs/place", "description": "Start" },
            "to": { "$ref": "https://evil.example/schema.json" },
            "file": { "$ref": "file:///etc/passwd" },
        },
    });
    let bound = bound_schema(&schema).unwrap();
    assert_eq!(
        bound.schema["properties"],
        json!({
            "from": {
                "type": "object",
                "properties": { "city": { "type": "string" } },
                "description": "Start",
            },
            "to": {},
            "file": {},
        })
    );
    assert_eq!(bound.schema.get("$defs"), None);
    assert_eq!(bound.notes.len(), 1, "{:?}", bound.notes);
}

#[test]
fn what_leads_to_itself_ends() {
    let schema = json!({
        "type": "object",
        "properties": { "root": { "$ref": "#/properties/root" }, "all": { "$ref": "#" } },
    });
    let bound = bound_schema(&schema).unwrap();
    assert_eq!(bound.schema["properties"]["root"], json!({}));
    assert!(bound.schema.to_string().len() < 2_000);
    // Each level twice the one before: the number of pieces is bounded, not only their depth.
    let mut defs = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        let both = json!({ "anyOf": [next, next] });
        defs.insert(format!("d{level}"), both);
    }
    let bomb = json!({
        "type": "object", "$defs": defs, "properties": { "x": { "$ref": "#/$defs/d0" } },
    });
    let bound = bound_schema(&bomb).unwrap();
    assert!(bound.schema.to_string().len() < 60_000);
    assert!(!bound.notes.is_empty());
}

#[test]
fn words_of_this_program_and_of_validators_are_left_out() {
    let schema = json!({
        "type": "object",
        "properties": { "command": {
            "type": "string", "x-also": ["path"], "x-chief": true, "x-mcp-header": "Region",
            "pattern": "^(a+)+$", "minLength": 3, "$comment": "hidden", "examples": ["x"],
        } },
    });
    assert_eq!(
        bounded(schema)["properties"]["command"],
        json!({ "type": "string" })
    );
}

#[test]
fn long_and_invisible_words_are_cut_and_cleaned() {
    let schema = json!({
        "type": "object",
        "description": "x".repeat(1 << 20),
        "properties": { "a": { "type": "string", "description": "vis\u{200b}ible\u{e0041}" } },
    });
    let bound = bound_schema(&schema).unwrap();
    assert!(bound.schema.to_string().len() < 1_000);
    assert_eq!(bound.schema["properties"]["a"]["description"], "visible");
    assert!(!bound.notes.is_empty());
    let many: serde_json::Map<String, Value> = (0..1_000)
        .map(|at| {
            (
                format!("argument{at}"),
                json!({ "type": "string", "description": "word ".repeat(50) }),
            )
        })
        .collect();
    let bound = bound_schema(&json!({ "type": "object", "properties": many })).unwrap();
    assert_eq!(bound.schema, json!({ "type": "object" }));
    assert_eq!(bound_words("  a  ", 3), ("a".to_owned(), false));
    assert_eq!(bound_words("abcd", 3), ("abc…".to_owned(), true));
}

#[test]
fn names_nobody_can_see_make_a_tool_unusable() {
    let hidden = json!({ "type": "object", "properties": { "a\u{200b}": { "type": "string" } } });
    assert_eq!(bound_schema(&hidden), Err(SchemaFault::HiddenName));
    let required = json!({ "type": "object", "required": ["a\nb"] });
    assert_eq!(bound_schema(&required), Err(SchemaFault::HiddenName));
    assert_eq!(
        bound_schema(&json!({ "type": "string" })),
        Err(SchemaFault::NoObject)
    );
    assert_eq!(bound_schema(&json!([])), Err(SchemaFault::NoObject));
    assert_eq!(bounded(json!(null)), json!({ "type": "object" }));
}
