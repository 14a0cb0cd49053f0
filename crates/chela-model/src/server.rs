//! Questions a server on this machine answers about itself.

mod learn;
mod remembered;

use std::time::Duration;

use chela_core::ok_or_debug;
use serde_json::Value;

pub use learn::learn_from_server;
pub use remembered::RememberedAnswers;

use crate::api::EndpointFamily;
use crate::key::ModelKey;
use crate::provider::ModelProvider;
use crate::{ModelApi, ModelHttp, ModelTarget};

/// No honest list is longer.
const MOST_BYTES: usize = 4 << 20;

/// Somebody who asks one server, and for how long they wait for each answer.
pub struct ServerInquiry<'a> {
    http: &'a ModelHttp,
    provider: &'a ModelProvider,
    key: Option<ModelKey>,
    wait: Duration,
}

impl<'a> ServerInquiry<'a> {
    /// `None` when its key cannot be fetched.
    pub async fn begin(
        http: &'a ModelHttp,
        provider: &'a ModelProvider,
        wait: Duration,
    ) -> Option<Self> {
        let credentials = provider.credentials().await;
        let credentials = ok_or_debug!(credentials, "no key for a server", provider = provider.id)?;
        Some(Self {
            http,
            provider,
            key: credentials.key.clone(),
            wait,
        })
    }

    /// The names of the models it has; `None` when nobody answers, or somebody else.
    pub async fn model_names(&self) -> Option<Vec<String>> {
        let api = self.provider.api.as_ref();
        let api = *ok_or_debug!(api, "a server speaks a protocol that is not known")?;
        // A web application on the usual port is no model server: this one must know itself.
        if api != ModelApi::Ollama && self.provider.family(api) == EndpointFamily::LlamaCpp {
            self.props().await?.get("default_generation_settings")?;
        }
        let (told, list, name) = match api {
            ModelApi::Ollama => (self.get("/api/tags").await?, "models", "name"),
            ModelApi::GoogleGenerativeAi => {
                let url = format!("{}/models?pageSize=200", self.provider.base_url);
                (self.fetch(&url, None).await?, "models", "name")
            }
            _ => (self.list().await?, "data", "id"),
        };
        let models = told.get(list)?.as_array()?.iter();
        let names = models.filter_map(|model| model[name].as_str());
        // Google puts the kind before the name.
        let names = names.map(|name| name.strip_prefix("models/").unwrap_or(name).to_owned());
        Some(names.collect())
    }

    /// llama.cpp's own account of what it runs.
    async fn props(&self) -> Option<Value> {
        self.get("/props").await
    }

    /// Ollama's account of one model.
    async fn show(&self, model: &str) -> Option<Value> {
        let url = format!("{}/api/show", self.provider.server_root());
        let body = serde_json::json!({"model": model}).to_string();
        self.fetch(&url, Some(body)).await
    }

    /// One entry of the list of models.
    async fn listed(&self, model: &str) -> Option<Value> {
        let list = match self.provider.family(ModelApi::OpenAiCompletions) {
            // It tells more at its own address.
            EndpointFamily::LmStudio => self.get("/api/v0/models").await?,
            _ => self.list().await?,
        };
        let entries = list.get("data")?.as_array()?;
        entries.iter().find(|entry| entry["id"] == model).cloned()
    }

    async fn list(&self) -> Option<Value> {
        let url = format!("{}/models", self.provider.versioned_url("v1"));
        self.fetch(&url, None).await
    }

    async fn get(&self, path: &str) -> Option<Value> {
        let url = format!("{}{path}", self.provider.server_root());
        self.fetch(&url, None).await
    }

    async fn fetch(&self, url: &str, body: Option<String>) -> Option<Value> {
        let client = ok_or_debug!(
            self.http.client(url),
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
        if let Some(key) = &self.key {
            request = match self.provider.api {
                Ok(ModelApi::AnthropicMessages) => request
                    .header("x-api-key", key.expose())
                    .header("anthropic-version", "2023-06-01"),
                Ok(ModelApi::GoogleGenerativeAi) => request.header("x-goog-api-key", key.expose()),
                _ => request.bearer_auth(key.expose()),
            };
        }
        let answer = async {
            let sent = request.send().await.map_err(reqwest::Error::without_url);
            let mut response = ok_or_debug!(sent, "nobody answers about models", url)?;
            let status = response.status().as_u16();
            if !response.status().is_success() {
                tracing::debug!(url, status, "no answer about models");
                return None;
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = ok_or_debug!(
                response.chunk().await,
                "an answer about models broke off",
                url
            )? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > MOST_BYTES {
                    tracing::debug!(url, "the answer about models is too long");
                    return None;
                }
            }
            ok_or_debug!(
                serde_json::from_slice(&bytes),
                "the answer about models is not JSON",
                url
            )
        };
        let in_time = tokio::time::timeout(self.wait, answer).await;
        ok_or_debug!(in_time, "no answer about models in time", url)?
    }
}

/// The models an endpoint says it has, in its order; `None` where it does not say.
pub async fn list_models(http: &ModelHttp, target: &ModelTarget) -> Option<Vec<String>> {
    const PATIENCE: Duration = Duration::from_secs(15);
    let inquiry = ServerInquiry::begin(http, &target.provider, PATIENCE).await?;
    inquiry.model_names().await
}
