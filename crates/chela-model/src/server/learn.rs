//! What a server on this machine says about the model it runs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ServerInquiry;
use crate::api::EndpointFamily;
use crate::{InfoSource, ModelHttp, ModelInfo, ModelInput, ModelTarget, ToolMode};

/// The server may be busy with a prompt; a turn can spare this much once.
const WAIT: Duration = Duration::from_millis(1_000);
/// What Ollama is asked to run a model with at most: larger windows cost memory by the gigabyte.
/// `contextWindow` in the config says otherwise.
const OLLAMA_WINDOW: u64 = 32_768;

/// The target with what its server says: context window, pictures, tools. What the config says
/// stays; endpoints elsewhere are not asked.
#[must_use]
pub async fn learn_from_server(http: &ModelHttp, mut target: ModelTarget) -> ModelTarget {
    let is_known =
        target.info.context_window.is_some() && target.info.source != InfoSource::Remembered;
    if !target.is_local() || is_known {
        return target;
    }
    match told_by_server(http, &target).await {
        Some(info) => target.info = Arc::new(info),
        None => tracing::debug!(
            model = target.info.reference,
            "a local server does not say how long a conversation its model can hold"
        ),
    }
    target
}

async fn told_by_server(http: &ModelHttp, target: &ModelTarget) -> Option<ModelInfo> {
    let inquiry = ServerInquiry::begin(http, &target.provider, WAIT).await?;
    let mut info = (*target.info).clone();
    match target.family() {
        EndpointFamily::Ollama => of_ollama(&inquiry.show(&info.id).await?, &mut info),
        EndpointFamily::LlamaCpp => of_llama_cpp(&inquiry.props().await?, &mut info),
        _ => of_list(&inquiry.listed(&info.id).await?, &mut info),
    }
    info.context_window?;
    info.source = InfoSource::Server;
    Some(info)
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
    let (settings, modalities) = (&told["default_generation_settings"], &told["modalities"]);
    info.context_window = settings["n_ctx"].as_u64();
    see(info, modalities["vision"].as_bool() == Some(true));
    // A template without tools makes the server ignore them silently.
    let knows_tools = told["chat_template"]
        .as_str()
        .is_none_or(|template| template.contains("tools"));
    if !knows_tools && info.compat.tool_mode.is_none() {
        info.compat.tool_mode = Some(ToolMode::Constrained);
    }
}

fn of_list(told: &Value, info: &mut ModelInfo) {
    let meta = &told["meta"];
    let places = [
        &told["max_model_len"],
        &told["loaded_context_length"],
        &told["max_context_length"],
        &meta["n_ctx"],
        &meta["n_ctx_train"],
        &told["context_length"],
    ];
    info.context_window = places.into_iter().find_map(Value::as_u64);
    if told["type"] == "vlm" {
        see(info, true);
    }
}

fn see(info: &mut ModelInfo, sees: bool) {
    info.input = if sees {
        vec![ModelInput::Text, ModelInput::Image]
    } else {
        vec![ModelInput::Text]
    };
}
