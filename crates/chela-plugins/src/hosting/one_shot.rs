//! Commands of Claude Code's form: a JSON document on standard input, exit code 2 for a no.

use std::time::Duration;

use chela_mcp::{OneShotAnswer, OneShotLimits, ProgramAsk, ProgramFault, run_once};
use serde_json::{Map, Value, json};

use super::HookQuestion;
use crate::claude_events::{arguments_of, input_of, tool_of};
use crate::command_hooks::CommandHook;
use crate::hook_name::HookName;

const MOST_BYTES: u64 = 256 << 10;
/// A no.
const BLOCKED: i32 = 2;

pub(super) async fn ask_command(
    ask: ProgramAsk<'_>,
    command: &CommandHook,
    question: &HookQuestion<'_>,
) -> Result<Option<Value>, ProgramFault> {
    let input = question_in_their_words(&command.event, question).to_string();
    let limits = OneShotLimits {
        time: command.time.max(Duration::from_secs(1)),
        bytes: MOST_BYTES,
    };
    let answer = run_once(ask, input.as_bytes(), limits).await?;
    Ok(answer_in_our_words(question, &answer))
}

fn question_in_their_words(event: &str, question: &HookQuestion<'_>) -> Value {
    let told = |key: &str| question.told.get(key).cloned().unwrap_or_default();
    let mut input = Map::new();
    input.insert("session_id".to_owned(), told("sessionId"));
    input.insert("transcript_path".to_owned(), "".into());
    input.insert("cwd".to_owned(), told("workspaceDir"));
    input.insert("permission_mode".to_owned(), "default".into());
    input.insert("hook_event_name".to_owned(), event.into());
    if let Some(tool) = question.tool {
        input.insert("tool_name".to_owned(), tool_of(tool).into());
        let empty = Map::new();
        let arguments = question.arguments.unwrap_or(&empty);
        input.insert("tool_input".to_owned(), input_of(tool, arguments));
    }
    match question.hook {
        HookName::BeforePromptBuild => {
            input.insert("prompt".to_owned(), told("prompt"));
        }
        HookName::AfterToolCall => {
            input.insert(
                "tool_response".to_owned(),
                json!({ "text": told("result") }),
            );
        }
        HookName::SessionStart => {
            input.insert("source".to_owned(), "startup".into());
        }
        HookName::SessionEnd => {
            input.insert("reason".to_owned(), told("reason"));
        }
        HookName::BeforeCompaction => {
            input.insert("trigger".to_owned(), "auto".into());
        }
        HookName::AgentEnd => {
            input.insert("stop_hook_active".to_owned(), false.into());
        }
        _ => {}
    }
    Value::Object(input)
}

/// What such a command says, as a program of a plugin would.
fn answer_in_our_words(question: &HookQuestion<'_>, answer: &OneShotAnswer) -> Option<Value> {
    if answer.code == Some(BLOCKED) {
        let why = answer.errors.trim();
        return Some(
            json!({ "block": true, "blockReason": why, "cancel": question.hook == HookName::MessageSending }),
        );
    }
    if answer.code != Some(0) {
        // Any other code is the command's own trouble, told to its owner in the log.
        tracing::info!(code = ?answer.code, "a command of a plugin ended with another code");
        return None;
    }
    let text = answer.output.trim();
    let said: Value = match serde_json::from_str(text) {
        Ok(said @ Value::Object(_)) => said,
        // Plain words are context where the event has any.
        _ if question.hook == HookName::BeforePromptBuild && !text.is_empty() => {
            return Some(json!({ "prependContext": text }));
        }
        _ => return None,
    };
    let said = &said;
    let specific = &said["hookSpecificOutput"];
    let reason = specific["permissionDecisionReason"]
        .as_str()
        .or(said["reason"].as_str())
        .unwrap_or_default();
    let mut ours = Map::new();
    let word = specific["permissionDecision"]
        .as_str()
        .or(said["decision"].as_str());
    match word {
        Some("deny" | "block") => {
            ours.insert("block".to_owned(), true.into());
            ours.insert("blockReason".to_owned(), reason.into());
        }
        Some("ask") => {
            ours.insert(
                "requireApproval".to_owned(),
                json!({ "description": reason }),
            );
        }
        // Nobody but the guard and the owner allows anything.
        _ => {}
    }
    if let (Some(input), Some(tool)) = (specific["updatedInput"].as_object(), question.tool) {
        let arguments = arguments_of(tool, input);
        ours.insert("params".to_owned(), Value::Object(arguments));
    }
    if let Some(context) = specific["additionalContext"].as_str() {
        ours.insert("prependContext".to_owned(), context.into());
    }
    if let Some(output) = specific["updatedToolOutput"].as_str() {
        ours.insert("result".to_owned(), output.into());
    }
    (!ours.is_empty()).then_some(Value::Object(ours))
}

#[cfg(test)]
mod tests {
    use chela_mcp::OneShotAnswer;
    use serde_json::{Map, Value, json};

    use super::{HookQuestion, answer_in_our_words, question_in_their_words};
    use crate::HookName;
    use crate::answer::{CallWord, read_call};

    fn answered(hook: HookName, code: i32, output: &str, errors: &str) -> Option<Value> {
        let question = HookQuestion {
            hook,
            told: Map::new(),
            tool: Some("write"),
            arguments: None,
        };
        let answer = OneShotAnswer {
            code: Some(code),
            output: output.to_owned(),
            errors: errors.to_owned(),
        };
        answer_in_our_words(&question, &answer)
    }

    #[test]
    fn what_commands_say_is_understood() {
        let no = answered(HookName::BeforeToolCall, 2, "", "not today").unwrap();
        assert_eq!(
            read_call(&no).word,
            CallWord::Refuse("not today".to_owned())
        );
        let deny = json!({ "hookSpecificOutput": { "permissionDecision": "deny", "permissionDecisionReason": "no" } });
        let deny = answered(HookName::BeforeToolCall, 0, &deny.to_string(), "").unwrap();
        assert_eq!(read_call(&deny).word, CallWord::Refuse("no".to_owned()));
        let changed = json!({ "hookSpecificOutput": { "permissionDecision": "allow", "updatedInput": { "file_path": "x" } } });
        let changed =
            read_call(&answered(HookName::BeforeToolCall, 0, &changed.to_string(), "").unwrap());
        assert_eq!(changed.word, CallWord::Pass);
        assert_eq!(changed.arguments.unwrap()["path"], "x");
        let words = answered(HookName::BeforePromptBuild, 0, "It is Monday.\n", "").unwrap();
        assert_eq!(words["prependContext"], "It is Monday.");
        assert_eq!(answered(HookName::BeforeToolCall, 0, "fine", ""), None);
        assert_eq!(answered(HookName::BeforeToolCall, 1, "", "oops"), None);
    }

    #[test]
    fn the_question_is_in_their_words() {
        let arguments = json!({ "command": "ls" });
        let question = HookQuestion {
            hook: HookName::BeforeToolCall,
            told: json!({ "sessionId": "s", "workspaceDir": "/w" })
                .as_object()
                .cloned()
                .unwrap(),
            tool: Some("exec"),
            arguments: arguments.as_object(),
        };
        let input = question_in_their_words("PreToolUse", &question);
        assert_eq!(input["tool_name"], "Bash");
        assert_eq!(input["tool_input"]["command"], "ls");
        assert_eq!(
            (&input["session_id"], &input["cwd"]),
            (&json!("s"), &json!("/w"))
        );
    }
}
