//! Questions a server on this machine answers about itself.

use std::time::Duration;

use chela_core::ok_or_debug;
use serde_json::Value;

use crate::api::Family;
use crate::key::Key;
use crate::provider::Provider;
use crate::wire::ollama_root;
use crate::{Api, Http};

/// No honest list is longer.
const MOST_BYTES: usize = 4 << 20;

/// The names of the models a server has; `None` when nobody answers, or somebody else.
pub async fn models(
    http: &Http,
    provider: &Provider,
    key: Option<&Key>,
    wait: Duration,
) -> Option<Vec<String>> {
    let api = provider.api.as_ref().ok().copied()?;
    let names = |list: &Value, field: &str| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items
            .filter_map(|item| item[field].as_str().map(str::to_owned))
            .collect()
    };
    if api == Api::Ollama {
        let url = format!("{}/api/tags", ollama_root(&provider.base_url));
        let tags = get(http, &url, key, wait).await?;
        return tags["models"]
            .is_array()
            .then(|| names(&tags["models"], "name"));
    }
    // A web application on the usual port is no model server: this one must know itself.
    if provider.family(api) == Family::LlamaCpp {
        let props = props(http, provider, key, wait).await?;
        props.get("default_generation_settings")?;
    }
    let list = get(http, &format!("{}/models", versioned(provider)), key, wait).await?;
    list["data"].is_array().then(|| names(&list["data"], "id"))
}

/// llama.cpp's own account of what it runs.
pub async fn props(
    http: &Http,
    provider: &Provider,
    key: Option<&Key>,
    wait: Duration,
) -> Option<Value> {
    let url = format!("{}/props", ollama_root(&provider.base_url));
    get(http, &url, key, wait).await
}

/// Ollama's account of one model.
pub async fn show(
    http: &Http,
    provider: &Provider,
    model: &str,
    key: Option<&Key>,
    wait: Duration,
) -> Option<Value> {
    let url = format!("{}/api/show", ollama_root(&provider.base_url));
    let body = serde_json::json!({"model": model}).to_string();
    fetch(http, &url, Some(body), key, wait).await
}

/// One entry of the list of models.
pub async fn listed(
    http: &Http,
    provider: &Provider,
    model: &str,
    key: Option<&Key>,
    wait: Duration,
) -> Option<Value> {
    // LM Studio tells more at its own address.
    let own = match provider.family(Api::OpenAiCompletions) {
        Family::LmStudio => format!("{}/api/v0/models", ollama_root(&provider.base_url)),
        _ => format!("{}/models", versioned(provider)),
    };
    let list = get(http, &own, key, wait).await?;
    let entries = list["data"].as_array()?;
    entries.iter().find(|entry| entry["id"] == model).cloned()
}

async fn get(http: &Http, url: &str, key: Option<&Key>, wait: Duration) -> Option<Value> {
    fetch(http, url, None, key, wait).await
}

async fn fetch(
    http: &Http,
    url: &str,
    body: Option<String>,
    key: Option<&Key>,
    wait: Duration,
) -> Option<Value> {
    let client = ok_or_debug!(
        http.client(url),
        "a server cannot be asked about its models",
        url
    )?;
    let mut request = match body {
        Some(body) => client
            .post(url)
            .header("content-type", "application/json")
            .body(body),
        None => client.get(url),
    };
    if let Some(key) = key {
        request = request.bearer_auth(key.expose());
    }
    let answer = async {
        let sent = request.send().await.map_err(reqwest::Error::without_url);
        let mut response = ok_or_debug!(sent, "nobody answers about models", url)?;
        if !response.status().is_success() {
            tracing::debug!(
                url,
                status = response.status().as_u16(),
                "no answer about models"
            );
            return None;
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return None;
            }
        }
        ok_or_debug!(
            serde_json::from_slice(&bytes),
            "the answer about models is not JSON",
            url
        )
    };
    tokio::time::timeout(wait, answer).await.ok()?
}

fn versioned(provider: &Provider) -> String {
    let base = provider.base_url.trim_end_matches('/');
    let path = base.split_once("://").map_or(base, |(_, rest)| rest);
    if path.contains('/') {
        base.to_owned()
    } else {
        format!("{base}/v1")
    }
}
