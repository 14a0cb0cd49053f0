//! Windows and prices of well-known models, as their makers published them. What the config or a
//! server says wins; a model that is not here works all the same.

/// When these figures were gathered.
pub const KNOWN_SINCE: &str = "2026-02";

/// What is known about one line of models.
#[derive(Debug, Clone, Copy)]
pub struct KnownModels {
    /// How the id begins, dots written as dashes.
    pub prefix: &'static str,
    pub window: u64,
    pub max_tokens: u64,
    /// US dollars per million tokens: input, output, read from the cache, written to it.
    pub price: Option<[f64; 4]>,
    pub images: bool,
    pub reasoning: bool,
}

/// What is known about the model of this id, whoever serves it: the longest matching row.
pub fn known(id: &str) -> Option<&'static KnownModels> {
    let last = id.rsplit('/').next().unwrap_or(id);
    let name = last.to_ascii_lowercase().replace(['.', '_'], "-");
    KNOWN
        .iter()
        .filter(|row| name.starts_with(row.prefix))
        .max_by_key(|row| row.prefix.len())
}

const fn row(prefix: &'static str, window: u64, max_tokens: u64) -> KnownModels {
    KnownModels {
        prefix,
        window,
        max_tokens,
        price: None,
        images: false,
        reasoning: false,
    }
}

impl KnownModels {
    const fn price(self, price: [f64; 4]) -> Self {
        Self {
            price: Some(price),
            ..self
        }
    }

    const fn sees(self) -> Self {
        Self {
            images: true,
            ..self
        }
    }

    const fn thinks(self) -> Self {
        Self {
            reasoning: true,
            ..self
        }
    }
}

