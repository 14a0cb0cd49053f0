//! Who pays for what a sub-agent spends.

use chela_config::model::LimitSet;
use chela_core::{AgentId, SessionForm, SessionKey};

use super::Payer;
use crate::conversation::Conversation;
use chela_session::Session;

impl Conversation {
    /// Whose limits a call counts against: those of the session at the top.
    pub(crate) fn payer(&self, session: &Session, turn: &str) -> Payer {
        self.grant.payer().cloned().unwrap_or_else(|| Payer {
            agent: self.view.id.to_string(),
            session: session.id.as_str().to_owned(),
            turn: turn.to_owned(),
            job: job_of(&self.key).to_owned(),
        })
    }

    /// The limits of whoever pays.
    pub(crate) fn limits_here(&self) -> LimitSet {
        let payer = self
            .grant
            .payer()
            .and_then(|payer| AgentId::parse(&payer.agent).ok())
            .and_then(|agent| self.agents.view(&agent).ok());
        payer.map_or_else(
            || self.view.limits.value.clone(),
            |view| view.limits.value.clone(),
        )
    }
}

/// What the spending of a session is for.
pub(crate) fn job_of(key: &SessionKey) -> &'static str {
    match key.form {
        SessionForm::Heartbeat { .. } => "heartbeat",
        SessionForm::Cron { .. } => "cron",
        SessionForm::Subagent { .. } => "subagent",
        _ => "chat",
    }
}
