//! What the config of one agent says about its prompt, in the words of the rooms that use it.

use std::path::PathBuf;

use chela_config::model::{self, SecretSetting, SecretSource};
use chela_config::{AgentView, LoadedConfig, ResolvedValue, ValueProvenance};
use chela_core::cut::CutLimit;
use chela_core::{AgentId, Audience, Origin, SessionKey, Trust};
use chela_prompt::{
    CitationMode, CleanText, ElevatedLevel, FamilyContribution, FamilyPersonality, FullAccess,
    MemoryRecall, ReactionLevel, ReactionSettings, ReasoningLevel, SilentReplies, SourcedValue,
    WorkDelegation,
};
use chela_workspace::{BootstrapSettings, ContextInjection, HeartbeatFile, TruncationWarning};

/// The knobs of one agent that shape its prompt.
#[derive(Debug, Clone)]
pub struct PromptKnobs {
    pub agent: AgentId,
    pub name: Option<String>,
    /// What stands beside the name.
    pub emoji: Option<String>,
    pub workspace: PathBuf,
    pub repo_root: Option<PathBuf>,
    pub bootstrap: BootstrapSettings,
    pub model: Option<String>,
    /// The model of `agents.defaults`, which the agent may differ from.
    pub default_model: Option<String>,
    pub model_aliases: Vec<SourcedValue<String>>,
    pub context_window: Option<usize>,
    pub owners: Vec<String>,
    pub owner_view: OwnerView,
    pub time_zone: Option<String>,
    pub memory: MemoryRecall,
    pub heartbeat: Option<SourcedValue<String>>,
    /// How often, as people write it.
    pub heartbeat_every: Option<String>,
    pub light_heartbeat: bool,
    pub sandbox_mode: &'static str,
    pub reasoning: ReasoningLevel,
    pub thinking: Option<String>,
    pub voice_hint: Option<SourcedValue<String>>,
    pub extra_context: Option<SourcedValue<CleanText>>,
    /// Every channel that is configured and not switched off.
    pub channels: Vec<String>,
    delegation: Option<WorkDelegation>,
    elevated_default: model::ElevatedLevel,
    silence: Option<model::SilentReply>,
    reactions: Vec<(String, ReactionLevel)>,
    capabilities: Vec<(String, Vec<String>)>,
    personality: FamilyPersonality,
}

/// How owner ids are shown to the model.
#[derive(Clone, PartialEq, Eq)]
pub enum OwnerView {
    Raw,
    /// Under the operator's secret, or else under the installation's own.
    Hashed(Option<String>),
}

impl std::fmt::Debug for OwnerView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raw => "Raw",
            Self::Hashed(_) => "Hashed(…)",
        })
    }
}

/// What a heartbeat asks when the operator has no words of their own.
const HEARTBEAT_PROMPT: &str = include_str!("../text/heartbeat.md");

impl PromptKnobs {
    pub fn of(loaded: &LoadedConfig, view: &AgentView) -> Self {
        let config = &loaded.config;
        let primary = |choice: &Option<model::ModelChoice>| {
            choice
                .as_ref()
                .and_then(|choice| choice.primary().map(str::to_owned))
        };
        let heartbeat = &view.heartbeat.value;
        Self {
            agent: view.id.clone(),
            name: view
                .name
                .value
                .clone()
                .or_else(|| view.identity.value.name.clone()),
            emoji: view.identity.value.emoji.clone(),
            workspace: view.workspace.value.clone(),
            repo_root: view.repo_root.value.clone(),
            bootstrap: BootstrapSettings {
                extra_files: extra_files(config),
                ..bootstrap(view)
            },
            model: primary(&view.model.value),
            default_model: primary(&config.agents.defaults.model),
            model_aliases: view
                .model_aliases
                .value
                .iter()
                .map(|alias| {
                    SourcedValue::new(
                        format!("- {}: {}", alias.alias, alias.model),
                        origin(&view.model_aliases.from, "agents.defaults.models"),
                        Trust::Operator,
                    )
                })
                .collect(),
            context_window: view
                .context_tokens
                .value
                .and_then(|tokens| usize::try_from(tokens).ok()),
            owners: view.owner_allow_from.value.clone(),
            owner_view: match view.owner_display.value {
                model::OwnerDisplay::Raw => OwnerView::Raw,
                model::OwnerDisplay::Hash => {
                    OwnerView::Hashed(secret_text(loaded, &view.owner_display_secret.value))
                }
            },
            time_zone: view.user_timezone.value.clone(),
            memory: if view.memory_search.value.enabled {
                MemoryRecall::On(match view.citations.value {
                    model::Citations::Auto => CitationMode::Auto,
                    model::Citations::On => CitationMode::On,
                    model::Citations::Off => CitationMode::Off,
                })
            } else {
                MemoryRecall::Off
            },
            heartbeat: (heartbeat.is_on() && heartbeat.settings.include_system_prompt_section)
                .then(|| heartbeat_prompt(&view.heartbeat)),
            heartbeat_every: heartbeat.every_in_words(),
            light_heartbeat: heartbeat.settings.light_context,
            sandbox_mode: view.sandbox.value.mode.as_str(),
            reasoning: reasoning_level(view.reasoning.value),
            thinking: view.thinking.value.map(|level| level.as_str().to_owned()),
            voice_hint: view.tts.value.hint.as_ref().map(|hint| {
                SourcedValue::new(
                    hint.clone(),
                    origin(&view.tts.from, "messages.tts.hint"),
                    Trust::Operator,
                )
            }),
            extra_context: view.additional_system_prompt.value.as_ref().map(|text| {
                let from = origin(
                    &view.additional_system_prompt.from,
                    "agents.defaults.additionalSystemPrompt",
                );
                SourcedValue::new(CleanText::new(text), from, Trust::Operator)
            }),
            channels: config
                .channels
                .by_name
                .iter()
                .filter(|(_, channel)| channel.enabled != Some(false))
                .map(|(name, _)| name.clone())
                .collect(),
            elevated_default: view.elevated_default.value,
            delegation: view.delegation_mode.value.map(|mode| match mode {
                model::DelegationMode::Prefer => WorkDelegation::Prefer,
                model::DelegationMode::Suggest => WorkDelegation::Suggest,
            }),
            silence: view.silent_reply.value.clone(),
            reactions: view
                .reactions
                .value
                .iter()
                .filter_map(|(channel, level)| Some((channel.clone(), reaction_level(*level)?)))
                .collect(),
            capabilities: config
                .channels
                .by_name
                .iter()
                .map(|(name, channel)| {
                    (
                        name.clone(),
                        capabilities(channel.other.get("capabilities")),
                    )
                })
                .collect(),
            personality: personality(config),
        }
    }

