//! What known embedding models cost, how long their vectors are, and how much they take at once.

use crate::embed::EmbedPrice;

/// A model of a service. What it costs is as remembered in 2026 and may have changed: good for
/// saying how much is about to be spent, not for keeping accounts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownModel {
    pub provider: &'static str,
    pub model: &'static str,
    /// The length of its vectors unless another is asked for.
    pub dimensions: usize,
    /// US cents for a million tokens.
    pub cents_per_million: f64,
}

/// What a token costs, where that is known. A program on one's own machine asks nothing.
pub fn price_of(provider: &str, model: &str) -> EmbedPrice {
    match known_model(provider, model) {
        Some(known) if known.cents_per_million > 0.0 => {
            EmbedPrice::About(known.cents_per_million * 1_000.0 / 1_000_000.0)
        }
        Some(_) => EmbedPrice::Free,
        None if provider == "lmstudio" => EmbedPrice::Free,
        None => EmbedPrice::Unknown,
    }
}

const KNOWN: [KnownModel; 11] = [
    known("openai", "text-embedding-3-small", 1536, 2.0),
    known("openai", "text-embedding-3-large", 3072, 13.0),
    known("openai", "text-embedding-ada-002", 1536, 10.0),
    known("gemini", "gemini-embedding-001", 3072, 15.0),
    known("voyage", "voyage-3.5", 1024, 6.0),
    known("voyage", "voyage-3.5-lite", 1024, 2.0),
    known("voyage", "voyage-3-large", 1024, 18.0),
    known("voyage", "voyage-code-3", 1024, 18.0),
    known("ollama", "nomic-embed-text", 768, 0.0),
    known("ollama", "bge-m3", 1024, 0.0),
    known("ollama", "all-minilm", 384, 0.0),
];

const fn known(
    provider: &'static str,
    model: &'static str,
    dimensions: usize,
    cents_per_million: f64,
) -> KnownModel {
    KnownModel {
        provider,
        model,
        dimensions,
        cents_per_million,
    }
}

/// What is known of a model. A tag such as `:latest` does not matter.
pub fn known_model(provider: &str, model: &str) -> Option<&'static KnownModel> {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let plain = model.split(':').next().unwrap_or(model);
    KNOWN
        .iter()
        .find(|known| known.provider == provider && known.model == plain)
}

#[cfg(test)]
mod tests {
    use super::{known_model, price_of};
    use crate::embed::EmbedPrice;

    #[test]
    fn a_million_tokens_cost_what_the_list_says() {
        let small = price_of("openai", "text-embedding-3-small");
        let EmbedPrice::About(micro_cents) = small.times(1_000_000) else {
            panic!("{small:?}");
        };
        assert!((micro_cents / 1_000.0 - 2.0).abs() < 1e-9);
        assert_eq!(price_of("openai", "a-new-model"), EmbedPrice::Unknown);
        assert_eq!(price_of("openai", "a-new-model").times(0), EmbedPrice::Free);
        assert_eq!(price_of("ollama", "bge-m3"), EmbedPrice::Free);
        assert_eq!(
            known_model("ollama", "bge-m3:latest").unwrap().dimensions,
            1024
        );
        assert_eq!(known_model("openai", "bge-m3"), None);
    }
}
