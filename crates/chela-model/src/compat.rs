//! What an endpoint can and cannot do, where servers of one protocol differ.

use serde_json::{Map, Value};

use crate::ToolMode;
use crate::api::Family;

/// How much of the prompt a model is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptProfile {
    Full,
    /// Under a thousand tokens.
    Short,
}

/// How an endpoint differs from the letter of its protocol. The family sets it, `compat` of the
/// config overrides it key by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compat {
    /// `supportsPromptCacheKey`: never guessed for a stranger.
    pub prompt_cache_key: bool,
    /// `supportsLongCacheRetention`.
    pub long_cache_retention: bool,
    /// `supportsUsageInStreaming`.
    pub usage_in_streaming: bool,
    /// `supportsReasoningEffort`.
    pub reasoning_effort: bool,
    /// `supportsDeveloperRole`.
    pub developer_role: bool,
    /// `supportsStore`.
    pub store: bool,
    /// `supportsTools`.
    pub tools: bool,
    /// `supportsStrictMode`: tools may carry `strict`.
    pub strict: bool,
    /// `maxTokensField`.
    pub max_tokens_field: MaxTokensField,
    /// `requiresToolResultName`.
    pub tool_result_name: bool,
    /// `requiresAssistantAfterToolResult`.
    pub assistant_after_tool_result: bool,
    /// `requiresMistralToolIds`.
    pub mistral_ids: bool,
    /// `requiresReasoningContentOnAssistantMessages`: reasoning of the current turn goes back.
    pub replay_reasoning: bool,
    /// `thinkingFormat`.
    pub thinking: ThinkingFormat,
    /// `toolSchemaProfile`.
    pub schema: SchemaProfile,
    /// `toolMode`: `native` or `constrained`.
    pub tool_mode: Option<ToolMode>,
    /// `promptProfile`: `full` or `short`.
    pub prompt_profile: Option<PromptProfile>,
    /// Ollama behind `/v1`: `num_ctx` has to be sent.
    pub num_ctx: bool,
}

/// The name of the limit on output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

/// How a completions endpoint is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingFormat {
    /// `reasoning_effort`.
    OpenAi,
    /// `reasoning: {effort}`.
    OpenRouter,
    /// `thinking: {type: enabled|disabled}`.
    Zai,
    /// `enable_thinking`.
    Qwen,
    /// `chat_template_kwargs: {enable_thinking}`.
    ChatTemplate,
    /// Anthropic's newer models: `thinking: {type: adaptive}` and `output_config.effort`.
    Adaptive,
}

/// How much of JSON Schema the endpoint understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaProfile {
    Full,
    /// Without `pattern` and large `maxLength`: they explode in a grammar.
    LlamaCpp,
}

impl Compat {
    /// What is true of the servers of a family.
    pub fn of(family: Family) -> Self {
        let openai = matches!(family, Family::OpenAi | Family::Azure);
        let local = matches!(
            family,
            Family::LlamaCpp | Family::LmStudio | Family::Vllm | Family::Ollama
        );
        Self {
            prompt_cache_key: openai,
            long_cache_retention: openai,
            usage_in_streaming: true,
            reasoning_effort: matches!(
                family,
                Family::OpenAi | Family::Azure | Family::OpenRouter | Family::Groq | Family::Xai
            ),
            developer_role: false,
            store: openai,
            tools: true,
            strict: false,
            max_tokens_field: if openai || family == Family::Groq {
                MaxTokensField::MaxCompletionTokens
            } else {
                MaxTokensField::MaxTokens
            },
            tool_result_name: family == Family::Mistral,
            assistant_after_tool_result: family == Family::Mistral,
            mistral_ids: family == Family::Mistral,
            replay_reasoning: family == Family::DeepSeek,
            thinking: match family {
                Family::OpenRouter => ThinkingFormat::OpenRouter,
                Family::DeepSeek => ThinkingFormat::Zai,
                _ if local => ThinkingFormat::ChatTemplate,
                _ => ThinkingFormat::OpenAi,
            },
            schema: if family == Family::LlamaCpp {
                SchemaProfile::LlamaCpp
            } else {
                SchemaProfile::Full
            },
            tool_mode: None,
            prompt_profile: None,
            num_ctx: family == Family::Ollama,
        }
    }

