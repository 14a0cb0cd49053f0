//! The tools callers are offered, by what is open to them.

use chela_mcp::serve::ServedTool;
use serde_json::{Value, json};

use crate::caller_tokens::{ServedScope, ServedScopes};

const INSTRUCTIONS: &str = include_str!("../../text/served-instructions.md");

/// What a model that uses them should know.
pub(super) fn instructions(scopes: &ServedScopes) -> String {
    format!("{} {}.", INSTRUCTIONS.trim(), scopes.in_words())
}

struct ToolRow {
    scope: ServedScope,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    schema: fn() -> Value,
}

const ROWS: &[ToolRow] = &[
    ToolRow {
        scope: ServedScope::Memory,
        name: "memory_search",
        title: "Search memory",
        description: "Search the notes of a personal agent by words and meaning: earlier work, decisions, dates, people, preferences.",
        schema: || {
            json!({ "type": "object", "properties": {
                "query": { "type": "string" },
                "maxResults": { "type": "integer", "minimum": 1, "maximum": 50 },
            }, "required": ["query"], "additionalProperties": false })
        },
    },
    ToolRow {
        scope: ServedScope::Memory,
        name: "memory_get",
        title: "Read memory",
        description: "Read lines of a note that memory_search named.",
        schema: || {
            json!({ "type": "object", "properties": {
                "path": { "type": "string" },
                "from": { "type": "integer", "minimum": 1 },
                "lines": { "type": "integer", "minimum": 1 },
            }, "required": ["path"], "additionalProperties": false })
        },
    },
    ToolRow {
        scope: ServedScope::Skills,
        name: "skills_list",
        title: "List skills",
        description: "List the skills of a personal agent: what it knows how to do.",
        schema: nothing,
    },
    ToolRow {
        scope: ServedScope::Skills,
        name: "skills_get",
        title: "Read a skill",
        description: "Read how a skill is done.",
        schema: || one("name"),
    },
    ToolRow {
        scope: ServedScope::Context,
        name: "context_report",
        title: "Context report",
        description: "What the context of the agent is made of, and what each part costs in tokens.",
        schema: nothing,
    },
    ToolRow {
        scope: ServedScope::Sessions,
        name: "sessions_list",
        title: "List sessions",
        description: "List the sessions of the agent, the newest first.",
        schema: nothing,
    },
    ToolRow {
        scope: ServedScope::Sessions,
        name: "sessions_history",
        title: "Read a session",
        description: "Read what was said in a session, the oldest of the newest messages first.",
        schema: || {
            json!({ "type": "object", "properties": {
                "session": { "type": "string" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 200 },
                "offset": { "type": "integer", "minimum": 0 },
            }, "required": ["session"], "additionalProperties": false })
        },
    },
    ToolRow {
        scope: ServedScope::Ask,
        name: "ask",
        title: "Ask the agent",
        description: "Ask the agent something. The same `conversation` goes on where it was left. Gives the answer, or a ticket for ask_result where that takes longer.",
        schema: || {
            json!({ "type": "object", "properties": {
                "message": { "type": "string" },
                "conversation": { "type": "string" },
            }, "required": ["message"], "additionalProperties": false })
        },
    },
    ToolRow {
        scope: ServedScope::Ask,
        name: "ask_result",
        title: "Fetch an answer",
        description: "Fetch the answer to something that was asked before.",
        schema: || one("ticket"),
    },
];

pub(super) fn tools(scopes: &ServedScopes) -> Vec<ServedTool> {
    let open = ROWS.iter().filter(|row| scopes.has(row.scope));
    open.map(|row| ServedTool {
        name: row.name,
        title: row.title,
        description: row.description,
        schema: (row.schema)(),
        reads_only: row.scope != ServedScope::Ask,
    })
    .collect()
}

fn nothing() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

fn one(name: &str) -> Value {
    let mut schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    schema["properties"][name] = json!({ "type": "string" });
    schema["required"] = json!([name]);
    schema
}
