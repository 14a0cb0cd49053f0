//! What config and prompt say, held to what the binary does: every request is read from the wire.

mod config;
mod prompt;
mod prompt_lint;
mod words;

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::scene::{APIS, ScriptedHome};

/// A home whose model answers anything, with more in its config.
fn answering(more: Value) -> ScriptedHome {
    ScriptedHome::without_canary(APIS[0], always("Heard."), more)
}

fn always(reply: &str) -> EndpointScript {
    EndpointScript {
        otherwise: Some(ScriptStep::reply(reply)),
        ..EndpointScript::default()
    }
}

/// Everything the newest request said: its messages, one after the other.
fn sent(scene: &ScriptedHome) -> String {
    let calls = scene.endpoint.calls();
    let body = calls.last().map(|call| call.json()).unwrap_or_default();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let texts = messages.iter().map(|message| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The system prompt of the newest request.
fn system(scene: &ScriptedHome) -> String {
    let calls = scene.endpoint.calls();
    let body = calls.last().map(|call| call.json()).unwrap_or_default();
    body["messages"][0]["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The names of the tools of the newest request.
fn offered(scene: &ScriptedHome) -> Vec<String> {
    let calls = scene.endpoint.calls();
    let body = calls.last().map(|call| call.json()).unwrap_or_default();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
    tools.iter().filter_map(name).collect()
}

fn defaults(settings: Value) -> Value {
    json!({ "agents": { "defaults": settings } })
}
