//! What an endpoint can and cannot do, where servers of one protocol differ.

use serde_json::{Map, Value};

use crate::ToolMode;
use crate::api::EndpointFamily;

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
pub struct EndpointCompat {
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
    /// `replyFormat`: `plain` or `tagged`.
    pub reply_format: ReplyFormat,
    /// Ollama behind `/v1`: `num_ctx` has to be sent.
    pub num_ctx: bool,
}

/// How a model tells its reasoning from its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyFormat {
    /// The endpoint does that.
    #[default]
    Plain,
    /// In one text: it has to be told to reason in `<think>` and to answer in `<final>`.
    Tagged,
}

impl ReplyFormat {
    /// What is known of a model by its name: some write what they think into the reply.
    pub fn of_model(id: &str) -> Self {
        const TAGGED: [&str; 4] = ["deepseek-r1", "r1-distill", "qwq", "marco-o1"];
        let id = id.to_ascii_lowercase();
        match TAGGED.iter().any(|name| id.contains(name)) {
            true => Self::Tagged,
            false => Self::Plain,
        }
    }

    /// What holds for a model by its name and by its `compat` in the config.
    pub fn of(id: &str, set: Option<&Map<String, Value>>) -> Self {
        match set.and_then(|set| set.get("replyFormat")?.as_str()) {
            Some("tagged") => Self::Tagged,
            Some("plain") => Self::Plain,
            _ => Self::of_model(id),
        }
    }
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

impl EndpointCompat {
    /// What is true of the servers of a family.
    pub fn of(family: EndpointFamily) -> Self {
        let openai = matches!(family, EndpointFamily::OpenAi | EndpointFamily::Azure);
        let local = matches!(
            family,
            EndpointFamily::LlamaCpp
                | EndpointFamily::LmStudio
                | EndpointFamily::Vllm
                | EndpointFamily::Ollama
        );
        Self {
            prompt_cache_key: openai,
            long_cache_retention: openai,
            usage_in_streaming: true,
            reasoning_effort: matches!(
                family,
                EndpointFamily::OpenAi
                    | EndpointFamily::Azure
                    | EndpointFamily::OpenRouter
                    | EndpointFamily::Groq
                    | EndpointFamily::Xai
            ),
            developer_role: false,
            store: openai,
            tools: true,
            strict: false,
            max_tokens_field: if openai || family == EndpointFamily::Groq {
                MaxTokensField::MaxCompletionTokens
            } else {
                MaxTokensField::MaxTokens
            },
            tool_result_name: family == EndpointFamily::Mistral,
            assistant_after_tool_result: family == EndpointFamily::Mistral,
            mistral_ids: family == EndpointFamily::Mistral,
            replay_reasoning: family == EndpointFamily::DeepSeek,
            thinking: match family {
                EndpointFamily::OpenRouter => ThinkingFormat::OpenRouter,
                EndpointFamily::DeepSeek => ThinkingFormat::Zai,
                _ if local => ThinkingFormat::ChatTemplate,
                _ => ThinkingFormat::OpenAi,
            },
            schema: if family == EndpointFamily::LlamaCpp {
                SchemaProfile::LlamaCpp
            } else {
                SchemaProfile::Full
            },
            tool_mode: None,
            prompt_profile: None,
            reply_format: ReplyFormat::Plain,
            num_ctx: family == EndpointFamily::Ollama,
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

    use super::{EndpointCompat, SchemaProfile, ThinkingFormat};
    use crate::ToolMode;
    use crate::api::EndpointFamily;

    #[test]
    fn a_cache_key_is_never_guessed_for_a_stranger() {
        assert!(EndpointCompat::of(EndpointFamily::OpenAi).prompt_cache_key);
        for family in [
            EndpointFamily::Other,
            EndpointFamily::OpenRouter,
            EndpointFamily::Vllm,
            EndpointFamily::LlamaCpp,
        ] {
            assert!(!EndpointCompat::of(family).prompt_cache_key, "{family:?}");
        }
    }

    #[test]
    fn the_config_wins_key_by_key() {
        let set = json!({
            "supportsPromptCacheKey": true, "toolSchemaProfile": "llamacpp",
            "thinkingFormat": "qwen", "toolMode": "constrained", "supportsTools": "yes",
        });
        let compat = EndpointCompat::of(EndpointFamily::Other).with(set.as_object().unwrap());
        assert!(compat.prompt_cache_key);
        assert!(compat.tools, "a value that means nothing changes nothing");
        assert_eq!(compat.schema, SchemaProfile::LlamaCpp);
        assert_eq!(compat.thinking, ThinkingFormat::Qwen);
        assert_eq!(compat.tool_mode, Some(ToolMode::Constrained));
    }
}
