//! The wire formats: what is sent, and what is understood of the answer.

mod anthropic;
mod completions;
mod constrained;
mod decoder;
mod draft;
mod frames;
mod google;
mod ids;
mod ollama;
mod request_knobs;
mod responses;
mod schema;
mod turns;

use std::borrow::Cow;

use serde_json::Value;

pub use decoder::{AnswerDecoder, DecodedAnswer, StreamFault};
pub use frames::StreamFraming;

use crate::key::ModelKey;
use crate::provider::KeyPresentation;
use crate::{
    AnswerForm, EncodedRequest, FormReader, ModelApi, ModelRequest, ModelTarget, ThinkingEffort,
    ThinkingFormat, ToolMode, ToolSchema,
};
use decoder::DecodeDocument;

/// Said in place of a picture to a model that sees none.
const IMAGE_LEFT_OUT: &str = "(a picture was here; this model reads no pictures)";

/// The request as this model gets it, in the mode the request names.
pub fn encode(target: &ModelTarget, request: &ModelRequest) -> EncodedRequest {
    EncodedRequest {
        model: target.info.reference.clone(),
        url: url(target),
        mode: request.effective_mode(),
        unread: unread_members(target, request.effective_mode()),
        bytes: body(target, request).into(),
    }
}

/// The bytes of a request: the same for the same request, always.
fn body(target: &ModelTarget, request: &ModelRequest) -> Vec<u8> {
    let body = match target.info.api {
        ModelApi::OpenAiCompletions => completions::body(target, request),
        ModelApi::OpenAiResponses | ModelApi::AzureOpenAiResponses => {
            responses::body(target, request)
        }
        ModelApi::AnthropicMessages => anthropic::body(target, request),
        ModelApi::GoogleGenerativeAi => google::body(target, request),
        ModelApi::Ollama => ollama::body(target, request),
    };
    Value::Object(body).to_string().into_bytes()
}

/// What a model reads of each tool, in the mode they are told in: the text that is sent.
pub fn tool_texts(target: &ModelTarget, tools: &[ToolSchema], mode: ToolMode) -> Vec<String> {
    if mode == ToolMode::Constrained {
        return tools.iter().map(constrained::line).collect();
    }
    let value = |tool: &ToolSchema| match target.info.api {
        ModelApi::OpenAiCompletions => completions::tool_value(target, tool),
        ModelApi::OpenAiResponses | ModelApi::AzureOpenAiResponses => {
            responses::tool_value(target, tool)
        }
        ModelApi::AnthropicMessages => anthropic::tool_value(target, tool),
        ModelApi::GoogleGenerativeAi => google::tool_value(tool),
        ModelApi::Ollama => ollama::tool_value(target, tool),
    };
    tools.iter().map(|tool| value(tool).to_string()).collect()
}

/// The form that answers are held to, beside the prompt; `None` where tools are told of natively.
pub fn answer_form(
    target: &ModelTarget,
    tools: &[ToolSchema],
    mode: ToolMode,
) -> Option<AnswerForm> {
    if mode != ToolMode::Constrained || tools.is_empty() {
        return None;
    }
    let value = match target.info.api {
        ModelApi::OpenAiCompletions => completions::answer_format(tools),
        ModelApi::OpenAiResponses | ModelApi::AzureOpenAiResponses => {
            responses::answer_format(tools)
        }
        ModelApi::GoogleGenerativeAi | ModelApi::Ollama => constrained::answer_schema(tools),
        // It is asked for in words alone.
        ModelApi::AnthropicMessages => return None,
    };
    Some(AnswerForm {
        text: value.to_string(),
        reader: target.form_reader(),
    })
}

/// The members of a body that are for the server alone: the model reads nothing of them.
fn unread_members(target: &ModelTarget, mode: ToolMode) -> &'static [&'static str] {
    match (mode, target.form_reader(), target.info.api) {
        (ToolMode::Constrained, FormReader::Server, ModelApi::OpenAiCompletions) => {
            &["response_format"]
        }
        _ => &[],
    }
}

/// The stable text as it is sent: with the tools in it where the endpoint knows none.
pub fn stable_text<'s>(stable: &'s str, tools: &[ToolSchema], mode: ToolMode) -> Cow<'s, str> {
    match mode {
        ToolMode::Constrained if !tools.is_empty() => {
            Cow::Owned(constrained::with_tools(stable, tools))
        }
        _ => Cow::Borrowed(stable),
    }
}

/// Where a request goes.
fn url(target: &ModelTarget) -> String {
    let provider = &target.provider;
    let versioned = |version: &str| provider.versioned_url(version);
    match target.info.api {
        ModelApi::OpenAiCompletions => format!("{}/chat/completions", versioned("v1")),
        ModelApi::OpenAiResponses => format!("{}/responses", versioned("v1")),
        ModelApi::AzureOpenAiResponses => {
            let base = versioned("openai/v1");
            match target.params.get("apiVersion").and_then(Value::as_str) {
                Some(version) => format!("{base}/responses?api-version={version}"),
                None => format!("{base}/responses"),
            }
        }
        ModelApi::AnthropicMessages => {
            let base = provider.base_url.as_str();
            format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base))
        }
        ModelApi::GoogleGenerativeAi => format!(
            "{}/models/{}:streamGenerateContent?alt=sse",
            versioned("v1beta"),
            target.info.id.trim_start_matches("models/")
        ),
        ModelApi::Ollama => format!("{}/api/chat", provider.server_root()),
    }
}

/// The headers of a request beside the config's own.
pub fn headers(
    target: &ModelTarget,
    request: &ModelRequest,
    key: Option<&ModelKey>,
) -> Vec<(&'static str, String)> {
    let api = target.info.api;
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.push((
        "accept",
        match api {
            ModelApi::Ollama => "application/x-ndjson".to_owned(),
            _ => "text/event-stream".to_owned(),
        },
    ));
    let mut betas: Vec<&str> = Vec::new();
    if let Some(key) = key.map(ModelKey::expose) {
        let (name, value) = match (api, target.provider.auth) {
            (_, KeyPresentation::Bearer) => ("authorization", format!("Bearer {key}")),
            (ModelApi::AnthropicMessages, _) if key.starts_with("sk-ant-oat") => {
                betas.push("oauth-2025-04-20");
                ("authorization", format!("Bearer {key}"))
            }
            (ModelApi::AnthropicMessages, _) => ("x-api-key", key.to_owned()),
            (ModelApi::GoogleGenerativeAi, _) => ("x-goog-api-key", key.to_owned()),
            (ModelApi::AzureOpenAiResponses, _) => ("api-key", key.to_owned()),
            _ => ("authorization", format!("Bearer {key}")),
        };
        headers.push((name, value));
    }
    if api == ModelApi::AnthropicMessages {
        headers.push(("anthropic-version", "2023-06-01".to_owned()));
        let thinks = target.info.reasoning && request.thinking != ThinkingEffort::Off;
        if thinks && target.info.compat.thinking != ThinkingFormat::Adaptive {
            betas.push("interleaved-thinking-2025-05-14");
        }
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta", betas.join(",")));
    }
    headers
}

/// Adds a field to an object, or replaces it.
fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(field.to_owned(), value.into());
    }
}

/// A count in an answer; whatever is not one counts as none.
fn number(value: &Value) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "token counts that some servers write as 12.0"
    )]
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|number| number as u64))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
