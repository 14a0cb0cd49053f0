//! Claude Code's hook events and tools, and ours.

use serde_json::{Map, Value};

use crate::hook_name::HookName;

/// Its events that happen here, too.
const EVENTS: &[(&str, HookName)] = &[
    ("PreToolUse", HookName::BeforeToolCall),
    ("PermissionRequest", HookName::BeforeToolCall),
    ("PostToolUse", HookName::AfterToolCall),
    ("UserPromptSubmit", HookName::BeforePromptBuild),
    ("SessionStart", HookName::SessionStart),
    ("SessionEnd", HookName::SessionEnd),
    ("PreCompact", HookName::BeforeCompaction),
    ("PostCompact", HookName::AfterCompaction),
    ("Stop", HookName::AgentEnd),
];

/// Its tools, by the names of ours.
const TOOLS: &[(&str, &str)] = &[
    ("exec", "Bash"),
    ("read", "Read"),
    ("write", "Write"),
    ("edit", "Edit"),
    ("apply_patch", "MultiEdit"),
    ("grep", "Grep"),
    ("find", "Glob"),
    ("ls", "LS"),
    ("web_fetch", "WebFetch"),
    ("web_search", "WebSearch"),
    ("sessions_spawn", "Task"),
];

pub(crate) fn hook_of(event: &str) -> Option<HookName> {
    let found = EVENTS.iter().find(|(name, _)| *name == event);
    found.map(|(_, hook)| *hook)
}

/// A tool as hooks of that form know it. Tools of servers are `mcp__server__tool` there.
pub(crate) fn tool_of(ours: &str) -> String {
    let found = TOOLS.iter().find(|(name, _)| *name == ours);
    match found {
        Some((_, theirs)) => (*theirs).to_owned(),
        None if ours.contains("__") => format!("mcp__{ours}"),
        None => ours.to_owned(),
    }
}

/// Arguments as those hooks read them: with the names they know beside ours.
pub(crate) fn input_of(tool: &str, arguments: &Map<String, Value>) -> Value {
    let mut input = arguments.clone();
    let also: &[(&str, &str)] = match tool {
        "read" | "write" | "edit" => &[
            ("path", "file_path"),
            ("oldText", "old_string"),
            ("newText", "new_string"),
        ],
        _ => &[],
    };
    for (ours, theirs) in also {
        if let Some(value) = arguments.get(*ours) {
            input.insert((*theirs).to_owned(), value.clone());
        }
    }
    Value::Object(input)
}

/// Arguments such a hook wants instead, under our names.
pub(crate) fn arguments_of(tool: &str, input: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = Map::new();
    for (name, value) in input {
        let name = match (tool, name.as_str()) {
            ("read" | "write" | "edit", "file_path") => "path",
            ("edit", "old_string") => "oldText",
            ("edit", "new_string") => "newText",
            (_, other) => other,
        };
        arguments.insert(name.to_owned(), value.clone());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{arguments_of, hook_of, input_of, tool_of};
    use crate::HookName;

    #[test]
    fn names_go_over_and_back() {
        assert_eq!(hook_of("PreToolUse"), Some(HookName::BeforeToolCall));
        assert_eq!(hook_of("Notification"), None);
        assert_eq!(tool_of("exec"), "Bash");
        assert_eq!(tool_of("kit__greet"), "mcp__kit__greet");
        let ours = json!({ "path": "a.md", "content": "x" });
        let theirs = input_of("write", ours.as_object().unwrap());
        assert_eq!(theirs["file_path"], "a.md");
        let back = json!({ "file_path": "b.md", "content": "x" });
        let back = arguments_of("write", back.as_object().unwrap());
        assert_eq!(back["path"], "b.md");
    }
}
