//! One agent as the config has it: defaults and its own settings put together, every value with
//! the place it came from.

mod build;
mod entries;
mod heartbeat;
mod lookup;
mod workspace;

use std::path::PathBuf;
use std::sync::OnceLock;

use chela_core::AgentId;
use serde_json::Value;

use crate::diagnostic::SourcePlace;
use crate::key_path::KeyPath;
use crate::load::Loaded;
use crate::model::{
    AgentRuntime, AgentTools, Citations, Compaction, ContextInjection, ContextLimits,
    ContextPruning, DelegationMode, Elevated, ElevatedLevel, GroupChat, GuardEffect, GuardPolicy,
    HumanDelay, Identity, LimitSet, MemorySearch, ModelChoice, ModelPolicy, OpenMap, OwnerDisplay,
    Placement, ReactionLevel, ReasoningVisibility, Sandbox, Secret, SilentReply, SkillsLimits,
    StartupContext, Subagents, ThinkingLevel, TimeFormat, ToolPolicy, TruncationWarning, Tts,
    TypingMode, VerboseLevel,
};

pub use heartbeat::HeartbeatView;
pub(crate) use workspace::entry_path;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedValue<T> {
    pub value: T,
    pub from: ValueProvenance,
}

impl<T> ResolvedValue<T> {
    pub fn new(value: T, from: ValueProvenance) -> Self {
        Self { value, from }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> ResolvedValue<U> {
        ResolvedValue {
            value: change(self.value),
            from: self.from,
        }
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueProvenance {
    /// Nobody set it: Chela's own default.
    Default,
    /// Set for all agents.
    Defaults {
        path: KeyPath,
        place: Option<SourcePlace>,
    },
    /// Set for this agent.
    Agent {
        path: KeyPath,
        place: Option<SourcePlace>,
    },
    /// Set by an environment variable.
    Env { var: String },
    /// Follows from something else.
    Derived { why: String },
}

impl ValueProvenance {
    /// Whether the operator chose it.
    pub fn is_set(&self) -> bool {
        !matches!(self, Self::Default | Self::Derived { .. })
    }
}

impl std::fmt::Display for ValueProvenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Defaults { path, place: None } | Self::Agent { path, place: None } => {
                write!(f, "{path}")
            }
            Self::Defaults {
                path,
                place: Some(place),
            }
            | Self::Agent {
                path,
                place: Some(place),
            } => {
                let file = place.file.file_name().unwrap_or(place.file.as_os_str());
                write!(f, "{path} ({}:{})", file.display(), place.line)
            }
            Self::Env { var } => write!(f, "environment variable {var}"),
            Self::Derived { why } => f.write_str(why),
        }
    }
}

/// One agent as the config has it.
#[derive(Debug, Clone)]
pub struct AgentView {
    pub id: AgentId,
    /// Answers what no binding claims.
    pub is_default: ResolvedValue<bool>,
    pub name: ResolvedValue<Option<String>>,
    pub description: ResolvedValue<Option<String>>,
    pub identity: ResolvedValue<Identity>,

    pub workspace: ResolvedValue<PathBuf>,
    pub agent_dir: ResolvedValue<PathBuf>,
    pub repo_root: ResolvedValue<Option<PathBuf>>,

    pub model: ResolvedValue<Option<ModelChoice>>,
    pub utility_model: ResolvedValue<Option<String>>,
    pub model_policy: ResolvedValue<ModelPolicy>,
    /// Alias and model, in the order of the file.
    pub model_aliases: ResolvedValue<Vec<ModelAlias>>,
    /// Request parameters: defaults, then the model's, then the agent's own.
    pub params: ResolvedValue<OpenMap>,
    pub thinking: ResolvedValue<Option<ThinkingLevel>>,
    pub reasoning: ResolvedValue<ReasoningVisibility>,
    pub verbose: ResolvedValue<VerboseLevel>,
    pub context_tokens: ResolvedValue<Option<u64>>,
    pub timeout_seconds: ResolvedValue<u64>,
    /// Most model calls of one turn.
    pub max_steps: ResolvedValue<u64>,

    /// Names of the skills the agent may see; `None`: all.
    pub skills: ResolvedValue<Option<Vec<String>>>,
    pub skills_limits: ResolvedValue<SkillsLimits>,
    pub memory_search: ResolvedValue<MemorySearch>,
    pub citations: ResolvedValue<Citations>,

