//! The body of an Anthropic messages request.

use serde_json::{Map, Value, json};

use super::cache_control;
use crate::wire::ids::{self, IdForm};
use crate::wire::request_knobs::RequestKnobs;
use crate::wire::turns::{CallResult, WireTurn, push_parts, turns};
use crate::wire::{IMAGE_LEFT_OUT, completions, constrained, schema, set};
use crate::{
    MessagePart, ModelInput, ModelRequest, ModelTarget, ThinkingEffort, ThinkingFormat, ToolMode,
    ToolSchema,
};

/// The protocol demands a limit; this one where nobody knows better.
const USUAL_MAX_TOKENS: u64 = 8_192;
/// Left for the answer beside the thinking.
const ROOM_TO_ANSWER: u64 = 4_096;

pub fn body(target: &ModelTarget, request: &ModelRequest) -> Map<String, Value> {
    let mut knobs = RequestKnobs::of(target, request);
    let mark = cache_control(knobs.retention);
    let turns = turns(&request.messages, &target.info.reference);
    let thinking = thinking(target, request, &turns);
    let most = knobs
        .max_tokens
        .or(target.info.max_tokens)
        .unwrap_or(USUAL_MAX_TOKENS);
    let most = match thinking {
        Think::Budget(budget) => most.max(budget + ROOM_TO_ANSWER),
        _ => most,
    };
    let mut body = Map::new();
    body.insert("model".into(), json!(target.info.id));
    body.insert("max_tokens".into(), json!(most));
    if !request.tools.is_empty() && !is_constrained(request) {
        body.insert("tools".into(), tools(target, request, mark.as_ref()));
        match request.must_call.as_slice() {
            [] => {}
            [one] => {
                body.insert("tool_choice".into(), json!({"type": "tool", "name": one}));
            }
            _ => {
                body.insert("tool_choice".into(), json!({"type": "any"}));
            }
        }
    }
    let system = system(request, mark.as_ref());
    if !system.is_empty() {
        body.insert("system".into(), Value::Array(system));
    }
    let mut messages = messages(target, request, &turns);
    if let Some(mark) = &mark {
        mark_last_stable(&mut messages, mark);
    }
    body.insert("messages".into(), Value::Array(messages));
    body.insert("stream".into(), json!(true));
    match thinking {
        Think::Not => {}
        Think::Budget(budget) => {
            body.insert(
                "thinking".into(),
                json!({"type": "enabled", "budget_tokens": budget}),
            );
        }
        Think::Adaptive(effort) => {
            body.insert("thinking".into(), json!({"type": "adaptive"}));
            body.insert("output_config".into(), json!({"effort": effort}));
        }
    }
    if !matches!(thinking, Think::Not) {
        // The two exclude each other.
        knobs.take(&["temperature"]);
    }
    if let Some(top_p) = knobs.take(&["topP"]) {
        knobs.rest.entry("top_p").or_insert(top_p);
    }
    knobs.pour(&mut body);
    body
}

/// How this request thinks.
#[derive(Debug, Clone, Copy)]
enum Think {
    Not,
    Budget(u64),
    Adaptive(&'static str),
}

fn thinking(target: &ModelTarget, request: &ModelRequest, turns: &[WireTurn<'_>]) -> Think {
    if !target.info.reasoning || request.thinking == ThinkingEffort::Off || broken_off(turns) {
        return Think::Not;
    }
    // Whoever has to call a tool may not think first.
    if !request.must_call.is_empty() {
        return Think::Not;
    }
    if target.info.compat.thinking == ThinkingFormat::Adaptive {
        return Think::Adaptive(match request.thinking {
            ThinkingEffort::Off | ThinkingEffort::Minimal | ThinkingEffort::Low => "low",
            ThinkingEffort::Medium => "medium",
            ThinkingEffort::High => "high",
            ThinkingEffort::XHigh => "max",
        });
    }
    Think::Budget(match request.thinking {
        ThinkingEffort::Off | ThinkingEffort::Minimal => 1_024,
        ThinkingEffort::Low => 4_096,
        ThinkingEffort::Medium => 10_240,
        ThinkingEffort::High => 20_480,
        ThinkingEffort::XHigh => 32_768,
    })
}

/// A tool loop that was begun without thoughts, or by another model, cannot go on with them: the
/// endpoint would refuse it.
fn broken_off(turns: &[WireTurn<'_>]) -> bool {
    let last = turns.iter().rev().find_map(|turn| match turn {
        WireTurn::Assistant {
            content,
            same_model,
            current: true,
        } => Some((content, *same_model)),
        _ => None,
    });
    last.is_some_and(|(content, same_model)| {
        let calls = content
            .iter()
            .any(|part| matches!(part, MessagePart::ToolCall(_)));
        let signed = content.iter().any(|part| {
            matches!(
                part,
                MessagePart::Reasoning {
                    signature: Some(_),
                    ..
                }
            ) && same_model
        });
        calls && !signed
    })
}

fn tools(target: &ModelTarget, request: &ModelRequest, mark: Option<&Value>) -> Value {
    let tools = request.tools.iter();
    let mut tools: Vec<Value> = tools.map(|tool| tool_value(target, tool)).collect();
    if let (Some(last), Some(mark)) = (tools.last_mut(), mark) {
        last["cache_control"] = mark.clone();
    }
    Value::Array(tools)
}

/// A tool as it is sent, without the mark for the cache.
pub fn tool_value(target: &ModelTarget, tool: &ToolSchema) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": schema::adapted(&tool.parameters, target.info.compat.schema),
    })
}

