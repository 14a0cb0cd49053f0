//! The body of a chat/completions request.

use serde_json::{Map, Value, json};

use super::messages::messages;
use crate::wire::request_knobs::{RequestKnobs, num_ctx};
use crate::wire::{constrained, schema, set};
use crate::{
    CacheRetention, MaxTokensField, ModelRequest, ModelTarget, ThinkingEffort, ThinkingFormat,
    ToolMode, ToolSchema,
};

pub fn body(target: &ModelTarget, request: &ModelRequest) -> Map<String, Value> {
    let compat = &target.info.compat;
    let mut knobs = RequestKnobs::of(target, request);
    let mut body = Map::new();
    body.insert("model".into(), json!(target.info.id));
    body.insert(
        "messages".into(),
        Value::Array(messages(target, request, knobs.retention)),
    );
    if !request.tools.is_empty() {
        match request.tool_mode {
            ToolMode::Native if compat.tools => {
                body.insert("tools".into(), tools(target, request));
                if let Some(choice) = tool_choice(request, ToolNaming::InFunction) {
                    body.insert("tool_choice".into(), choice);
                }
            }
            ToolMode::Native => {}
            ToolMode::Constrained => {
                body.insert("response_format".into(), answer_format(&request.tools));
            }
        }
    }
    body.insert("stream".into(), json!(true));
    if compat.usage_in_streaming {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if let Some(most) = knobs.max_tokens {
        let field = match compat.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(field.into(), json!(most));
    }
    if target.info.reasoning {
        think(&mut body, request.thinking, target);
    }
    if compat.store {
        body.insert("store".into(), json!(false));
    }
    cache_key(&mut body, target, request, knobs.retention);
    if compat.num_ctx {
        let window = num_ctx(target, &mut knobs);
        body.insert("options".into(), json!({"num_ctx": window}));
    }
    if let Some(top_p) = knobs.take(&["topP"]) {
        knobs.rest.entry("top_p").or_insert(top_p);
    }
    knobs.drop_sampling(target);
    knobs.pour(&mut body);
    body
}

/// Where OpenAI's two formats name a tool that has to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolNaming {
    InFunction,
    Plain,
}

/// One tool is named; of several, one is to be called.
pub fn tool_choice(request: &ModelRequest, naming: ToolNaming) -> Option<Value> {
    match (request.must_call.as_slice(), naming) {
        ([], _) => None,
        ([one], ToolNaming::InFunction) => {
            Some(json!({"type": "function", "function": {"name": one}}))
        }
        ([one], ToolNaming::Plain) => Some(json!({"type": "function", "name": one})),
        _ => Some(json!("required")),
    }
}

fn tools(target: &ModelTarget, request: &ModelRequest) -> Value {
    let tools = request.tools.iter();
    tools.map(|tool| tool_value(target, tool)).collect()
}

/// The form every answer must have.
pub fn answer_format(tools: &[ToolSchema]) -> Value {
    json!({"type": "json_schema", "json_schema": {
        "name": "answer",
        "strict": true,
        "schema": constrained::answer_schema(tools),
    }})
}

/// A tool as it is sent.
pub fn tool_value(target: &ModelTarget, tool: &ToolSchema) -> Value {
    let mut function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": schema::adapted(&tool.parameters, target.info.compat.schema),
    });
    if target.info.compat.strict {
        set(&mut function, "strict", false);
    }
    json!({"type": "function", "function": function})
}

/// The key tells OpenAI which requests share a prefix; proxies get it only when they are known
/// to take it.
pub fn cache_key(
    body: &mut Map<String, Value>,
    target: &ModelTarget,
    request: &ModelRequest,
    retention: CacheRetention,
) {
    let compat = &target.info.compat;
    if retention == CacheRetention::None || !compat.prompt_cache_key || request.cache.key.is_empty()
    {
        return;
    }
    body.insert("prompt_cache_key".into(), json!(request.cache.key));
    if retention == CacheRetention::Long && compat.long_cache_retention {
        body.insert("prompt_cache_retention".into(), json!("24h"));
    }
}

fn think(body: &mut Map<String, Value>, thinking: ThinkingEffort, target: &ModelTarget) {
    let on = thinking != ThinkingEffort::Off;
    match target.info.compat.thinking {
        ThinkingFormat::OpenAi | ThinkingFormat::Adaptive => {
            if on && target.info.compat.reasoning_effort {
                body.insert("reasoning_effort".into(), json!(effort(thinking)));
            }
        }
        ThinkingFormat::OpenRouter => {
            let how = if on {
                json!({"effort": effort(thinking)})
            } else {
                json!({"enabled": false})
            };
            body.insert("reasoning".into(), how);
        }
        ThinkingFormat::Zai => {
            let word = if on { "enabled" } else { "disabled" };
            body.insert("thinking".into(), json!({"type": word}));
        }
        ThinkingFormat::Qwen => {
            body.insert("enable_thinking".into(), json!(on));
        }
        ThinkingFormat::ChatTemplate => {
            let mut how = json!({"enable_thinking": on});
            if on {
                set(&mut how, "reasoning_effort", effort(thinking));
            }
            body.insert("chat_template_kwargs".into(), how);
        }
    }
}

/// OpenAI's word for it.
pub fn effort(thinking: ThinkingEffort) -> &'static str {
    match thinking {
        ThinkingEffort::Off => "none",
        ThinkingEffort::Minimal => "minimal",
        ThinkingEffort::Low => "low",
        ThinkingEffort::Medium => "medium",
        ThinkingEffort::High => "high",
        ThinkingEffort::XHigh => "xhigh",
    }
}
