//! Endpoints that need no address in the config.

use crate::ModelApi;

/// An endpoint known by name.
#[derive(Debug)]
pub struct BuiltIn {
    pub id: &'static str,
    /// Other names people use for it.
    pub also: &'static [&'static str],
    pub base_url: &'static str,
    pub api: ModelApi,
    /// Variables that may hold its key, the first one that is set wins.
    pub keys: &'static [&'static str],
    /// The model to start with when nobody chose one. Local servers say themselves what they have.
    pub model: Option<&'static str>,
}

use ModelApi::{AnthropicMessages, GoogleGenerativeAi, Ollama, OpenAiCompletions, OpenAiResponses};

/// In the order in which they are tried when nothing is configured: what runs on this machine,
/// then the most capable.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        id: "ollama",
        also: &[],
        base_url: "http://127.0.0.1:11434",
        api: Ollama,
        keys: &["OLLAMA_API_KEY"],
        model: None,
    },
    BuiltIn {
        id: "lmstudio",
        also: &["lm-studio"],
        base_url: "http://127.0.0.1:1234/v1",
        api: OpenAiCompletions,
        keys: &["LMSTUDIO_API_KEY"],
        model: None,
    },
    BuiltIn {
        id: "llamacpp",
        also: &["llama-cpp", "llama.cpp", "llama-server"],
        base_url: "http://127.0.0.1:8080/v1",
        api: OpenAiCompletions,
        keys: &["LLAMA_API_KEY"],
        model: None,
    },
    BuiltIn {
        id: "vllm",
        also: &[],
        base_url: "http://127.0.0.1:8000/v1",
        api: OpenAiCompletions,
        keys: &["VLLM_API_KEY"],
        model: None,
    },
    BuiltIn {
        id: "lemonade",
        also: &[],
        base_url: "http://127.0.0.1:13305/v1",
        api: OpenAiCompletions,
        keys: &[],
        model: None,
    },
    BuiltIn {
        id: "anthropic",
        also: &["claude"],
        base_url: "https://api.anthropic.com",
        api: AnthropicMessages,
        keys: &["ANTHROPIC_API_KEY"],
        model: Some("claude-sonnet-4-6"),
    },
    BuiltIn {
        id: "openai",
        also: &[],
        base_url: "https://api.openai.com/v1",
        api: OpenAiResponses,
        keys: &["OPENAI_API_KEY"],
        model: Some("gpt-5.2"),
    },
    BuiltIn {
        id: "google",
        also: &["gemini"],
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        api: GoogleGenerativeAi,
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        model: Some("gemini-2.5-pro"),
    },
    BuiltIn {
        id: "openrouter",
        also: &[],
        base_url: "https://openrouter.ai/api/v1",
        api: OpenAiCompletions,
        keys: &["OPENROUTER_API_KEY"],
        model: Some("anthropic/claude-sonnet-4.6"),
    },
    BuiltIn {
        id: "mistral",
        also: &[],
        base_url: "https://api.mistral.ai/v1",
        api: OpenAiCompletions,
        keys: &["MISTRAL_API_KEY"],
        model: Some("mistral-large-latest"),
    },
    BuiltIn {
        id: "deepseek",
        also: &[],
        base_url: "https://api.deepseek.com/v1",
        api: OpenAiCompletions,
        keys: &["DEEPSEEK_API_KEY"],
        model: Some("deepseek-chat"),
    },
    BuiltIn {
        id: "xai",
        also: &["grok"],
        base_url: "https://api.x.ai/v1",
        api: OpenAiCompletions,
        keys: &["XAI_API_KEY"],
        model: Some("grok-4"),
    },
    BuiltIn {
        id: "groq",
        also: &[],
        base_url: "https://api.groq.com/openai/v1",
        api: OpenAiCompletions,
        keys: &["GROQ_API_KEY"],
        model: Some("openai/gpt-oss-120b"),
    },
    BuiltIn {
        id: "cerebras",
        also: &[],
        base_url: "https://api.cerebras.ai/v1",
        api: OpenAiCompletions,
        keys: &["CEREBRAS_API_KEY"],
        model: Some("gpt-oss-120b"),
    },
    BuiltIn {
        id: "together",
        also: &[],
        base_url: "https://api.together.xyz/v1",
        api: OpenAiCompletions,
        keys: &["TOGETHER_API_KEY"],
        model: Some("openai/gpt-oss-120b"),
    },
    BuiltIn {
        id: "fireworks",
        also: &[],
        base_url: "https://api.fireworks.ai/inference/v1",
        api: OpenAiCompletions,
        keys: &["FIREWORKS_API_KEY"],
        model: Some("accounts/fireworks/models/gpt-oss-120b"),
    },
    BuiltIn {
        id: "moonshot",
        also: &["kimi"],
        base_url: "https://api.moonshot.ai/v1",
        api: OpenAiCompletions,
        keys: &["MOONSHOT_API_KEY"],
        model: Some("kimi-k2-thinking"),
    },
    BuiltIn {
        id: "zai",
        also: &["z.ai", "glm"],
        base_url: "https://api.z.ai/api/paas/v4",
        api: OpenAiCompletions,
        keys: &["ZAI_API_KEY", "Z_AI_API_KEY"],
        model: Some("glm-4.6"),
    },
    BuiltIn {
        id: "huggingface",
        also: &["hf"],
        base_url: "https://router.huggingface.co/v1",
        api: OpenAiCompletions,
        keys: &["HF_TOKEN", "HUGGINGFACE_HUB_TOKEN"],
        model: Some("openai/gpt-oss-120b"),
    },
];

/// The endpoint of this name.
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|server| {
        server.id.eq_ignore_ascii_case(name)
            || server
                .also
                .iter()
                .any(|also| also.eq_ignore_ascii_case(name))
    })
}