/// The stable text, marked, and what may change after it, unmarked.
fn system(request: &ModelRequest, mark: Option<&Value>) -> Vec<Value> {
    let held;
    let (stable, tail) = if is_constrained(request) {
        held = constrained::system(request);
        (held.as_str(), "")
    } else {
        (request.system.stable.as_str(), request.system.tail.as_str())
    };
    let mut blocks = Vec::new();
    if !stable.is_empty() {
        let mut block = json!({"type": "text", "text": stable});
        if let Some(mark) = mark {
            set(&mut block, "cache_control", mark.clone());
        }
        blocks.push(block);
    }
    if !tail.is_empty() {
        blocks.push(json!({"type": "text", "text": tail}));
    }
    blocks
}

fn is_constrained(request: &ModelRequest) -> bool {
    request.effective_mode() == ToolMode::Constrained
}

fn messages(target: &ModelTarget, request: &ModelRequest, turns: &[WireTurn<'_>]) -> Vec<Value> {
    let sees = target.info.reads(ModelInput::Image);
    let mut messages: Vec<Value> = Vec::new();
    for turn in turns {
        let (role, blocks) = match turn {
            WireTurn::User(parts) => (
                "user",
                parts.iter().filter_map(|part| block(part, sees)).collect(),
            ),
            WireTurn::Assistant { content, .. } if is_constrained(request) => {
                let said = completions::said_plainly(content);
                let block = said.map(|said| json!({"type": "text", "text": said}));
                ("assistant", block.into_iter().collect())
            }
            WireTurn::Assistant {
                content,
                same_model,
                ..
            } => ("assistant", said(content, *same_model)),
            WireTurn::Results(results) if is_constrained(request) => {
                let text = completions::told_plainly(results);
                ("user", vec![json!({"type": "text", "text": text})])
            }
            WireTurn::Results(results) => (
                "user",
                results
                    .iter()
                    .map(|result| result_block(result, sees))
                    .collect(),
            ),
        };
        let blocks: Vec<Value> = blocks;
        if blocks.is_empty() {
            continue;
        }
        if messages.is_empty() && role == "assistant" {
            messages.push(json!({"role": "user", "content": [
                {"type": "text", "text": "(the conversation goes on)"},
            ]}));
        }
        push_parts(&mut messages, role, "content", blocks);
    }
    messages
}

/// Thoughts only with the signature of the model that is asked; an unsigned one is refused.
fn said(content: &[MessagePart], same_model: bool) -> Vec<Value> {
    content
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text } if text.trim().is_empty() => None,
            MessagePart::Text { text } => Some(json!({"type": "text", "text": text})),
            MessagePart::Reasoning {
                text,
                signature: Some(signature),
                redacted,
            } if same_model => Some(if *redacted {
                json!({"type": "redacted_thinking", "data": signature})
            } else {
                json!({"type": "thinking", "thinking": text, "signature": signature})
            }),
            MessagePart::ToolCall(call) => Some(json!({
                "type": "tool_use",
                "id": ids::adapted(&call.id, IdForm::Anthropic),
                "name": call.name,
                "input": call.arguments,
            })),
            MessagePart::Reasoning { .. } | MessagePart::Image { .. } => None,
        })
        .collect()
}

fn result_block(result: &CallResult<'_>, sees: bool) -> Value {
    let mut content = vec![json!({"type": "text", "text": result.text()})];
    for (mime, data) in result.images() {
        content.push(picture(mime, data, sees));
    }
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": ids::adapted(&result.call.id, IdForm::Anthropic),
        "content": content,
    });
    if result.is_error {
        set(&mut block, "is_error", true);
    }
    block
}

/// Empty text is refused by the endpoint.
fn block(part: &MessagePart, sees: bool) -> Option<Value> {
    match part {
        MessagePart::Text { text } if text.trim().is_empty() => None,
        MessagePart::Text { text } => Some(json!({"type": "text", "text": text})),
        MessagePart::Image { mime, data } => Some(picture(mime, data, sees)),
        MessagePart::Reasoning { .. } | MessagePart::ToolCall(_) => None,
    }
}

fn picture(mime: &str, data: &str, sees: bool) -> Value {
    if sees {
        json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}})
    } else {
        json!({"type": "text", "text": IMAGE_LEFT_OUT})
    }
}

/// The last two turns of the person's side: the newest is what the next request reads from the
/// cache, the one before is what this request reads. With tools and system that makes four marks,
/// as many as the endpoint takes.
fn mark_last_stable(messages: &mut [Value], mark: &Value) {
    let people = messages
        .iter_mut()
        .rev()
        .filter(|message| message["role"] == "user");
    for message in people.take(2) {
        let last = message["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut());
        if let Some(block) = last {
            set(block, "cache_control", mark.clone());
        }
    }
}
