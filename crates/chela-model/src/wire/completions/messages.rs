//! The conversation as chat/completions has it.

use serde_json::{Value, json};

use crate::api::EndpointFamily;
use crate::wire::ids::{self, IdForm};
use crate::wire::turns::{CallResult, WireTurn, turns};
use crate::wire::{IMAGE_LEFT_OUT, anthropic, constrained, set};
use crate::{CacheRetention, MessagePart, ModelInput, ModelRequest, ModelTarget, ToolMode};

pub fn messages(
    target: &ModelTarget,
    request: &ModelRequest,
    retention: CacheRetention,
) -> Vec<Value> {
    let writer = Writer {
        target,
        sees: target.info.reads(ModelInput::Image),
        ids: if target.info.compat.mistral_ids {
            IdForm::Mistral
        } else {
            IdForm::OpenAi
        },
    };
    let mut messages = Vec::new();
    messages.extend(system(target, request, retention));
    let turns = turns(&request.messages, &target.info.reference);
    for (at, turn) in turns.iter().enumerate() {
        match (turn, request.effective_mode()) {
            (WireTurn::User(parts), _) => messages.push(writer.user(parts)),
            (WireTurn::Assistant { content, .. }, ToolMode::Constrained) => {
                let said = said_plainly(content);
                messages.extend(said.map(|said| json!({"role": "assistant", "content": said})));
            }
            (WireTurn::Results(results), ToolMode::Constrained) => {
                messages.push(json!({"role": "user", "content": told_plainly(results)}));
            }
            (
                WireTurn::Assistant {
                    content,
                    same_model,
                    current,
                },
                ToolMode::Native,
            ) => messages.extend(writer.assistant(content, *same_model, *current)),
            (WireTurn::Results(results), ToolMode::Native) => {
                messages.extend(results.iter().map(|result| writer.result(result)));
                messages.extend(writer.pictures(results));
                let person_next = matches!(turns.get(at + 1), Some(WireTurn::User(_)));
                if person_next && target.info.compat.assistant_after_tool_result {
                    messages.push(json!({"role": "assistant", "content": "(done)"}));
                }
            }
        }
    }
    messages
}

fn system(
    target: &ModelTarget,
    request: &ModelRequest,
    retention: CacheRetention,
) -> Option<Value> {
    let role = if target.info.compat.developer_role && target.info.reasoning {
        "developer"
    } else {
        "system"
    };
    if request.effective_mode() == ToolMode::Constrained {
        return Some(json!({"role": role, "content": constrained::system(request)}));
    }
    let stable = &request.system.stable;
    let tail = &request.system.tail;
    if stable.is_empty() && tail.is_empty() {
        return None;
    }
    // Anthropic behind OpenRouter caches only what is marked.
    let marked = target.family() == EndpointFamily::OpenRouter
        && target.info.id.starts_with("anthropic/")
        && !stable.is_empty();
    let content = match anthropic::cache_control(retention).filter(|_| marked) {
        Some(mark) => {
            let mut blocks = vec![json!({"type": "text", "text": stable, "cache_control": mark})];
            if !tail.is_empty() {
                blocks.push(json!({"type": "text", "text": tail}));
            }
            Value::Array(blocks)
        }
        None => json!(format!("{stable}{tail}")),
    };
    Some(json!({"role": role, "content": content}))
}

struct Writer<'a> {
    target: &'a ModelTarget,
    sees: bool,
    ids: IdForm,
}

