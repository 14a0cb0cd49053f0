//! What is known about a model.

use serde::Serialize;

use crate::{EndpointCompat, ModelApi, Prices};

/// A model and what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// `provider/model`.
    pub reference: String,
    pub provider: String,
    /// Its name at the endpoint.
    pub id: String,
    /// Its name for people.
    pub name: String,
    pub api: ModelApi,
    /// Tokens of context, as far as they may be used.
    pub context_window: Option<u64>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u64>,
    pub input: Vec<ModelInput>,
    /// It thinks before it answers.
    pub reasoning: bool,
    pub cost: Option<Prices>,
    #[serde(skip)]
    pub compat: EndpointCompat,
    pub source: InfoSource,
}

impl ModelInfo {
    pub fn reads(&self, input: ModelInput) -> bool {
        self.input.contains(&input)
    }
}

/// What a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelInput {
    Text,
    Image,
}

/// Where the figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum InfoSource {
    Config,
    /// Chela's own table.
    Table,
    /// The server said so.
    Server,
    /// The server said so when it was asked last.
    Remembered,
    /// Nobody knows this model.
    Unknown,
}
