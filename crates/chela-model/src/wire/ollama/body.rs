//! The body of a native Ollama request.

use serde_json::{Map, Value, json};

use crate::wire::request_knobs::{RequestKnobs, num_ctx};
use crate::wire::turns::{WireTurn, turns};
use crate::wire::{IMAGE_LEFT_OUT, completions, constrained, schema, set};
use crate::{
    MessagePart, ModelInput, ModelRequest, ModelTarget, ThinkingEffort, ToolMode, ToolSchema,
};

/// Parameters that stand beside `options`; every other one belongs into it.
const OUTSIDE: [&str; 4] = ["keep_alive", "format", "think", "options"];

pub fn body(target: &ModelTarget, request: &ModelRequest) -> Map<String, Value> {
    let mut knobs = RequestKnobs::of(target, request);
    let held = request.effective_mode() == ToolMode::Constrained;
    let mut body = Map::new();
    body.insert("model".into(), json!(target.info.id));
    body.insert(
        "messages".into(),
        Value::Array(messages(target, request, held)),
    );
    if held {
        body.insert("format".into(), constrained::answer_schema(&request.tools));
    } else if !request.tools.is_empty() && target.info.compat.tools {
        let tools = request.tools.iter();
        let tools = tools.map(|tool| tool_value(target, tool));
        body.insert("tools".into(), tools.collect());
    }
    body.insert("stream".into(), json!(true));
    if target.info.reasoning {
        body.insert("think".into(), think(&target.info.id, request.thinking));
    }
    let mut options = Map::new();
    options.insert("num_ctx".into(), json!(num_ctx(target, &mut knobs)));
    if let Some(most) = knobs.max_tokens {
        options.insert("num_predict".into(), json!(most));
    }
    if let Some(top_p) = knobs.take(&["topP"]) {
        options.insert("top_p".into(), top_p);
    }
    let (outside, inside): (Map<_, _>, Map<_, _>) = std::mem::take(&mut knobs.rest)
        .into_iter()
        .partition(|(key, _)| OUTSIDE.contains(&key.as_str()));
    options.extend(inside);
    body.insert("options".into(), Value::Object(options));
    knobs.rest = outside;
    knobs.pour(&mut body);
    body
}

/// A tool as it is sent.
pub fn tool_value(target: &ModelTarget, tool: &ToolSchema) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "parameters": schema::adapted(&tool.parameters, target.info.compat.schema),
    }})
}

fn think(id: &str, thinking: ThinkingEffort) -> Value {
    // gpt-oss always thinks, and knows three levels.
    match (id.starts_with("gpt-oss"), thinking) {
        (true, ThinkingEffort::Off | ThinkingEffort::Minimal | ThinkingEffort::Low) => json!("low"),
        (true, ThinkingEffort::Medium) => json!("medium"),
        (true, ThinkingEffort::High | ThinkingEffort::XHigh) => json!("high"),
        (false, thinking) => json!(thinking != ThinkingEffort::Off),
    }
}

fn messages(target: &ModelTarget, request: &ModelRequest, held: bool) -> Vec<Value> {
    let sees = target.info.reads(ModelInput::Image);
    let mut messages = Vec::new();
    let system = if held {
        constrained::system(request)
    } else {
        format!("{}{}", request.system.stable, request.system.tail)
    };
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    for turn in turns(&request.messages, &target.info.reference) {
        match &turn {
            WireTurn::User(parts) => messages.push(user(parts.iter().copied(), sees)),
            WireTurn::Assistant { content, .. } if held => {
                let said = completions::said_plainly(content);
                messages.extend(said.map(|said| json!({"role": "assistant", "content": said})));
            }
            WireTurn::Assistant { content, .. } => messages.extend(said(content)),
            WireTurn::Results(results) if held => {
                let told = completions::told_plainly(results);
                messages.push(json!({"role": "user", "content": told}));
            }
            WireTurn::Results(results) => {
                for result in results {
                    messages.push(json!({
                        "role": "tool",
                        "tool_name": result.call.name,
                        "content": result.text(),
                    }));
                }
                for result in results
                    .iter()
                    .filter(|result| result.images().next().is_some())
                {
                    let content = result.content.unwrap_or_default();
                    let pictures = content
                        .iter()
                        .filter(|part| matches!(part, MessagePart::Image { .. }));
                    let mut message = user(pictures, sees);
                    if sees {
                        let said = format!("Picture from {}:", result.call.name);
                        set(&mut message, "content", said);
                    }
                    messages.push(message);
                }
            }
        }
    }
    messages
}

fn user<'a>(parts: impl Iterator<Item = &'a MessagePart>, sees: bool) -> Value {
    let mut texts: Vec<&str> = Vec::new();
    let mut images: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            MessagePart::Text { text } => texts.push(text),
            MessagePart::Image { data, .. } if sees => images.push(data),
            MessagePart::Image { .. } => texts.push(IMAGE_LEFT_OUT),
            MessagePart::Reasoning { .. } | MessagePart::ToolCall(_) => {}
        }
    }
    let mut message = json!({"role": "user", "content": texts.join("\n\n")});
    if !images.is_empty() {
        set(&mut message, "images", images);
    }
    message
}

fn said(content: &[MessagePart]) -> Option<Value> {
    let mut text = String::new();
    let mut calls: Vec<Value> = Vec::new();
    for part in content {
        match part {
            MessagePart::Text { text: more } => text.push_str(more),
            MessagePart::ToolCall(call) => calls.push(json!({"function": {
                "name": call.name,
                "arguments": call.arguments,
            }})),
            MessagePart::Reasoning { .. } | MessagePart::Image { .. } => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        set(&mut message, "tool_calls", calls);
    }
    Some(message)
}
