//! What the operator wants of skills, as plain values.
//!
//! These are the keys under `skills.*`, with the agent's own `skills` and `skillsLimits` already
//! applied: one `SkillsSettings` is the view of one agent.

mod from_config;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::signature::TrustedPublishers;
use crate::source::PluginState;

pub use from_config::config_is_on;

/// Everything `skills.*` says, seen by one agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillsSettings {
    pub load: LoadSettings,
    /// `skills.entries`, by skill key.
    pub entries: BTreeMap<String, SkillEntry>,
    /// `skills.allowBundled`: which bundled skills may be used; `None` means all.
    pub allow_bundled: Option<Vec<String>>,
    pub limits: SkillLimits,
    pub ranking: SkillRanking,
    pub on_change: OnChange,
    /// `skills.trust.publishers`: whose signatures count.
    pub publishers: TrustedPublishers,
    /// `agents.list[].skills`, else `agents.defaults.skills`: `None` means all, an empty list
    /// none.
    pub allowed: Option<Vec<String>>,
    /// Skill folders that plugins bring along.
    pub plugins: Vec<PluginSkills>,
    /// `--skill PATH` on the command line.
    pub explicit: Vec<PathBuf>,
    /// Whose folder the workspace is.
    pub workspace: WorkspaceStanding,
    /// Who may have put there what is new in the workspace.
    pub newcomers: SkillNewcomers,
}

/// Who may have put there what is new in the workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SkillNewcomers {
    /// The owner, by hand.
    #[default]
    ByHand,
    /// A command of an agent runs: nobody can tell yet.
    MaybeByCommand,
}

/// Whose folder the workspace is: skills that came with somebody else's are theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WorkspaceStanding {
    #[default]
    Own,
    /// It was there with its files before Chela was, and the owner did not take it for their own.
    Foreign,
}

/// `skills.load`: where skills are looked for besides the usual places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadSettings {
    pub extra_dirs: Vec<String>,
    /// Names of npm packages whose `skills/` folder is read.
    pub packages: Vec<String>,
    pub watch: WatchSetting,
    /// How long after the first change the skills are read again.
    pub watch_debounce: Duration,
    /// Folders outside a root that links inside it may lead to.
    pub allow_symlink_targets: Vec<String>,
}

impl Default for LoadSettings {
    fn default() -> Self {
        Self {
            extra_dirs: Vec::new(),
            packages: Vec::new(),
            watch: WatchSetting::On,
            watch_debounce: Duration::from_millis(250),
            allow_symlink_targets: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchSetting {
    On,
    Off,
}

/// `skills.entries.<key>`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillEntry {
    pub enabled: Option<bool>,
    /// The value of the skill's `primaryEnv`.
    pub api_key: Option<SkillCredential>,
    pub env: BTreeMap<String, SkillCredential>,
    pub config: Map<String, Value>,
}

/// A value that may be secret.
#[derive(Clone, PartialEq, Eq)]
pub enum SkillCredential {
    Text(String),
    /// Kept in a file or behind a command; whoever runs the agent fetches it.
    Elsewhere,
}

impl std::fmt::Debug for SkillCredential {
    /// Never shows the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::Elsewhere => f.write_str("Elsewhere"),
        }
    }
}

impl SkillCredential {
    /// Whether there is something to use.
    pub fn is_given(&self) -> bool {
        match self {
            Self::Text(text) => !text.trim().is_empty(),
            Self::Elsewhere => true,
        }
    }
}

/// `skills.limits`, or an agent's `skillsLimits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillLimits {
    /// Skill folders read per root; `None` reads all.
    pub max_candidates_per_root: Option<usize>,
    /// Skills of one source that may be described; further ones are listed by name.
    pub max_skills_loaded_per_source: Option<usize>,
    /// Skills described in the prompt; further ones are listed by name.
    pub max_skills_in_prompt: usize,
    pub max_skill_file_bytes: u64,
    pub max_skills_prompt_chars: usize,
    /// The same limit in tokens; counts instead of the characters when set.
    pub max_skills_prompt_tokens: Option<usize>,
}

impl Default for SkillLimits {
    fn default() -> Self {
        Self {
            max_candidates_per_root: None,
            max_skills_loaded_per_source: None,
            max_skills_in_prompt: 150,
            max_skill_file_bytes: 256_000,
            max_skills_prompt_chars: 30_000,
            max_skills_prompt_tokens: None,
        }
    }
}

/// `skills.ranking`: how descriptions reach the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillRanking {
    /// All of them in the stable zone while they fit; by relevance once they do not.
    #[default]
    Auto,
    /// All of them in the stable zone, as far as the budget goes.
    Stable,
    /// Names in the stable zone, the descriptions that fit the message below the boundary.
    Relevance,
}

/// `skills.trust.onChange`: what becomes of an own skill whose files changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnChange {
    /// One the owner trusted is not used until trusted again; of another the owner is told.
    #[default]
    QuarantineTrusted,
    /// Used; shown as changed when asked.
    Allow,
    /// Used, and the owner is told.
    Warn,
    /// Not used until trusted again.
    Quarantine,
}

/// A folder of skills that belongs to a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSkills {
    pub plugin: String,
    pub dir: PathBuf,
    pub state: PluginState,
}

impl SkillsSettings {
    /// What is configured for a skill, by its key or else by its name.
    pub fn entry(&self, key: &str, name: &str) -> Option<&SkillEntry> {
        self.entries.get(key).or_else(|| self.entries.get(name))
    }
}
