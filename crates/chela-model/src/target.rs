//! A model that can be called: an endpoint, what is known about the model, and its parameters.

use std::sync::Arc;
use std::time::Duration;

use chela_config::model::OpenMap;
use chela_core::ok_or_debug;
use serde_json::Value;

use crate::api::EndpointFamily;
use crate::provider::ModelProvider;
use crate::{CacheRetention, FormReader, ModelApi, ModelInfo, PromptProfile, ToolMode, profile};

/// A model that can be called.
#[derive(Debug, Clone)]
pub struct ModelTarget {
    pub(crate) provider: Arc<ModelProvider>,
    pub(crate) info: Arc<ModelInfo>,
    /// Merged from provider, model, defaults and agent; a request's own win.
    pub(crate) params: OpenMap,
    /// For one call, from the agent's `model.timeoutMs`.
    pub(crate) call_timeout: Option<Duration>,
}

impl ModelTarget {
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// `provider/model`.
    pub fn reference(&self) -> &str {
        &self.info.reference
    }

    /// The endpoint, for hints about it.
    pub fn base_url(&self) -> &str {
        &self.provider.base_url
    }

    /// Fetches its key if it is not fetched yet, so that it is known before anything is sent. What
    /// goes wrong is told when the model is called.
    pub async fn fetch_key(&self) {
        let fetched = self.provider.credentials().await;
        ok_or_debug!(fetched, "no key yet", provider = self.provider.id);
    }

    /// Where its key comes from, in a few words.
    pub fn key_from(&self) -> Option<String> {
        self.provider.key.describe()
    }

    /// Whether the endpoint is on this machine or in a private network.
    pub fn is_local(&self) -> bool {
        self.provider.is_local()
    }

    /// The prompt that suits this model.
    pub fn prompt_profile(&self) -> PromptProfile {
        profile::profile_for(&self.info)
    }

    /// How this model is best told to call tools.
    pub fn tool_mode(&self) -> ToolMode {
        profile::tool_mode(&self.info, self.family())
    }

    /// Who reads the form that its answers are held to.
    pub fn form_reader(&self) -> FormReader {
        profile::form_reader(self.family())
    }

    /// Whether a call of a tool that does not stand among those of the request can be made: hosted
    /// models write the name they were told of, local servers hold the answer to the list.
    pub fn takes_calls_by_name(&self) -> bool {
        matches!(
            self.family(),
            EndpointFamily::OpenAi | EndpointFamily::Azure | EndpointFamily::Anthropic
        )
    }

    pub(crate) fn family(&self) -> EndpointFamily {
        self.provider.family(self.info.api)
    }

    /// What is asked of the endpoint's cache unless a request says otherwise: `cacheRetention`
    /// of the parameters, else what suits the endpoint. Strangers that speak like Anthropic get
    /// no marks they may not know.
    pub fn cache_retention(&self) -> CacheRetention {
        let set = self.params.get("cacheRetention").and_then(Value::as_str);
        if let Some(retention) = set.and_then(CacheRetention::named) {
            return retention;
        }
        match (self.info.api, self.family()) {
            (ModelApi::AnthropicMessages, EndpointFamily::Anthropic) => CacheRetention::Short,
            (ModelApi::AnthropicMessages, _) => CacheRetention::None,
            _ => CacheRetention::Short,
        }
    }

    pub(crate) fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.call_timeout = timeout;
        self
    }
}
