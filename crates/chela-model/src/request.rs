//! What a model is asked.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::ModelMessage;

/// One request, in the terms every endpoint shares.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelRequest {
    pub system: SystemText,
    /// Most of them were sent before: they are shared, not copied.
    pub messages: Vec<Arc<ModelMessage>>,
    /// In the order they are sent; the order is part of the cached prefix.
    pub tools: Vec<ToolSchema>,
    pub tool_mode: ToolMode,
    /// Names of tools, one of which the answer has to call; none: as the model likes. Ollama's
    /// endpoints and constrained answers know no such thing.
    pub must_call: Vec<String>,
    pub thinking: ThinkingEffort,
    pub max_tokens: Option<u64>,
    pub cache: CacheRequest,
    /// Parameters of the config, sent as they are.
    pub params: Map<String, Value>,
}

impl ModelRequest {
    /// Without tools there is nothing to be held to.
    pub(crate) fn effective_mode(&self) -> ToolMode {
        if self.tools.is_empty() {
            ToolMode::Native
        } else {
            self.tool_mode
        }
    }
}

/// The system prompt on both sides of the cache boundary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemText {
    pub stable: String,
    /// Empty when the volatile zone travels with the newest message.
    pub tail: String,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments: an object.
    pub parameters: Arc<Value>,
}

/// How a model is told to call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolMode {
    /// The endpoint's own tool calls.
    #[default]
    Native,
    /// The answer is constrained to a JSON object that is a tool call or a reply: for small local
    /// models whose template knows no tools.
    Constrained,
}

/// How long the model thinks first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThinkingEffort {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
}

/// What is asked of the endpoint's prefix cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheRequest {
    /// `None`: as the config of the model says, see [`crate::ModelTarget::cache_retention`].
    pub retention: Option<CacheRetention>,
    /// Requests with the same key share a prefix: one per session.
    pub key: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheRetention {
    None,
    #[default]
    Short,
    Long,
}

impl CacheRetention {
    /// The word in the config.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "short" => Some(Self::Short),
            "long" => Some(Self::Long),
            _ => None,
        }
    }
}
