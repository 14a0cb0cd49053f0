//! Which sessions a session may see.

use chela_config::model::{AgentToAgent, SandboxSessions, SessionVisibility};
use chela_config::{AgentView, LoadedConfig};
use chela_core::{AgentId, SessionForm, SessionKey};

use crate::SessionRow;
use crate::policy::SandboxChoice;

/// How far a session sees: `tools.sessions.visibility`, narrowed inside a sandbox.
#[derive(Debug, Clone)]
pub(crate) struct SessionSight {
    pub(super) visibility: SessionVisibility,
    pub(super) agents: AgentToAgent,
    pub(super) spawned_only: bool,
}

impl SessionSight {
    pub(crate) fn of(loaded: &LoadedConfig, agent: &AgentView, sandboxed: SandboxChoice) -> Self {
        let tools = &loaded.config.tools;
        let sandbox = agent.sandbox.value.session_tools_visibility;
        Self {
            visibility: tools.sessions.visibility,
            agents: tools.agent_to_agent.clone(),
            spawned_only: sandboxed == SandboxChoice::Yes && sandbox == SandboxSessions::Spawned,
        }
    }

    pub(super) fn visible(
        &self,
        own: &SessionKey,
        agent: &AgentId,
        all: Vec<SessionRow>,
    ) -> Vec<SessionRow> {
        let seen: Vec<bool> = all
            .iter()
            .map(|row| !row.key.is_incognito() && self.sees(own, agent, row, &all))
            .collect();
        let rows = all.into_iter().zip(seen);
        rows.filter_map(|(row, seen)| seen.then_some(row)).collect()
    }

    fn sees(
        &self,
        own: &SessionKey,
        agent: &AgentId,
        row: &SessionRow,
        all: &[SessionRow],
    ) -> bool {
        if row.key == *own {
            return true;
        }
        if self.spawned_only {
            return started_by(own, row, all);
        }
        let same_agent = row.agent == *agent;
        match self.visibility {
            SessionVisibility::Own => false,
            SessionVisibility::Tree => {
                let main = matches!(own.form, SessionForm::Main { .. });
                started_by(own, row, all) || (main && same_agent)
            }
            SessionVisibility::Agent => same_agent,
            SessionVisibility::All => same_agent || self.talks_to(agent, &row.agent),
        }
    }

    /// Whether two agents may know of each other.
    fn talks_to(&self, one: &AgentId, other: &AgentId) -> bool {
        let allowed = |agent: &AgentId| {
            self.agents
                .allow
                .iter()
                .any(|name| name == "*" || AgentId::normalize(name) == *agent)
        };
        self.agents.enabled && allowed(one) && allowed(other)
    }
}

/// Whether a session was started by `own`, directly or through others.
fn started_by(own: &SessionKey, row: &SessionRow, all: &[SessionRow]) -> bool {
    let mut parent = row.parent.as_ref();
    // No chain is longer than there are sessions: a circle ends too.
    for _ in 0..=all.len() {
        let Some(key) = parent else { return false };
        if key == own {
            return true;
        }
        let next = all.iter().find(|row| row.key == *key);
        parent = next.and_then(|row| row.parent.as_ref());
    }
    false
}
