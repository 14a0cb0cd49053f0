//! What the owner edited since the last turn.

use std::sync::Arc;

use chela_core::{AgentId, ok_or_debug};
use chela_ledger::AuditKind;
use chela_session::MessageSource;
use chela_workspace::NoticeStore;

use super::Conversation;
use crate::agent::Agents;
use crate::blocking_work::on_blocking_thread;
use crate::owner_edits::{edit_notices, take_edits};
use crate::surface::{TurnEvent, TurnSurface};

impl Conversation {
    /// Takes what the owner edited for the owner's, before anything of a turn runs, and says so
    /// once. Where no person listens, nothing is taken.
    pub(super) async fn take_owner_edits(&self, source: MessageSource, surface: &dyn TurnSurface) {
        if source != MessageSource::Person {
            return;
        }
        let (agents, agent) = (Arc::clone(&self.scope.agents), self.agent().clone());
        let looked = on_blocking_thread(move || {
            take_edits_of(&agents, &agent);
            agents.assembler.look_at_skills(&agent)
        });
        // What is wrong with them is said when the turn looks itself.
        if let Some(()) = ok_or_debug!(looked.await, "the skills cannot be looked at") {
            self.context.note_skills_seen();
        }
        let Some(custody) = self.custody.custody() else {
            return;
        };
        let host = &self.scope.agents.host;
        let notices = edit_notices(host, &custody);
        for notice in &notices {
            surface.event(TurnEvent::Notice(notice.text.clone()));
        }
        let kept = NoticeStore::of(host).remember(host, notices.iter().map(|notice| notice.key));
        ok_or_debug!(kept, "the same notices will be given again");
    }
}

/// Takes the owner's edits of an agent's files, and puts that on record.
pub(crate) fn take_edits_of(agents: &Agents, agent: &AgentId) {
    let custody = agents.assembler.custody(agent);
    let Some(custody) = ok_or_debug!(custody, "nobody watches who writes the agent's files") else {
        return;
    };
    for taken in take_edits(&custody, &agents.file_trust()) {
        if let Some(ledger) = agents.ledger() {
            // What has happened already happens no less without a record.
            drop(ledger.note(AuditKind::TrustChange, &taken.on_record()));
        }
    }
}