#[rustfmt::skip]
const KNOWN: &[KnownModels] = &[
    // Anthropic
    row("claude-opus-4-6", 200_000, 128_000).price([5.0, 25.0, 0.5, 6.25]).sees().thinks(),
    row("claude-opus-4-5", 200_000, 64_000).price([5.0, 25.0, 0.5, 6.25]).sees().thinks(),
    row("claude-opus-4", 200_000, 32_000).price([15.0, 75.0, 1.5, 18.75]).sees().thinks(),
    row("claude-opus", 200_000, 64_000).price([5.0, 25.0, 0.5, 6.25]).sees().thinks(),
    row("claude-sonnet", 200_000, 64_000).price([3.0, 15.0, 0.3, 3.75]).sees().thinks(),
    row("claude-haiku", 200_000, 64_000).price([1.0, 5.0, 0.1, 1.25]).sees().thinks(),
    row("claude-3-7-sonnet", 200_000, 64_000).price([3.0, 15.0, 0.3, 3.75]).sees().thinks(),
    row("claude-3-5-sonnet", 200_000, 8_192).price([3.0, 15.0, 0.3, 3.75]).sees(),
    row("claude-3-5-haiku", 200_000, 8_192).price([0.8, 4.0, 0.08, 1.0]).sees(),
    row("claude", 200_000, 8_192).sees(),
    // OpenAI
    row("gpt-5-2-pro", 400_000, 128_000).price([21.0, 168.0, 21.0, 0.0]).sees().thinks(),
    row("gpt-5-2", 400_000, 128_000).price([1.75, 14.0, 0.175, 0.0]).sees().thinks(),
    row("gpt-5-mini", 400_000, 128_000).price([0.25, 2.0, 0.025, 0.0]).sees().thinks(),
    row("gpt-5-1-codex-mini", 400_000, 128_000).price([0.25, 2.0, 0.025, 0.0]).sees().thinks(),
    row("gpt-5-nano", 400_000, 128_000).price([0.05, 0.4, 0.005, 0.0]).sees().thinks(),
    row("gpt-5-chat", 128_000, 16_384).price([1.25, 10.0, 0.125, 0.0]).sees(),
    row("gpt-5", 400_000, 128_000).price([1.25, 10.0, 0.125, 0.0]).sees().thinks(),
    row("gpt-4-1-mini", 1_047_576, 32_768).price([0.4, 1.6, 0.1, 0.0]).sees(),
    row("gpt-4-1-nano", 1_047_576, 32_768).price([0.1, 0.4, 0.025, 0.0]).sees(),
    row("gpt-4-1", 1_047_576, 32_768).price([2.0, 8.0, 0.5, 0.0]).sees(),
    row("gpt-4o-mini", 128_000, 16_384).price([0.15, 0.6, 0.075, 0.0]).sees(),
    row("gpt-4o", 128_000, 16_384).price([2.5, 10.0, 1.25, 0.0]).sees(),
    row("o3", 200_000, 100_000).price([2.0, 8.0, 0.5, 0.0]).sees().thinks(),
    row("o4-mini", 200_000, 100_000).price([1.1, 4.4, 0.275, 0.0]).sees().thinks(),
    row("gpt-oss", 131_072, 32_768).thinks(),
    // Google
    row("gemini-3-pro", 1_048_576, 65_536).price([2.0, 12.0, 0.2, 0.0]).sees().thinks(),
    row("gemini-3-flash", 1_048_576, 65_536).price([0.5, 3.0, 0.05, 0.0]).sees().thinks(),
    row("gemini-2-5-pro", 1_048_576, 65_536).price([1.25, 10.0, 0.125, 0.0]).sees().thinks(),
    row("gemini-2-5-flash-lite", 1_048_576, 65_536).price([0.1, 0.4, 0.01, 0.0]).sees().thinks(),
    row("gemini-2-5-flash", 1_048_576, 65_536).price([0.3, 2.5, 0.03, 0.0]).sees().thinks(),
    row("gemini", 1_048_576, 65_536).sees().thinks(),
    row("gemma-3", 131_072, 8_192).sees(),
    // xAI
    row("grok-4-1-fast", 2_000_000, 30_000).price([0.2, 0.5, 0.05, 0.0]).sees().thinks(),
    row("grok-4-fast", 2_000_000, 30_000).price([0.2, 0.5, 0.05, 0.0]).sees().thinks(),
    row("grok-4", 256_000, 64_000).price([3.0, 15.0, 0.75, 0.0]).sees().thinks(),
    row("grok-code-fast", 256_000, 10_000).price([0.2, 1.5, 0.02, 0.0]).thinks(),
    // DeepSeek
    row("deepseek-chat", 131_072, 8_192).price([0.28, 0.42, 0.028, 0.0]),
    row("deepseek-reasoner", 131_072, 65_536).price([0.28, 0.42, 0.028, 0.0]).thinks(),
    row("deepseek-r1", 131_072, 32_768).thinks(),
    // Mistral
    row("mistral-large", 262_144, 32_768).price([0.5, 1.5, 0.0, 0.0]).sees(),
    row("mistral-medium", 131_072, 32_768).price([0.4, 2.0, 0.0, 0.0]).sees(),
    row("mistral-small", 131_072, 32_768).price([0.1, 0.3, 0.0, 0.0]).sees(),
    row("magistral", 131_072, 40_960).thinks(),
    row("codestral", 262_144, 32_768).price([0.3, 0.9, 0.0, 0.0]),
    row("devstral", 262_144, 32_768),
    // Others
    row("kimi-k2-thinking", 262_144, 32_768).price([0.6, 2.5, 0.15, 0.0]).thinks(),
    row("kimi-k2", 262_144, 16_384).price([0.6, 2.5, 0.15, 0.0]),
    row("glm-4-6", 204_800, 131_072).price([0.6, 2.2, 0.11, 0.0]).thinks(),
    row("glm-4-5", 131_072, 98_304).price([0.6, 2.2, 0.11, 0.0]).thinks(),
    row("minimax-m2", 204_800, 131_072).price([0.3, 1.2, 0.0, 0.0]).thinks(),
    row("qwen3-coder", 262_144, 65_536),
    row("qwen3-vl", 262_144, 32_768).sees(),
    row("qwen3", 131_072, 32_768).thinks(),
    row("qwen2-5", 32_768, 8_192),
    row("llama-4", 1_048_576, 16_384).sees(),
    row("llama-3-3", 131_072, 32_768),
    row("llama-3-1", 131_072, 8_192),
    row("llama3-1", 131_072, 8_192),
    row("llama3-2", 131_072, 8_192),
    row("smollm2", 8_192, 2_048),
];

#[cfg(test)]
mod tests {
    use super::{KNOWN, known};

    #[test]
    fn the_longest_row_counts_whoever_serves_the_model() {
        let window = |id: &str| known(id).map(|row| (row.prefix, row.window));
        assert_eq!(window("gpt-5.2-2025-12-11"), Some(("gpt-5-2", 400_000)));
        assert_eq!(
            window("anthropic/claude-sonnet-4.6"),
            Some(("claude-sonnet", 200_000))
        );
        assert_eq!(
            window("claude-opus-4-1-20250805"),
            Some(("claude-opus-4", 200_000))
        );
        assert_eq!(
            window("gemini-2.5-flash-lite"),
            Some(("gemini-2-5-flash-lite", 1_048_576))
        );
        assert_eq!(window("somebody-else"), None);
    }

    #[test]
    fn no_row_stands_twice() {
        for (at, row) in KNOWN.iter().enumerate() {
            assert!(
                !KNOWN[at + 1..]
                    .iter()
                    .any(|other| other.prefix == row.prefix),
                "{}",
                row.prefix
            );
            assert!(row.max_tokens <= row.window);
        }
    }
}
