//! The body of a Gemini request.

use serde_json::{Map, Value, json};

use crate::wire::ids::{self, IdForm};
use crate::wire::request_knobs::RequestKnobs;
use crate::wire::turns::{CallResult, WireTurn, push_parts, turns};
use crate::wire::{IMAGE_LEFT_OUT, completions, constrained, set};
use crate::{
    MessagePart, ModelInput, ModelRequest, ModelTarget, ThinkingEffort, ToolMode, ToolSchema,
};

pub fn body(target: &ModelTarget, request: &ModelRequest) -> Map<String, Value> {
    let mut knobs = RequestKnobs::of(target, request);
    let held = request.effective_mode() == ToolMode::Constrained;
    let mut body = Map::new();
    // Content the operator has cached there holds system text and tools already.
    let cached = knobs.take(&["cachedContent", "cached_content"]);
    let has_cached = cached.is_some();
    if let Some(cached) = cached {
        body.insert("cachedContent".into(), cached);
    }
    let system = if held {
        constrained::system(request)
    } else {
        format!("{}{}", request.system.stable, request.system.tail)
    };
    if !system.is_empty() && !has_cached {
        body.insert(
            "systemInstruction".into(),
            json!({"parts": [{"text": system}]}),
        );
    }
    body.insert(
        "contents".into(),
        Value::Array(contents(target, request, held)),
    );
    if !request.tools.is_empty() && !held && !has_cached {
        let tools: Vec<Value> = request.tools.iter().map(tool_value).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": tools}]));
        if !request.must_call.is_empty() {
            body.insert(
                "toolConfig".into(),
                json!({"functionCallingConfig": {
                    "mode": "ANY", "allowedFunctionNames": request.must_call,
                }}),
            );
        }
    }
    let config = generation_config(target, request, &mut knobs, held);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    knobs.pour(&mut body);
    body
}

/// A tool as it is sent.
pub fn tool_value(tool: &ToolSchema) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": *tool.parameters,
    })
}

fn generation_config(
    target: &ModelTarget,
    request: &ModelRequest,
    knobs: &mut RequestKnobs,
    held: bool,
) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(most) = knobs.max_tokens {
        config.insert("maxOutputTokens".into(), json!(most));
    }
    let names: [(&str, &[&str]); 5] = [
        ("temperature", &["temperature"]),
        ("topP", &["topP", "top_p"]),
        ("topK", &["topK", "top_k"]),
        ("seed", &["seed"]),
        ("stopSequences", &["stopSequences", "stop"]),
    ];
    for (name, also) in names {
        if let Some(value) = knobs.take(also) {
            config.insert(name.into(), value);
        }
    }
    if held {
        config.insert("responseMimeType".into(), json!("application/json"));
        config.insert(
            "responseJsonSchema".into(),
            constrained::answer_schema(&request.tools),
        );
    }
    if target.info.reasoning {
        config.insert(
            "thinkingConfig".into(),
            thinking(&target.info.id, request.thinking),
        );
    }
    config
}

/// Gemini 3 knows levels, 2.5 knows budgets; `pro` cannot leave it entirely.
fn thinking(id: &str, thinking: ThinkingEffort) -> Value {
    let pro = id.contains("pro");
    let on = thinking != ThinkingEffort::Off;
    if id.contains("gemini-3") {
        let level = match thinking {
            ThinkingEffort::Off | ThinkingEffort::Minimal if pro => "low",
            ThinkingEffort::Off | ThinkingEffort::Minimal => "minimal",
            ThinkingEffort::Low => "low",
            ThinkingEffort::Medium if pro => "high",
            ThinkingEffort::Medium => "medium",
            ThinkingEffort::High | ThinkingEffort::XHigh => "high",
        };
        return json!({"includeThoughts": on, "thinkingLevel": level});
    }
    let budget = match thinking {
        ThinkingEffort::Off if pro => 128,
        ThinkingEffort::Off => 0,
        ThinkingEffort::Minimal => 1_024,
        ThinkingEffort::Low => 2_048,
        ThinkingEffort::Medium => 8_192,
        ThinkingEffort::High => 16_384,
        ThinkingEffort::XHigh => 24_576,
    };
    json!({"includeThoughts": on, "thinkingBudget": budget})
}

fn contents(target: &ModelTarget, request: &ModelRequest, held: bool) -> Vec<Value> {
    let sees = target.info.reads(ModelInput::Image);
    let mut contents: Vec<Value> = Vec::new();
    for turn in turns(&request.messages, &target.info.reference) {
        let (role, parts): (&str, Vec<Value>) = match &turn {
            WireTurn::User(parts) => (
                "user",
                parts
                    .iter()
                    .filter_map(|part| user_part(part, sees))
                    .collect(),
            ),
            WireTurn::Assistant { content, .. } if held => {
                let said = completions::said_plainly(content);
                (
                    "model",
                    said.map(|said| json!({"text": said})).into_iter().collect(),
                )
            }
            WireTurn::Assistant {
                content,
                same_model,
                ..
            } => ("model", said(content, *same_model)),
            WireTurn::Results(results) if held => (
                "user",
                vec![json!({"text": completions::told_plainly(results)})],
            ),
            WireTurn::Results(results) => ("user", result_parts(results, sees)),
        };
        if parts.is_empty() {
            continue;
        }
        push_parts(&mut contents, role, "parts", parts);
    }
    contents
}

fn user_part(part: &MessagePart, sees: bool) -> Option<Value> {
    match part {
        MessagePart::Text { text } if text.is_empty() => None,
        MessagePart::Text { text } => Some(json!({"text": text})),
        MessagePart::Image { mime, data } => Some(picture(mime, data, sees)),
        MessagePart::Reasoning { .. } | MessagePart::ToolCall(_) => None,
    }
}

fn picture(mime: &str, data: &str, sees: bool) -> Value {
    if sees {
        json!({"inlineData": {"mimeType": mime, "data": data}})
    } else {
        json!({"text": IMAGE_LEFT_OUT})
    }
}

/// A signature belongs to the part after the thought; thoughts themselves do not go back.
fn said(content: &[MessagePart], same_model: bool) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature: Option<&String> = None;
    for part in content {
        let mut value = match part {
            MessagePart::Reasoning {
                signature: Some(own),
                ..
            } if same_model => {
                signature = Some(own);
                continue;
            }
            MessagePart::Text { text } if !text.is_empty() => json!({"text": text}),
            MessagePart::ToolCall(call) => json!({"functionCall": {
                "id": ids::adapted(&call.id, IdForm::Google),
                "name": call.name,
                "args": call.arguments,
            }}),
            _ => continue,
        };
        if let Some(signature) = signature.take() {
            set(&mut value, "thoughtSignature", signature.as_str());
        }
        parts.push(value);
    }
    parts
}

fn result_parts(results: &[CallResult<'_>], sees: bool) -> Vec<Value> {
    let mut parts: Vec<Value> = results
        .iter()
        .map(|result| {
            let word = if result.is_error { "error" } else { "output" };
            json!({"functionResponse": {
                "id": ids::adapted(&result.call.id, IdForm::Google),
                "name": result.call.name,
                "response": {word: result.text()},
            }})
        })
        .collect();
    for result in results {
        parts.extend(
            result
                .images()
                .map(|(mime, data)| picture(mime, data, sees)),
        );
    }
    parts
}
