//! The body of an OpenAI responses request.

use serde_json::{Map, Value, json};

use crate::wire::completions::{
    ToolNaming, cache_key, effort, said_plainly, told_plainly, tool_choice,
};
use crate::wire::ids::{self, IdForm};
use crate::wire::request_knobs::RequestKnobs;
use crate::wire::turns::{CallResult, WireTurn, turns};
use crate::wire::{IMAGE_LEFT_OUT, constrained, schema};
use crate::{
    MessagePart, ModelInput, ModelRequest, ModelTarget, ThinkingEffort, ToolMode, ToolSchema,
};

pub fn body(target: &ModelTarget, request: &ModelRequest) -> Map<String, Value> {
    let compat = &target.info.compat;
    let mut knobs = RequestKnobs::of(target, request);
    let held = request.effective_mode() == ToolMode::Constrained;
    let mut body = Map::new();
    body.insert("model".into(), json!(target.info.id));
    let system = if held {
        constrained::system(request)
    } else {
        format!("{}{}", request.system.stable, request.system.tail)
    };
    if !system.is_empty() {
        body.insert("instructions".into(), json!(system));
    }
    body.insert("input".into(), Value::Array(input(target, request, held)));
    if held {
        body.insert("text".into(), answer_format(&request.tools));
    } else if !request.tools.is_empty() {
        let tools = request.tools.iter();
        let tools = tools.map(|tool| tool_value(target, tool));
        body.insert("tools".into(), tools.collect());
        if let Some(choice) = tool_choice(request, ToolNaming::Plain) {
            body.insert("tool_choice".into(), choice);
        }
    }
    body.insert("stream".into(), json!(true));
    if compat.store {
        body.insert("store".into(), json!(false));
    }
    if let Some(most) = knobs.max_tokens {
        body.insert("max_output_tokens".into(), json!(most));
    }
    if target.info.reasoning && compat.reasoning_effort {
        if request.thinking != ThinkingEffort::Off {
            body.insert(
                "reasoning".into(),
                json!({"effort": effort(request.thinking), "summary": "auto"}),
            );
        }
        // Nothing is stored there: thoughts travel with the conversation, sealed.
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    cache_key(&mut body, target, request, knobs.retention);
    if let Some(top_p) = knobs.take(&["topP"]) {
        knobs.rest.entry("top_p").or_insert(top_p);
    }
    knobs.drop_sampling(target);
    knobs.pour(&mut body);
    body
}

/// The form every answer must have.
pub fn answer_format(tools: &[ToolSchema]) -> Value {
    json!({"format": {
        "type": "json_schema",
        "name": "answer",
        "strict": true,
        "schema": constrained::answer_schema(tools),
    }})
}

/// A tool as it is sent.
pub fn tool_value(target: &ModelTarget, tool: &ToolSchema) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": schema::adapted(&tool.parameters, target.info.compat.schema),
        "strict": false,
    })
}

fn input(target: &ModelTarget, request: &ModelRequest, held: bool) -> Vec<Value> {
    let sees = target.info.reads(ModelInput::Image);
    let mut items = Vec::new();
    for turn in turns(&request.messages, &target.info.reference) {
        match &turn {
            WireTurn::User(parts) => {
                let content = content(parts.iter().copied(), sees);
                items.push(json!({"role": "user", "content": content}));
            }
            WireTurn::Assistant { content, .. } if held => {
                let said = said_plainly(content);
                items.extend(said.map(|said| json!({"role": "assistant", "content": said})));
            }
            WireTurn::Assistant {
                content,
                same_model,
                ..
            } => said(content, *same_model, &mut items),
            WireTurn::Results(results) if held => {
                items.push(json!({"role": "user", "content": told_plainly(results)}));
            }
            WireTurn::Results(results) => {
                items.extend(results.iter().map(|result| output(result, sees)));
            }
        }
    }
    items
}

fn content<'a>(parts: impl Iterator<Item = &'a MessagePart>, sees: bool) -> Vec<Value> {
    parts
        .filter_map(|part| match part {
            MessagePart::Text { text } => Some(json!({"type": "input_text", "text": text})),
            MessagePart::Image { mime, data } if sees => Some(json!({
                "type": "input_image",
                "image_url": format!("data:{mime};base64,{data}"),
            })),
            MessagePart::Image { .. } => {
                Some(json!({"type": "input_text", "text": IMAGE_LEFT_OUT}))
            }
            MessagePart::Reasoning { .. } | MessagePart::ToolCall(_) => None,
        })
        .collect()
}

fn said(content: &[MessagePart], same_model: bool, items: &mut Vec<Value>) {
    for part in content {
        match part {
            MessagePart::Text { text } if !text.is_empty() => items.push(json!({
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            })),
            MessagePart::Reasoning {
                text,
                signature: Some(sealed),
                ..
            } if same_model => items.extend(thought(text, sealed)),
            MessagePart::ToolCall(call) => items.push(json!({
                "type": "function_call",
                "call_id": ids::adapted(&call.id, IdForm::OpenAi),
                "name": call.name,
                "arguments": Value::Object(call.arguments.clone()).to_string(),
            })),
            _ => {}
        }
    }
}

/// The item as it came: its id and the sealed thoughts.
fn thought(text: &str, sealed: &str) -> Option<Value> {
    let sealed: Value = serde_json::from_str(sealed).ok()?;
    let summary = if text.is_empty() {
        json!([])
    } else {
        json!([{"type": "summary_text", "text": text}])
    };
    Some(json!({
        "type": "reasoning",
        "id": sealed.get("id")?,
        "summary": summary,
        "encrypted_content": sealed.get("encrypted_content")?,
    }))
}

fn output(result: &CallResult<'_>, sees: bool) -> Value {
    let images: Vec<Value> = result
        .images()
        .filter(|_| sees)
        .map(|(mime, data)| {
            json!({"type": "input_image", "image_url": format!("data:{mime};base64,{data}")})
        })
        .collect();
    let output = if images.is_empty() {
        json!(result.text())
    } else {
        let text = json!({"type": "input_text", "text": result.text()});
        std::iter::once(text).chain(images).collect()
    };
    json!({
        "type": "function_call_output",
        "call_id": ids::adapted(&result.call.id, IdForm::OpenAi),
        "output": output,
    })
}
