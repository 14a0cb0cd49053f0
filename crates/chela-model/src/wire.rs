//! The wire formats: what is sent, and what is understood of the answer.

mod anthropic;
mod completions;
mod constrained;
mod decoder;
mod draft;
mod frames;
mod google;
mod ids;
mod knobs;
mod ollama;
mod responses;
mod schema;
mod turns;

use serde_json::Value;

pub use decoder::{Answer, Decoder, StreamFault};
pub use frames::Framing;

use crate::key::Key;
use crate::provider::Auth;
use crate::{Api, Request, Target, Thinking, ThinkingFormat};
use decoder::Decode;

/// Said in place of a picture to a model that sees none.
const IMAGE_LEFT_OUT: &str = "(a picture was here; this model reads no pictures)";

/// The bytes of a request: the same for the same request, always.
pub fn body(target: &Target, request: &Request) -> Vec<u8> {
    let body = match target.info.api {
        Api::OpenAiCompletions => completions::body(target, request),
        Api::OpenAiResponses | Api::AzureOpenAiResponses => responses::body(target, request),
        Api::AnthropicMessages => anthropic::body(target, request),
        Api::GoogleGenerativeAi => google::body(target, request),
        Api::Ollama => ollama::body(target, request),
    };
    Value::Object(body).to_string().into_bytes()
}

/// Where a request goes. People write base addresses with and without the version.
pub fn url(target: &Target) -> String {
    let base = target.provider.base_url.trim_end_matches('/');
    let versioned = |version: &str| {
        let path = base.split_once("://").map_or(base, |(_, rest)| rest);
        if path.contains('/') {
            base.to_owned()
        } else {
            format!("{base}/{version}")
        }
    };
    match target.info.api {
        Api::OpenAiCompletions => format!("{}/chat/completions", versioned("v1")),
        Api::OpenAiResponses => format!("{}/responses", versioned("v1")),
        Api::AzureOpenAiResponses => {
            let base = versioned("openai/v1");
            match target.params.get("apiVersion").and_then(Value::as_str) {
                Some(version) => format!("{base}/responses?api-version={version}"),
                None => format!("{base}/responses"),
            }
        }
        Api::AnthropicMessages => {
            let base = base.strip_suffix("/v1").unwrap_or(base);
            format!("{base}/v1/messages")
        }
        Api::GoogleGenerativeAi => format!(
            "{}/models/{}:streamGenerateContent?alt=sse",
            versioned("v1beta"),
            target.info.id.trim_start_matches("models/")
        ),
        Api::Ollama => format!("{}/api/chat", ollama_root(base)),
    }
}

/// The address of an Ollama server without the path of its other protocol.
pub fn ollama_root(base: &str) -> &str {
    let base = base.trim_end_matches('/');
    base.strip_suffix("/v1")
        .or_else(|| base.strip_suffix("/api"))
        .unwrap_or(base)
}

/// The headers of a request beside the config's own.
pub fn headers(
    target: &Target,
    request: &Request,
    key: Option<&Key>,
) -> Vec<(&'static str, String)> {
    let api = target.info.api;
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.push((
        "accept",
        match api {
            Api::Ollama => "application/x-ndjson".to_owned(),
            _ => "text/event-stream".to_owned(),
        },
    ));
    let mut betas: Vec<&str> = Vec::new();
    if let Some(key) = key.map(Key::expose) {
        let (name, value) = match (api, target.provider.auth) {
            (_, Auth::Bearer) => ("authorization", format!("Bearer {key}")),
            (Api::AnthropicMessages, _) if key.starts_with("sk-ant-oat") => {
                betas.push("oauth-2025-04-20");
                ("authorization", format!("Bearer {key}"))
            }
            (Api::AnthropicMessages, _) => ("x-api-key", key.to_owned()),
            (Api::GoogleGenerativeAi, _) => ("x-goog-api-key", key.to_owned()),
            (Api::AzureOpenAiResponses, _) => ("api-key", key.to_owned()),
            _ => ("authorization", format!("Bearer {key}")),
        };
        headers.push((name, value));
    }
    if api == Api::AnthropicMessages {
        headers.push(("anthropic-version", "2023-06-01".to_owned()));
        let thinks = target.info.reasoning && request.thinking != Thinking::Off;
        if thinks && target.info.compat.thinking != ThinkingFormat::Adaptive {
            betas.push("interleaved-thinking-2025-05-14");
        }
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta", betas.join(",")));
    }
    headers
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