    pub skip_bootstrap: ResolvedValue<bool>,
    pub skip_optional_bootstrap_files: ResolvedValue<Vec<String>>,
    pub context_injection: ResolvedValue<ContextInjection>,
    pub bootstrap_max_chars: ResolvedValue<u64>,
    pub bootstrap_total_max_chars: ResolvedValue<u64>,
    pub bootstrap_max_tokens: ResolvedValue<Option<u64>>,
    pub bootstrap_total_max_tokens: ResolvedValue<Option<u64>>,
    pub truncation_warning: ResolvedValue<TruncationWarning>,
    pub context_limits: ResolvedValue<ContextLimits>,
    pub startup_context: ResolvedValue<StartupContext>,
    pub context_pruning: ResolvedValue<ContextPruning>,
    pub compaction: ResolvedValue<Compaction>,
    /// Headings that survive every cut.
    pub context_pin: ResolvedValue<Vec<String>>,
    /// Files that change often.
    pub context_dynamic: ResolvedValue<Vec<String>>,
    /// Files that started agents get as well.
    pub context_inherit: ResolvedValue<Vec<String>>,
    /// Where the volatile part of the prompt goes.
    pub context_placement: ResolvedValue<Placement>,
    pub additional_system_prompt: ResolvedValue<Option<String>>,

    pub user_timezone: ResolvedValue<Option<String>>,
    pub time_format: ResolvedValue<TimeFormat>,

    pub owner_allow_from: ResolvedValue<Vec<String>>,
    pub owner_display: ResolvedValue<OwnerDisplay>,
    pub owner_display_secret: ResolvedValue<Option<Secret>>,

    pub heartbeat: ResolvedValue<HeartbeatView>,
    pub subagents: ResolvedValue<Subagents>,
    /// `None`: `prefer` in the main session, `suggest` elsewhere.
    pub delegation_mode: ResolvedValue<Option<DelegationMode>>,
    pub group_chat: ResolvedValue<GroupChat>,
    pub silent_reply: ResolvedValue<Option<SilentReply>>,
    pub human_delay: ResolvedValue<HumanDelay>,
    pub typing_mode: ResolvedValue<Option<TypingMode>>,
    pub tts: ResolvedValue<Tts>,
    /// How often the agent reacts with emoji, by channel.
    pub reactions: ResolvedValue<Vec<(String, ReactionLevel)>>,

    /// The tool policy of all agents, as written.
    pub global_tools: ResolvedValue<ToolPolicy>,
    /// The tool policy of this agent, as written; it narrows the global one.
    pub tools: ResolvedValue<AgentTools>,
    pub elevated: ResolvedValue<Elevated>,
    pub elevated_default: ResolvedValue<ElevatedLevel>,
    pub sandbox: ResolvedValue<Sandbox>,
    pub guard_policy: ResolvedValue<GuardPolicy>,
    /// Hosts that may be reached without asking.
    pub guard_egress: ResolvedValue<Vec<String>>,
    /// Effects that are always asked about.
    pub guard_confirm: ResolvedValue<Vec<GuardEffect>>,
    pub limits: ResolvedValue<LimitSet>,
    pub runtime: ResolvedValue<Option<AgentRuntime>>,

    lookup: lookup::ValueLookup,
    entries: OnceLock<Vec<ViewEntry>>,
}

/// A short name of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAlias {
    pub alias: String,
    pub model: String,
}

/// One value of a view, for tables and reports. Secrets are hidden.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewEntry {
    /// The key as it stands in an agent's entry, such as `heartbeat.every`.
    pub name: String,
    pub value: Value,
    pub from: ValueProvenance,
}

impl AgentView {
    /// Every value of the view that is set or has a default, by key.
    pub fn entries(&self) -> &[ViewEntry] {
        self.entries
            .get_or_init(|| entries::entries(&self.lookup, self))
    }
}

impl Loaded {
    /// The agents in the order of the file; `main` when there is no roster.
    pub fn agents(&self) -> Vec<AgentId> {
        let mut ids: Vec<AgentId> = Vec::new();
        for entry in &self.config.agents.list {
            let id = AgentId::normalize(&entry.id);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if ids.is_empty() {
            ids.push(AgentId::main());
        }
        ids
    }

    /// The agent that answers what no binding claims: the one marked `default`, else the first.
    pub fn default_agent(&self) -> AgentId {
        let list = &self.config.agents.list;
        let marked = list.iter().find(|entry| entry.default == Some(true));
        marked
            .or(list.first())
            .map_or_else(AgentId::main, |entry| AgentId::normalize(&entry.id))
    }

    /// The view of one agent, if the roster has it.
    pub fn agent(&self, id: &AgentId) -> Option<AgentView> {
        self.agents().contains(id).then(|| build::view(self, id))
    }

    /// Folder of an agent's workspace. The agent need not be in the roster.
    ///
    /// From what wins to what is left: the agent's own `workspace`; `agents.defaults.workspace`
    /// (the folder itself for the default agent, a folder of the agent's id inside it for
    /// others); `CHELA_WORKSPACE` (default agent only); `workspace` in the state folder, or
    /// `workspace-<id>`. In the config, `~` is the home folder and relative paths start at the
    /// folder of the config file; in the variable they start at the current folder.
    pub fn workspace_dir(&self, id: &AgentId) -> ResolvedValue<PathBuf> {
        workspace::workspace_dir(self, id)
    }
}

#[cfg(test)]
mod tests;