    /// Unset: an agent does the work itself where it can.
    pub fn delegation(&self) -> WorkDelegation {
        self.delegation.unwrap_or(WorkDelegation::Suggest)
    }

    /// The elevated level as it is now. `full` is one only where it changes anything.
    pub fn elevated_now(
        &self,
        chosen: Option<model::ElevatedLevel>,
        full: FullAccess,
    ) -> ElevatedLevel {
        match chosen.unwrap_or(self.elevated_default) {
            model::ElevatedLevel::Off => ElevatedLevel::Off,
            model::ElevatedLevel::Ask => ElevatedLevel::Ask,
            model::ElevatedLevel::Full if full == FullAccess::Available => ElevatedLevel::Full,
            model::ElevatedLevel::On | model::ElevatedLevel::Full => ElevatedLevel::On,
        }
    }

    /// Whether the model may answer with silence. Unset: in groups, where not every message is
    /// for it; never in direct chats.
    pub fn silent_replies(&self, session: &SessionKey) -> SilentReplies {
        let policy = self
            .silence
            .as_ref()
            .and_then(|silence| match session.audience() {
                Audience::Shared => silence.group,
                Audience::Private => silence.direct,
            });
        match (policy, session.audience()) {
            (Some(model::SilentPolicy::Allow), _) | (None, Audience::Shared) => {
                SilentReplies::Generic
            }
            _ => SilentReplies::Never,
        }
    }

    pub fn reactions(&self, channel: Option<&str>) -> Option<ReactionSettings> {
        let channel = channel?;
        let (_, level) = self
            .reactions
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(channel))?;
        Some(ReactionSettings {
            level: *level,
            channel: Some(channel.to_owned()),
        })
    }

    /// What the operator says a channel can do.
    pub fn capabilities(&self, channel: Option<&str>) -> Vec<String> {
        let found = channel.and_then(|channel| {
            self.capabilities
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(channel))
        });
        found
            .map(|(_, capabilities)| capabilities.clone())
            .unwrap_or_default()
    }

    pub fn contribution(&self, model: &str) -> Option<FamilyContribution> {
        chela_prompt::contribution_for(model, self.personality)
    }
}

fn bootstrap(view: &AgentView) -> BootstrapSettings {
    let limit = |tokens: Option<u64>, chars: u64| match tokens {
        Some(tokens) => CutLimit::Tokens(usize::try_from(tokens).unwrap_or(usize::MAX)),
        None => CutLimit::Chars(usize::try_from(chars).unwrap_or(usize::MAX)),
    };
    BootstrapSettings {
        per_file: limit(
            view.bootstrap_max_tokens.value,
            view.bootstrap_max_chars.value,
        ),
        total: limit(
            view.bootstrap_total_max_tokens.value,
            view.bootstrap_total_max_chars.value,
        ),
        warning: match view.truncation_warning.value {
            model::TruncationWarning::Off => TruncationWarning::Off,
            model::TruncationWarning::Once => TruncationWarning::Once,
            model::TruncationWarning::Always => TruncationWarning::Always,
        },
        injection: match view.context_injection.value {
            model::ContextInjection::Always => ContextInjection::Always,
            model::ContextInjection::ContinuationSkip => ContextInjection::ContinuationSkip,
            model::ContextInjection::Never => ContextInjection::Never,
        },
        skip: view.skip_bootstrap.value,
        pins: view.context_pin.value.clone(),
        dynamic: view.context_dynamic.value.clone(),
        inherit: view.context_inherit.value.clone(),
        skip_optional: view.skip_optional_bootstrap_files.value.clone(),
        heartbeat: heartbeat_file(&view.heartbeat.value),
        extra_files: Vec::new(),
    }
}

