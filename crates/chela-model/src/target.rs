//! A model that can be called: an endpoint, what is known about the model, and its parameters.

use std::sync::Arc;
use std::time::Duration;

use chela_config::model::OpenMap;
use chela_core::ok_or_debug;
use serde_json::Value;

use crate::api::Family;
use crate::provider::Provider;
use crate::{
    Api, CacheRetention, EncodedRequest, Event, Http, ModelError, ModelInfo, PromptProfile,
    Request, Response, ToolMode, profile,
};

/// A model that can be called.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) provider: Arc<Provider>,
    pub(crate) info: Arc<ModelInfo>,
    /// Merged from provider, model, defaults and agent; a request's own win.
    pub(crate) params: OpenMap,
    /// For one call, from the agent's `model.timeoutMs`.
    pub(crate) call_timeout: Option<Duration>,
}

impl Target {
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

    pub(crate) fn family(&self) -> Family {
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
            (Api::AnthropicMessages, Family::Anthropic) => CacheRetention::Short,
            (Api::AnthropicMessages, _) => CacheRetention::None,
            _ => CacheRetention::Short,
        }
    }

    /// The request as this model gets it, told to call tools in the way that suits it.
    pub(crate) fn encode(&self, request: &Request) -> EncodedRequest {
        let tool_mode = self.tool_mode();
        if request.tool_mode == tool_mode {
            return EncodedRequest::of(self, request);
        }
        let adapted = Request {
            tool_mode,
            ..request.clone()
        };
        EncodedRequest::of(self, &adapted)
    }

    /// Calls the model once, in the mode the request names. Dropping the future ends the call.
    pub async fn stream(
        &self,
        http: &Http,
        request: &Request,
        sink: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Response, ModelError> {
        let encoded = EncodedRequest::of(self, request);
        crate::call::stream(self, http, request, &encoded, sink).await
    }

    /// With what its server says about the model, where the config does not: see
    /// [`crate::Models::learn`].
    #[must_use]
    pub async fn learned(self, http: &Http) -> Self {
        crate::discover::learn(http, self).await
    }

    pub(crate) fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.call_timeout = timeout;
        self
    }
}
