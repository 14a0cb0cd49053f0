//! What is known about a model.

use serde::Serialize;

use crate::{Api, Compat, Usage};

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
    pub api: Api,
    /// Tokens of context, as far as they may be used.
    pub context_window: Option<u64>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u64>,
    pub input: Vec<Input>,
    /// It thinks before it answers.
    pub reasoning: bool,
    pub cost: Option<Cost>,
    #[serde(skip)]
    pub compat: Compat,
    pub source: InfoSource,
}

impl ModelInfo {
    pub fn reads(&self, input: Input) -> bool {
        self.input.contains(&input)
    }
}

/// What a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
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
    /// Nobody knows this model.
    Unknown,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

impl Cost {
    /// What a call cost, in US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let fresh = usage
            .input
            .saturating_sub(usage.cache_read)
            .saturating_sub(usage.cache_write);
        let parts = [
            (fresh, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below 2^52"
        )]
        parts
            .into_iter()
            .map(|(tokens, price)| tokens as f64 * price / 1e6)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Cost;
    use crate::Usage;

    #[test]
    fn cached_input_costs_less() {
        let cost = Cost {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
        };
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 900_000,
            cache_write: 50_000,
            ..Usage::default()
        };
        let dollars = cost.of(&usage);
        assert!(
            (dollars - (0.15 + 1.5 + 0.27 + 0.1875)).abs() < 1e-9,
            "{dollars}"
        );
    }
}