impl Writer<'_> {
    fn user(&self, parts: &[&MessagePart]) -> Value {
        let only_text = parts
            .iter()
            .all(|part| !matches!(part, MessagePart::Image { .. }) || !self.sees);
        if only_text {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| match part {
                    MessagePart::Text { text } => Some(text.as_str()),
                    MessagePart::Image { .. } => Some(IMAGE_LEFT_OUT),
                    _ => None,
                })
                .collect();
            return json!({"role": "user", "content": texts.join("\n\n")});
        }
        let blocks: Vec<Value> = parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::Text { text } => Some(json!({"type": "text", "text": text})),
                MessagePart::Image { mime, data } => Some(picture(mime, data)),
                _ => None,
            })
            .collect();
        json!({"role": "user", "content": blocks})
    }

    /// Reasoning goes back only where the endpoint demands that of the current turn: elsewhere
    /// old thoughts are dead weight, and another model's mean nothing.
    fn assistant(&self, content: &[MessagePart], same_model: bool, current: bool) -> Option<Value> {
        let mut text = String::new();
        let mut thought = String::new();
        let mut details: Vec<Value> = Vec::new();
        let mut calls: Vec<Value> = Vec::new();
        for part in content {
            match part {
                MessagePart::Text { text: more } => text.push_str(more),
                MessagePart::Reasoning {
                    text: more,
                    signature,
                    ..
                } => {
                    thought.push_str(more);
                    let kept = signature.as_deref().filter(|_| same_model);
                    if let Some(Value::Array(kept)) =
                        kept.and_then(|kept| serde_json::from_str(kept).ok())
                    {
                        details.extend(kept);
                    }
                }
                MessagePart::ToolCall(call) => calls.push(json!({
                    "id": ids::adapted(&call.id, self.ids),
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": Value::Object(call.arguments.clone()).to_string(),
                    },
                })),
                MessagePart::Image { .. } => {}
            }
        }
        if text.is_empty() && calls.is_empty() {
            return None;
        }
        let mut message = json!({"role": "assistant", "content": text});
        if !calls.is_empty() {
            if text.is_empty() {
                set(&mut message, "content", Value::Null);
            }
            set(&mut message, "tool_calls", calls);
        }
        if self.target.info.compat.replay_reasoning && current && !thought.is_empty() {
            set(&mut message, "reasoning_content", thought);
        }
        if !details.is_empty() && self.target.family() == EndpointFamily::OpenRouter {
            set(&mut message, "reasoning_details", details);
        }
        Some(message)
    }

    fn result(&self, result: &CallResult<'_>) -> Value {
        let mut message = json!({
            "role": "tool",
            "tool_call_id": ids::adapted(&result.call.id, self.ids),
            "content": result.text(),
        });
        if self.target.info.compat.tool_result_name {
            set(&mut message, "name", result.call.name.as_str());
        }
        message
    }

    /// A tool message holds no picture: pictures follow as if a person had sent them.
    fn pictures(&self, results: &[CallResult<'_>]) -> Option<Value> {
        let mut blocks = Vec::new();
        for result in results {
            for (mime, data) in result.images() {
                let name = &result.call.name;
                if self.sees {
                    blocks.push(json!({"type": "text", "text": format!("Picture from {name}:")}));
                    blocks.push(picture(mime, data));
                } else {
                    blocks.push(json!({"type": "text", "text": IMAGE_LEFT_OUT}));
                }
            }
        }
        (!blocks.is_empty()).then(|| json!({"role": "user", "content": blocks}))
    }
}

fn picture(mime: &str, data: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{data}")}})
}

/// What the model said, in the form it is held to; `None` when that was nothing.
pub fn said_plainly(content: &[MessagePart]) -> Option<String> {
    let said: Vec<String> = content
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text } => Some(json!({"reply": text}).to_string()),
            MessagePart::ToolCall(call) => {
                Some(json!({"tool": call.name, "arguments": call.arguments}).to_string())
            }
            MessagePart::Reasoning { .. } | MessagePart::Image { .. } => None,
        })
        .collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

/// Results for a model that knows no tool messages.
pub fn told_plainly(results: &[CallResult<'_>]) -> String {
    let told: Vec<String> = results
        .iter()
        .map(|result| {
            let word = if result.is_error { "Error" } else { "Result" };
            format!("{word} of {}:\n{}", result.call.name, result.text())
        })
        .collect();
    told.join("\n\n")
}
