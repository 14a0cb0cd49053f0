//! With nothing configured: what answers on this machine, and which keys lie in the environment.

use std::sync::Arc;
use std::time::Duration;

use chela_core::{ok_or_debug, ok_or_warn};
use tokio::task::JoinSet;

use crate::api::EndpointFamily;
use crate::provider::ModelProvider;
use crate::server::{ServerInquiry, learn_from_server};
use crate::{ModelHttp, ModelTarget, Models};

/// What was found.
#[derive(Debug, Clone)]
pub struct FoundModels {
    /// Usable models, best first: what runs on this machine, then what there are keys for.
    pub models: Vec<FoundModel>,
}

/// A model that could be used, and how it was found.
#[derive(Debug, Clone)]
pub struct FoundModel {
    pub target: ModelTarget,
    /// In a few words: `Ollama at 127.0.0.1:11434, 3 models`, `the key in ANTHROPIC_API_KEY`.
    pub why: String,
}

/// What to do when nothing was found: two lines.
pub const HOW_TO_GET_ONE: &str = include_str!("../text/no-model.txt");

/// A server on this machine answers at once or not at all.
const PROBE: Duration = Duration::from_millis(300);

/// Somebody waits for the list of an endpoint elsewhere.
const LIST_WAIT: Duration = Duration::from_secs(4);

/// Looks for servers on this machine, all at the same time, then for keys.
pub async fn discover(http: &ModelHttp, models: &Models) -> FoundModels {
    let mut probes = JoinSet::new();
    for (order, provider) in models.local_providers().enumerate() {
        let (http, provider) = (http.clone(), provider.clone());
        probes.spawn(async move { (order, served(&http, &provider).await, provider) });
    }
    let mut servers: Vec<(usize, Vec<String>, Arc<ModelProvider>)> = Vec::new();
    while let Some(probed) = probes.join_next().await {
        if let Some((order, Some(names), provider)) = ok_or_warn!(probed, "a probe failed") {
            servers.push((order, names, provider));
        }
    }
    servers.sort_by_key(|(order, ..)| *order);
    let mut found = Vec::new();
    for (_, names, provider) in servers {
        let Some(name) = pick(&names) else {
            tracing::debug!(provider = provider.id, "a server has no model to talk with");
            continue;
        };
        let target = models.target_at(&provider, name);
        let Some(target) = ok_or_debug!(target, "a model that was found cannot be used", name)
        else {
            continue;
        };
        found.push(FoundModel {
            why: format!(
                "{} at {}, {}",
                called(&target),
                address(&provider.base_url),
                match names.len() {
                    1 => "1 model".to_owned(),
                    count => format!("{count} models"),
                }
            ),
            target: learn_from_server(http, target).await,
        });
    }
    found.extend(
        models
            .with_keys()
            .into_iter()
            .map(|(target, key)| FoundModel {
                target,
                why: format!("the key in {key}"),
            }),
    );
    let names = found.iter().map(|found| found.target.reference());
    tracing::info!(models = ?names.collect::<Vec<_>>(), "models found without a config");
    FoundModels { models: found }
}

/// The models that endpoints say they have, by the name of the provider: those on this machine, and
/// those the config uses. With a name only that provider is asked.
pub async fn served_models(
    http: &ModelHttp,
    models: &Models,
    only: Option<&str>,
) -> Vec<(String, Vec<String>)> {
    let mut questions = JoinSet::new();
    for (order, provider) in models.reachable_providers(only).enumerate() {
        let (http, provider) = (http.clone(), provider.clone());
        let wait = if provider.is_local() {
            PROBE
        } else {
            LIST_WAIT
        };
        questions.spawn(async move {
            let inquiry = ServerInquiry::begin(&http, &provider, wait).await;
            let names = match &inquiry {
                Some(inquiry) => inquiry.model_names().await,
                None => None,
            };
            (order, provider.id.clone(), names)
        });
    }
    let mut served = Vec::new();
    while let Some(answer) = questions.join_next().await {
        if let Some((order, id, Some(names))) = ok_or_warn!(answer, "a list of models failed") {
            served.push((order, id, names));
        }
    }
    served.sort_by_key(|(order, ..)| *order);
    served
        .into_iter()
        .map(|(_, id, names)| (id, names))
        .collect()
}

/// The models a server has; `None` when nobody answers there.
async fn served(http: &ModelHttp, provider: &ModelProvider) -> Option<Vec<String>> {
    let inquiry = ServerInquiry::begin(http, provider, PROBE).await?;
    inquiry.model_names().await
}

/// The first one that can hold a conversation; servers put the one used last in front.
fn pick(names: &[String]) -> Option<&str> {
    let embeds = |name: &&String| {
        let name = name.to_ascii_lowercase();
        ["embed", "bge-", "minilm", "rerank", "whisper", "tts"]
            .iter()
            .any(|word| name.contains(word))
    };
    names.iter().find(|name| !embeds(name)).map(String::as_str)
}

fn called(target: &ModelTarget) -> &str {
    match target.family() {
        EndpointFamily::Ollama => "Ollama",
        EndpointFamily::LmStudio => "LM Studio",
        EndpointFamily::LlamaCpp => "llama.cpp",
        EndpointFamily::Vllm => "vLLM",
        _ => &target.provider.id,
    }
}

/// Host and port.
fn address(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests;