    /// With what the config says. Values that mean nothing are left alone.
    pub fn with(mut self, set: &Map<String, Value>) -> Self {
        let flag = |key: &str, field: &mut bool| {
            if let Some(value) = set.get(key).and_then(Value::as_bool) {
                *field = value;
            }
        };
        flag("supportsPromptCacheKey", &mut self.prompt_cache_key);
        flag("supportsLongCacheRetention", &mut self.long_cache_retention);
        flag("supportsUsageInStreaming", &mut self.usage_in_streaming);
        flag("supportsReasoningEffort", &mut self.reasoning_effort);
        flag("supportsDeveloperRole", &mut self.developer_role);
        flag("supportsStore", &mut self.store);
        flag("supportsTools", &mut self.tools);
        flag("supportsStrictMode", &mut self.strict);
        flag("requiresToolResultName", &mut self.tool_result_name);
        flag(
            "requiresAssistantAfterToolResult",
            &mut self.assistant_after_tool_result,
        );
        flag("requiresMistralToolIds", &mut self.mistral_ids);
        flag(
            "requiresReasoningContentOnAssistantMessages",
            &mut self.replay_reasoning,
        );
        let word = |key: &str| set.get(key).and_then(Value::as_str);
        match word("maxTokensField") {
            Some("max_tokens") => self.max_tokens_field = MaxTokensField::MaxTokens,
            Some("max_completion_tokens") => {
                self.max_tokens_field = MaxTokensField::MaxCompletionTokens;
            }
            _ => {}
        }
        match word("thinkingFormat") {
            Some("openai") => self.thinking = ThinkingFormat::OpenAi,
            Some("openrouter") => self.thinking = ThinkingFormat::OpenRouter,
            Some("zai" | "deepseek") => self.thinking = ThinkingFormat::Zai,
            Some("qwen") => self.thinking = ThinkingFormat::Qwen,
            Some("qwen-chat-template" | "chat-template") => {
                self.thinking = ThinkingFormat::ChatTemplate;
            }
            Some("adaptive") => self.thinking = ThinkingFormat::Adaptive,
            _ => {}
        }
        match word("toolSchemaProfile") {
            Some("llamacpp") => self.schema = SchemaProfile::LlamaCpp,
            Some("full" | "openai") => self.schema = SchemaProfile::Full,
            _ => {}
        }
        match word("toolMode") {
            Some("native") => self.tool_mode = Some(ToolMode::Native),
            Some("constrained") => self.tool_mode = Some(ToolMode::Constrained),
            _ => {}
        }
        match word("promptProfile") {
            Some("full") => self.prompt_profile = Some(PromptProfile::Full),
            Some("short") => self.prompt_profile = Some(PromptProfile::Short),
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Compat, SchemaProfile, ThinkingFormat};
    use crate::ToolMode;
    use crate::api::Family;

    #[test]
    fn a_cache_key_is_never_guessed_for_a_stranger() {
        assert!(Compat::of(Family::OpenAi).prompt_cache_key);
        for family in [
            Family::Other,
            Family::OpenRouter,
            Family::Vllm,
            Family::LlamaCpp,
        ] {
            assert!(!Compat::of(family).prompt_cache_key, "{family:?}");
        }
    }

    #[test]
    fn the_config_wins_key_by_key() {
        let set = json!({
            "supportsPromptCacheKey": true, "toolSchemaProfile": "llamacpp",
            "thinkingFormat": "qwen", "toolMode": "constrained", "supportsTools": "yes",
        });
        let compat = Compat::of(Family::Other).with(set.as_object().unwrap());
        assert!(compat.prompt_cache_key);
        assert!(compat.tools, "a value that means nothing changes nothing");
        assert_eq!(compat.schema, SchemaProfile::LlamaCpp);
        assert_eq!(compat.thinking, ThinkingFormat::Qwen);
        assert_eq!(compat.tool_mode, Some(ToolMode::Constrained));
    }
}
