//! The body of a Gemini request.

use serde_json::{Map, Value, json};

use crate::wire::ids::{self, IdForm};
use crate::wire::knobs::Knobs;
use crate::wire::turns::{CallResult, Turn, turns};
use crate::wire::{IMAGE_LEFT_OUT, completions, constrained};
use crate::{Input, Part, Request, Target, Thinking, ToolMode};

pub fn body(target: &Target, request: &Request) -> Map<String, Value> {
    let mut knobs = Knobs::of(target, request);
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
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        body.insert("tools".into(), json!([{"functionDeclarations": tools}]));
    }
    let config = generation_config(target, request, &mut knobs, held);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    knobs.pour(&mut body);
    body
}

fn generation_config(
    target: &Target,
    request: &Request,
    knobs: &mut Knobs,
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
fn thinking(id: &str, thinking: Thinking) -> Value {
    let pro = id.contains("pro");
    let on = thinking != Thinking::Off;
    if id.contains("gemini-3") {
        let level = match thinking {
            Thinking::Off | Thinking::Minimal if pro => "low",
            Thinking::Off | Thinking::Minimal => "minimal",
            Thinking::Low => "low",
            Thinking::Medium if pro => "high",
            Thinking::Medium => "medium",
            Thinking::High | Thinking::XHigh => "high",
        };
        return json!({"includeThoughts": on, "thinkingLevel": level});
    }
    let budget = match thinking {
        Thinking::Off if pro => 128,
        Thinking::Off => 0,
        Thinking::Minimal => 1_024,
        Thinking::Low => 2_048,
        Thinking::Medium => 8_192,
        Thinking::High => 16_384,
        Thinking::XHigh => 24_576,
    };
    json!({"includeThoughts": on, "thinkingBudget": budget})
}

fn contents(target: &Target, request: &Request, held: bool) -> Vec<Value> {
    let sees = target.info.reads(Input::Image);
    let mut contents: Vec<Value> = Vec::new();
    for turn in turns(&request.messages, &target.info.reference) {
        let (role, parts): (&str, Vec<Value>) = match &turn {
            Turn::User(parts) => (
                "user",
                parts
                    .iter()
                    .filter_map(|part| user_part(part, sees))
                    .collect(),
            ),
            Turn::Assistant { content, .. } if held => {
                let said = completions::said_plainly(content);
                (
                    "model",
                    said.map(|said| json!({"text": said})).into_iter().collect(),
                )
            }
            Turn::Assistant {
                content,
                same_model,
                ..
            } => ("model", said(content, *same_model)),
            Turn::Results(results) if held => (
                "user",
                vec![json!({"text": completions::told_plainly(results)})],
            ),
            Turn::Results(results) => ("user", result_parts(results, sees)),
        };
        if parts.is_empty() {
            continue;
        }
        match contents.last_mut() {
            Some(last) if last["role"] == role => {
                if let Some(list) = last["parts"].as_array_mut() {
                    list.extend(parts);
                }
            }
            _ => contents.push(json!({"role": role, "parts": parts})),
        }
    }
    contents
}

fn user_part(part: &Part, sees: bool) -> Option<Value> {
    match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(json!({"text": text})),
        Part::Image { mime, data } => Some(picture(mime, data, sees)),
        Part::Reasoning { .. } | Part::ToolCall(_) => None,
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
fn said(content: &[Part], same_model: bool) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature: Option<&String> = None;
    for part in content {
        let mut value = match part {
            Part::Reasoning {
                signature: Some(own),
                ..
            } if same_model => {
                signature = Some(own);
                continue;
            }
            Part::Text { text } if !text.is_empty() => json!({"text": text}),
            Part::ToolCall(call) => json!({"functionCall": {
                "id": ids::adapted(&call.id, IdForm::Google),
                "name": call.name,
                "args": call.arguments,
            }}),
            _ => continue,
        };
        if let Some(signature) = signature.take() {
            value["thoughtSignature"] = json!(signature);
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
