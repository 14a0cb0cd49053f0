//! What a server on this machine says about the model it runs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ask;
use crate::api::Family;
use crate::{Http, InfoSource, Input, ModelInfo, Target, ToolMode};

/// The server may be busy with a prompt; a turn can spare this much once.
const WAIT: Duration = Duration::from_millis(1_000);
/// What Ollama is asked to run a model with at most: larger windows cost memory by the gigabyte.
/// `contextWindow` in the config says otherwise.
const OLLAMA_WINDOW: u64 = 32_768;

/// The target with what its server says: context window, pictures, tools. What the config says
/// stays; endpoints elsewhere are not asked.
pub async fn learn(http: &Http, mut target: Target) -> Target {
    if !target.is_local() || target.info.context_window.is_some() {
        return target;
    }
    let Ok(credentials) = target.provider.credentials().await else {
        return target;
    };
    let (key, id) = (credentials.key.as_ref(), target.info.id.as_str());
    let provider = &target.provider;
    let mut info: ModelInfo = (*target.info).clone();
    match target.family() {
        Family::Ollama => {
            if let Some(told) = ask::show(http, provider, id, key, WAIT).await {
                of_ollama(&told, &mut info);
            }
        }
        Family::LlamaCpp => {
            if let Some(told) = ask::props(http, provider, key, WAIT).await {
                of_llama_cpp(&told, &mut info);
            }
        }
        _ => {
            if let Some(told) = ask::listed(http, provider, id, key, WAIT).await {
                of_list(&told, &mut info);
            }
        }
    }
    if info.context_window.is_some() {
        info.source = InfoSource::Server;
        target.info = Arc::new(info);
    }
    target
}

fn of_ollama(told: &Value, info: &mut ModelInfo) {
    let window = told["model_info"]
        .as_object()
        .into_iter()
        .flatten()
        .find(|(key, _)| key.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64());
    info.context_window = window.map(|window| window.min(OLLAMA_WINDOW));
    let Some(can) = told["capabilities"].as_array() else {
        return;
    };
    let has = |word: &str| can.iter().any(|capability| capability == word);
    info.reasoning = has("thinking");
    info.compat.tools = has("tools");
    see(info, has("vision"));
}

fn of_llama_cpp(told: &Value, info: &mut ModelInfo) {
    let settings = &told["default_generation_settings"];
    info.context_window = settings["n_ctx"].as_u64();
    see(info, told["modalities"]["vision"].as_bool() == Some(true));
    // A template without tools makes the server ignore them silently.
    let knows_tools = told["chat_template"]
        .as_str()
        .is_none_or(|template| template.contains("tools"));
    if !knows_tools && info.compat.tool_mode.is_none() {
        info.compat.tool_mode = Some(ToolMode::Constrained);
    }
}

fn of_list(told: &Value, info: &mut ModelInfo) {
    let places = [
        &told["max_model_len"],
        &told["loaded_context_length"],
        &told["max_context_length"],
        &told["meta"]["n_ctx"],
        &told["meta"]["n_ctx_train"],
        &told["context_length"],
    ];
    info.context_window = places.into_iter().find_map(Value::as_u64);
    if told["type"] == "vlm" {
        see(info, true);
    }
}

fn see(info: &mut ModelInfo, sees: bool) {
    info.input = if sees {
        vec![Input::Text, Input::Image]
    } else {
        vec![Input::Text]
    };
}
