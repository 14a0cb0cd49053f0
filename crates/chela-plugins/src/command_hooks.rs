//! Hooks as commands that are started for one question: the `hooks` settings of Claude Code, which other
//! agents read, too.

use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use crate::claude_events::{hook_of, tool_of};
use crate::hook_name::HookName;

const MOST_HOOKS: usize = 64;
const USUAL_TIME: Duration = Duration::from_secs(30);
const LONGEST_TIME: Duration = Duration::from_secs(60);

/// A command that answers one event.
#[derive(Debug, Clone)]
pub struct CommandHook {
    /// As its author calls the event.
    pub event: String,
    pub hook: HookName,
    /// Which tools it is about, where the event has one.
    matcher: Option<Regex>,
    /// What a shell runs.
    pub command: String,
    pub time: Duration,
}

impl CommandHook {
    /// Whether it is to be asked about a tool.
    pub fn is_about(&self, tool: Option<&str>) -> bool {
        match (&self.matcher, tool) {
            (None, _) => true,
            (Some(matcher), Some(tool)) => {
                matcher.is_match(&tool_of(tool)) || matcher.is_match(tool)
            }
            (Some(_), None) => true,
        }
    }
}

/// The commands of a `hooks` setting, and what of it is left out and why.
pub fn read_command_hooks(hooks: &Value) -> (Vec<CommandHook>, Vec<String>) {
    let mut read = Vec::new();
    let mut left = Vec::new();
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        let shown: String = event.chars().take(60).collect();
        let shown = chela_core::sanitize::literal(&shown).into_owned();
        let Some(hook) = hook_of(event) else {
            left.push(format!("{shown}: nothing of that name happens here"));
            continue;
        };
        for group in groups.as_array().into_iter().flatten() {
            let matcher = match group["matcher"].as_str() {
                None | Some("" | "*") => None,
                Some(pattern) => match Regex::new(&format!("^(?:{pattern})$")) {
                    Ok(matcher) => Some(matcher),
                    Err(_) => {
                        left.push(format!("{shown}: its matcher is not a pattern"));
                        continue;
                    }
                },
            };
            for one in group["hooks"].as_array().into_iter().flatten() {
                let command = one["command"].as_str().unwrap_or_default().trim();
                let is_command = one["type"].as_str().unwrap_or("command") == "command";
                if command.is_empty() || !is_command || read.len() >= MOST_HOOKS {
                    left.push(format!("{shown}: only commands are run"));
                    continue;
                }
                let seconds = one["timeout"].as_u64().map(Duration::from_secs);
                read.push(CommandHook {
                    event: shown.clone(),
                    hook,
                    matcher: matcher.clone(),
                    command: command.to_owned(),
                    time: seconds.unwrap_or(USUAL_TIME).min(LONGEST_TIME),
                });
            }
        }
    }
    (read, left)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read_command_hooks;
    use crate::HookName;

    #[test]
    fn settings_of_that_form_are_read() {
        let (hooks, left) = read_command_hooks(&json!({
            "PreToolUse": [
                { "matcher": "Bash|Write", "hooks": [{ "type": "command", "command": "check.sh", "timeout": 5 }] },
                { "matcher": "(", "hooks": [{ "type": "command", "command": "x" }] },
            ],
            "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "date" }, { "type": "prompt", "prompt": "x" }] }],
            "Notification": [{ "hooks": [{ "type": "command", "command": "beep" }] }],
        }));
        assert_eq!(hooks.len(), 2);
        assert_eq!(left.len(), 3, "{left:?}");
        let check = hooks
            .iter()
            .find(|hook| hook.command == "check.sh")
            .unwrap();
        assert_eq!(check.hook, HookName::BeforeToolCall);
        assert!(check.is_about(Some("exec")) && check.is_about(Some("write")));
        assert!(!check.is_about(Some("read")));
        for odd in [
            json!(null),
            json!([]),
            json!({ "PreToolUse": 7 }),
            json!({ "Stop": [1] }),
        ] {
            assert!(read_command_hooks(&odd).0.is_empty());
        }
    }
}
