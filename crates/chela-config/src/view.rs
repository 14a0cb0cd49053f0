//! One agent as the config has it: defaults and its own settings put together, every value with
//! the place it came from.

mod build;
mod entries;
mod heartbeat;
mod lookup;
mod workspace;

use std::path::PathBuf;

use chela_core::AgentId;
use serde_json::Value;

use crate::diagnostic::SourcePlace;
use crate::key_path::KeyPath;
use crate::load::LoadedConfig;

pub use build::AgentView;
pub use heartbeat::HeartbeatView;
pub(crate) use workspace::entry_path;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedValue<T> {
    pub value: T,
    pub from: ValueProvenance,
}

impl<T> ResolvedValue<T> {
    fn by_default(value: T) -> Self {
        let from = ValueProvenance::Default;
        Self { value, from }
    }

    fn derived(value: T, why: impl Into<String>) -> Self {
        let from = ValueProvenance::Derived { why: why.into() };
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
            Self::Defaults { path, place } | Self::Agent { path, place } => match place {
                None => write!(f, "{path}"),
                Some(place) => {
                    let file = place.file.file_name().unwrap_or(place.file.as_os_str());
                    write!(f, "{path} ({}:{})", file.display(), place.line)
                }
            },
            Self::Env { var } => write!(f, "environment variable {var}"),
            Self::Derived { why } => f.write_str(why),
        }
    }
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

impl LoadedConfig {
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
        self.agents().contains(id).then(|| AgentView::of(self, id))
    }

    /// Folder of an agent's workspace. The agent need not be in the roster.
    ///
    /// From what wins to what is left: the agent's own `workspace`; for the default agent
    /// `agents.defaults.workspace`, `CHELA_WORKSPACE`, and `workspace` in the state folder; for any
    /// other `workspace-<id>` there. A folder of its id in `agents.defaults.workspace` that holds
    /// files from before stays in use. In the config, `~` is the home folder and relative paths start at the
    /// folder of the config file; in the variable they start at the current folder.
    pub fn workspace_dir(&self, id: &AgentId) -> ResolvedValue<PathBuf> {
        workspace::workspace_dir(self, id)
    }

    /// Where an agent would have its files, if they did not lie in the default agent's workspace.
    pub fn outer_workspace(&self, id: &AgentId) -> Option<PathBuf> {
        workspace::nested_workspace(self, id).map(|_| workspace::outer_workspace(self, id))
    }
}

#[cfg(test)]
mod tests;