fn heartbeat_file(heartbeat: &chela_config::HeartbeatView) -> HeartbeatFile {
    match (
        heartbeat.is_on(),
        heartbeat.settings.include_system_prompt_section,
    ) {
        (true, true) => HeartbeatFile::Read,
        (true, false) => HeartbeatFile::OnlyHeartbeats,
        (false, _) => HeartbeatFile::HeartbeatsOff,
    }
}

/// The globs of `hooks.internal.entries.bootstrap-extra-files`, under any of its three names.
fn extra_files(config: &chela_config::Config) -> Vec<String> {
    let Some(hook) = config.hooks.internal.entries.get("bootstrap-extra-files") else {
        return Vec::new();
    };
    if hook.enabled == Some(false) || config.hooks.internal.enabled == Some(false) {
        return Vec::new();
    }
    let named = ["paths", "patterns", "files"]
        .into_iter()
        .filter_map(|key| hook.other.get(key));
    let globs = named.filter_map(|value| value.as_array()).flatten();
    globs
        .filter_map(|glob| glob.as_str())
        .map(str::to_owned)
        .collect()
}

/// The key a value was set at, as an origin.
fn origin(from: &ValueProvenance, usual: &str) -> Origin {
    match from {
        ValueProvenance::Defaults { path, .. } | ValueProvenance::Agent { path, .. } => {
            Origin::config(path.to_string())
        }
        _ => Origin::config(usual),
    }
}

/// The heartbeat prompt of this build.
pub(crate) fn built_in_heartbeat() -> SourcedValue<String> {
    SourcedValue::new(
        HEARTBEAT_PROMPT.trim().to_owned(),
        Origin::BuiltIn,
        Trust::Operator,
    )
}

fn heartbeat_prompt(view: &ResolvedValue<chela_config::HeartbeatView>) -> SourcedValue<String> {
    match &view.value.prompt {
        Some(prompt) => SourcedValue::new(
            prompt.clone(),
            origin(&view.from, "agents.defaults.heartbeat"),
            Trust::Operator,
        ),
        None => built_in_heartbeat(),
    }
}

/// A secret that is written down or kept in the environment. Others are for later; the
/// installation's own secret takes their place.
fn secret_text(loaded: &LoadedConfig, secret: &Option<SecretSetting>) -> Option<String> {
    let text = match secret.as_ref()? {
        SecretSetting::Text(text) => text.clone(),
        SecretSetting::Reference(reference) if reference.source == SecretSource::Env => {
            loaded.env().get(&reference.id)?.clone()
        }
        SecretSetting::Reference(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

pub(crate) fn reasoning_level(visibility: model::ReasoningVisibility) -> ReasoningLevel {
    match visibility {
        model::ReasoningVisibility::Off => ReasoningLevel::Off,
        model::ReasoningVisibility::On => ReasoningLevel::On,
        model::ReasoningVisibility::Stream => ReasoningLevel::Stream,
    }
}

fn reaction_level(level: model::ReactionLevel) -> Option<ReactionLevel> {
    match level {
        model::ReactionLevel::Minimal => Some(ReactionLevel::Minimal),
        model::ReactionLevel::Extensive => Some(ReactionLevel::Extensive),
        model::ReactionLevel::Off | model::ReactionLevel::Ack => None,
    }
}

/// A list of names, or an object of switches.
fn capabilities(value: Option<&serde_json::Value>) -> Vec<String> {
    use serde_json::Value;
    match value {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::Object(switches)) => switches
            .iter()
            .filter(|(_, on)| {
                !matches!(on, Value::Bool(false) | Value::Null) && on.as_str() != Some("off")
            })
            .map(|(name, _)| name.clone())
            .collect(),
        _ => Vec::new(),
    }
}

/// `plugins.entries.openai.config.personality`.
fn personality(config: &chela_config::Config) -> FamilyPersonality {
    let set = config
        .plugins
        .entries
        .get("openai")
        .and_then(|entry| entry.config.get("personality"));
    match set.and_then(|value| value.as_str()) {
        Some("off") => FamilyPersonality::Off,
        _ => FamilyPersonality::Friendly,
    }
}
