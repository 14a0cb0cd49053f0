//! The parameters of one request: those of the config that are ours to read, and the rest.

use chela_config::model::OpenMap;
use serde_json::{Map, Value};

use crate::api::EndpointFamily;
use crate::{CacheRetention, InfoSource, ModelRequest, ModelTarget};

/// The parameters of one request.
pub struct RequestKnobs {
    pub max_tokens: Option<u64>,
    pub retention: CacheRetention,
    /// Sent as they are.
    pub rest: OpenMap,
}

/// What the body already says, or what is not for the endpoint.
const OURS: [&str; 17] = [
    "model",
    "messages",
    "input",
    "contents",
    "system",
    "instructions",
    "systemInstruction",
    "tools",
    "stream",
    "cacheRetention",
    "maxTokens",
    "max_tokens",
    "transport",
    "fastMode",
    "apiVersion",
    "extraBody",
    "extra_body",
];

impl RequestKnobs {
    pub fn of(target: &ModelTarget, request: &ModelRequest) -> Self {
        let mut params = target.params.clone();
        for (key, value) in &request.params {
            params.insert(key.clone(), value.clone());
        }
        let set = ["maxTokens", "max_tokens"]
            .iter()
            .find_map(|key| params.get(*key)?.as_u64());
        let mut rest = OpenMap::new();
        for extra in ["extraBody", "extra_body"] {
            if let Some(Value::Object(extra)) = params.get(extra) {
                rest.extend(extra.clone());
            }
        }
        for (key, value) in params {
            if !OURS.contains(&key.as_str()) && !value.is_null() {
                rest.insert(key, value);
            }
        }
        rest.retain(|key, value| {
            // A word is our own level of thinking, an object is the endpoint's.
            let level = key == "thinking" && value.is_string();
            !level && !OURS.contains(&key.as_str())
        });
        Self {
            max_tokens: request
                .max_tokens
                .or(set)
                .map(|tokens| tokens.min(target.info.max_tokens.unwrap_or(u64::MAX)))
                .or_else(|| limit_of(target)),
            retention: request
                .cache
                .retention
                .unwrap_or_else(|| target.cache_retention()),
            rest,
        }
    }

    /// Takes a parameter out of the rest, under any of its names.
    pub fn take(&mut self, names: &[&str]) -> Option<Value> {
        names
            .iter()
            .filter_map(|name| self.rest.remove(*name))
            .next()
    }

    /// OpenAI's reasoning models refuse a request that sets these, rather than ignore them.
    pub fn drop_sampling(&mut self, target: &ModelTarget) {
        if target.info.reasoning
            && matches!(
                target.family(),
                EndpointFamily::OpenAi | EndpointFamily::Azure
            )
        {
            self.take(&["temperature"]);
            self.take(&["top_p"]);
        }
    }

    /// Puts the rest into a body.
    pub fn pour(self, body: &mut Map<String, Value>) {
        for (key, value) in self.rest {
            match (body.get_mut(&key), value) {
                (Some(Value::Object(under)), Value::Object(over)) => under.extend(over),
                (_, value) => {
                    body.insert(key, value);
                }
            }
        }
    }
}

/// These servers go on for ever unless told when to stop, and small models do.
fn limit_of(target: &ModelTarget) -> Option<u64> {
    match target.family() {
        EndpointFamily::LlamaCpp | EndpointFamily::Ollama | EndpointFamily::LmStudio => Some(
            target
                .info
                .max_tokens
                .or(target.info.context_window.map(|window| window / 2))
                .unwrap_or(8_192),
        ),
        // What the operator wrote down is meant.
        _ if target.info.source == InfoSource::Config => {
            /// However much a model could say, one answer is shorter.
            const LONGEST: u64 = 32_000;
            target.info.max_tokens.map(|tokens| tokens.min(LONGEST))
        }
        _ => None,
    }
}

/// The window an Ollama server is asked to run the model with: left alone it takes a few thousand
/// tokens and silently drops the rest.
pub fn num_ctx(target: &ModelTarget, knobs: &mut RequestKnobs) -> u64 {
    const USUAL: u64 = 16_384;
    knobs
        .take(&["num_ctx", "numCtx"])
        .and_then(|value| value.as_u64())
        .or(target.info.context_window)
        .unwrap_or(USUAL)
}
