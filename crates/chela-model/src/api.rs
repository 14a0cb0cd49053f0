//! The protocols spoken here.

use serde::Serialize;

/// How an endpoint is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum ModelApi {
    #[serde(rename = "openai-completions")]
    OpenAiCompletions,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    #[serde(rename = "azure-openai-responses")]
    AzureOpenAiResponses,
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    #[serde(rename = "google-generative-ai")]
    GoogleGenerativeAi,
    #[serde(rename = "ollama")]
    Ollama,
}

impl ModelApi {
    pub const ALL: [Self; 6] = [
        Self::OpenAiCompletions,
        Self::OpenAiResponses,
        Self::AzureOpenAiResponses,
        Self::AnthropicMessages,
        Self::GoogleGenerativeAi,
        Self::Ollama,
    ];

    /// The name in the config.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::AzureOpenAiResponses => "azure-openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::Ollama => "ollama",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|api| api.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Who is at the other end. Servers that speak the same protocol differ in what they accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointFamily {
    OpenAi,
    Azure,
    Anthropic,
    Google,
    OpenRouter,
    Mistral,
    DeepSeek,
    Xai,
    Groq,
    LlamaCpp,
    LmStudio,
    Vllm,
    Ollama,
    /// Any other server.
    Other,
}

impl EndpointFamily {
    /// Told by the address first: a provider may be named anything.
    pub fn of(provider: &str, base_url: &str, api: ModelApi) -> Self {
        let host = host_of(base_url);
        let at = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        let by_host = [
            ("api.openai.com", Self::OpenAi),
            ("openai.azure.com", Self::Azure),
            ("cognitiveservices.azure.com", Self::Azure),
            ("anthropic.com", Self::Anthropic),
            ("generativelanguage.googleapis.com", Self::Google),
            ("openrouter.ai", Self::OpenRouter),
            ("mistral.ai", Self::Mistral),
            ("deepseek.com", Self::DeepSeek),
            ("x.ai", Self::Xai),
            ("groq.com", Self::Groq),
        ];
        if let Some((_, family)) = by_host.into_iter().find(|(domain, _)| at(domain)) {
            return family;
        }
        let local = |name: &str| provider.to_ascii_lowercase().contains(name);
        if api == ModelApi::Ollama || local("ollama") || base_url.contains(":11434") {
            Self::Ollama
        } else if local("llamacpp") || local("llama-cpp") || local("llama.cpp") {
            Self::LlamaCpp
        } else if local("lmstudio") || local("lm-studio") {
            Self::LmStudio
        } else if local("vllm") {
            Self::Vllm
        } else {
            Self::Other
        }
    }
}

/// The host of an address, without user, port and brackets, in small letters.
pub fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.to_ascii_lowercase()
}

/// Whether an address lies on this machine or in a private network: slow models live there, and
/// no proxy stands between.
pub fn is_local(url: &str) -> bool {
    let host = host_of(url);
    if let Ok(v4) = host.parse::<std::net::Ipv4Addr>() {
        return v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified();
    }
    if let Ok(v6) = host.parse::<std::net::Ipv6Addr>() {
        return v6.is_loopback() || v6.is_unique_local() || v6.is_unspecified();
    }
    host == "localhost"
        || host.ends_with(".localhost")
        || host.ends_with(".local")
        || host.ends_with(".internal")
}

#[cfg(test)]
mod tests {
    use super::{EndpointFamily, ModelApi, host_of, is_local};

    #[test]
    fn names_are_read_back() {
        for api in ModelApi::ALL {
            assert_eq!(ModelApi::named(api.name()), Some(api));
            assert_eq!(
                serde_json::to_value(api).unwrap(),
                serde_json::Value::from(api.name())
            );
        }
        assert_eq!(ModelApi::named("bedrock-converse-stream"), None);
        assert_eq!(ModelApi::ALL.map(ModelApi::name), chela_config::MODEL_APIS);
    }

    #[test]
    fn hosts_are_found_in_addresses() {
        assert_eq!(host_of("https://API.OpenAI.com/v1"), "api.openai.com");
        assert_eq!(host_of("http://me:pw@[::1]:8080/x"), "::1");
        assert_eq!(host_of("localhost:11434"), "localhost");
        assert!(is_local("http://127.0.0.1:8080/v1"));
        assert!(is_local("http://[::1]:8080"));
        assert!(is_local("http://192.168.1.7:1234/v1"));
        assert!(!is_local("https://api.openai.com/v1"));
        assert!(!is_local("https://localhost.example.com"));
    }

    #[test]
    fn the_address_says_more_than_the_name() {
        let of = |name, url| EndpointFamily::of(name, url, ModelApi::OpenAiCompletions);
        assert_eq!(
            of("openai", "https://proxy.example/v1"),
            EndpointFamily::Other
        );
        assert_eq!(
            of("mine", "https://api.openai.com/v1"),
            EndpointFamily::OpenAi
        );
        assert_eq!(
            of("fake", "https://api.openai.com.evil.example"),
            EndpointFamily::Other
        );
        assert_eq!(
            of("box", "http://10.0.0.2:11434/v1"),
            EndpointFamily::Ollama
        );
        assert_eq!(
            of("llamacpp", "http://127.0.0.1:8080/v1"),
            EndpointFamily::LlamaCpp
        );
    }
}
