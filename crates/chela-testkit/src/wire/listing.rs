//! The routes around a model call: which models there are, what they can take, embeddings.

use serde_json::{Value, json};

use super::CREATED;
use crate::http::HttpRequest;
use crate::model_call::CallFormat;
use crate::prefix;
use crate::script::EndpointScript;

/// What a server says about its window when the script does not.
const WINDOW: u64 = 32_768;
/// Length of a made-up embedding.
const DIMENSIONS: usize = 64;

/// The answer of a route that is not a model call; none when there is no such route.
pub fn listing(script: &EndpointScript, request: &HttpRequest) -> Option<Value> {
    let body = request.json();
    let window = script.context_window.unwrap_or(WINDOW);
    let names = names(script);
    let path = request.route();
    let is = |method: &str, end: &str| request.method == method && path.ends_with(end);
    if is("GET", "/v1beta/models") {
        Some(json!({ "models": names.iter().map(|name| gemini(name, window)).collect::<Vec<_>>() }))
    } else if is("GET", "/models") {
        let models: Vec<Value> = names.iter().map(|name| openai(name, window)).collect();
        Some(json!({ "object": "list", "data": models, "has_more": false }))
    } else if is("GET", "/api/tags") {
        let models: Vec<Value> = names.iter().map(|name| ollama(name)).collect();
        Some(json!({ "models": models }))
    } else if is("GET", "/api/version") {
        Some(json!({ "version": "0.0.0-testkit" }))
    } else if is("POST", "/api/show") {
        Some(json!({
            "details": { "family": "testkit", "parameter_size": "0B" },
            "model_info": {
                "general.architecture": "testkit",
                "testkit.context_length": window,
            },
            "capabilities": ["completion", "tools"],
        }))
    } else if is("GET", "/props") {
        Some(json!({
            "default_generation_settings": { "n_ctx": window },
            "total_slots": 1,
            "model_path": format!("{}.gguf", names[0]),
            "chat_template": "{% if tools %}{% endif %}",
        }))
    } else if is("POST", "/messages/count_tokens") {
        Some(json!({ "input_tokens": prefix::count(CallFormat::Anthropic, &body) }))
    } else if is("POST", "/embeddings") {
        Some(openai_embeddings(&body))
    } else if is("POST", "/api/embed") {
        let vectors: Vec<Vec<f32>> = inputs(&body).iter().map(|text| embedding(text)).collect();
        Some(json!({ "model": body["model"], "embeddings": vectors }))
    } else {
        None
    }
}

fn names(script: &EndpointScript) -> Vec<String> {
    match script.models.as_slice() {
        [] => vec!["scripted".to_owned()],
        models => models.to_vec(),
    }
}

fn openai(name: &str, window: u64) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "testkit",
        "max_model_len": window,
        "meta": { "n_ctx_train": window },
    })
}

fn gemini(name: &str, window: u64) -> Value {
    json!({
        "name": format!("models/{name}"),
        "displayName": name,
        "inputTokenLimit": window,
        "outputTokenLimit": window,
        "supportedGenerationMethods": ["generateContent"],
    })
}

fn ollama(name: &str) -> Value {
    json!({
        "name": name,
        "model": name,
        "modified_at": "2026-01-01T00:00:00Z",
        "size": 0,
        "details": { "family": "testkit", "parameter_size": "0B" },
    })
}

fn openai_embeddings(body: &Value) -> Value {
    let texts = inputs(body);
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({ "object": "embedding", "index": index, "embedding": embedding(text) })
        })
        .collect();
    let tokens: u64 = texts.iter().map(|text| prefix::tokens(text.len())).sum();
    json!({
        "object": "list",
        "data": data,
        "model": body["model"],
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })
}

fn inputs(body: &Value) -> Vec<String> {
    match &body["input"] {
        Value::Array(texts) => texts
            .iter()
            .map(|text| text.as_str().unwrap_or_default().to_owned())
            .collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Texts that share words are near each other; the same text has the same vector.
fn embedding(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        // FNV-1a: the same on every machine.
        let hash = word
            .to_lowercase()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let at = usize::try_from(hash % DIMENSIONS as u64).unwrap_or(0);
        vector[at] += 1.0;
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1.0);
    vector.iter().map(|x| x / length).collect()
}
