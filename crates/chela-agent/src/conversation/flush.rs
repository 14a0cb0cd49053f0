//! Notes before forgetting: shortly before a conversation is made short, the agent may write down
//! what must outlast it.

use chela_core::{SessionForm, ok_or_warn};

use super::Conversation;
use crate::turn::{ContextMeter, run_unheard};
use chela_session::Override;

/// What the agent is asked.
const ASK: &str = include_str!("../../text/flush.md");

impl Conversation {
    /// One silent turn in which the agent may write notes; once between two compactions. What it
    /// answers reaches nobody, and a turn that fails loses nothing but the notes.
    pub(super) async fn flush_memory(&self) {
        if !self.may_flush().await {
            return;
        }
        let session = self.session();
        let info = self.sessions.info(&session);
        let Some(info) = ok_or_warn!(info.await, "no notes before the room is made") else {
            return;
        };
        let compaction = info.totals.compactions;
        // Noted before it is tried: a flush that never ends is not begun again and again.
        let noted = self
            .sessions
            .set(&session, Override::Flushed { compaction })
            .await;
        if info.totals.flushed_compaction == Some(compaction) || noted.is_err() {
            return;
        }
        let settings = &self.view.compaction.value.memory_flush;
        let chain = match settings.model.as_deref() {
            Some(model) => match self.agents.chain(&self.view, Some(model)) {
                Ok(chain) => Some(chain),
                Err(error) => {
                    tracing::warn!(%error, model, "no notes before the room is made");
                    return;
                }
            },
            None => None,
        };
        let ask = settings.prompt.as_deref().unwrap_or(ASK).trim().to_owned();
        let before = self.meter();
        tracing::info!(key = %self.key, "the agent writes notes before room is made");
        if run_unheard(self, ask, chain).await.is_err() {
            // How full it was decides what comes next, not how far this got.
            self.with(|state| {
                state.meter = ContextMeter {
                    used: before.used.max(state.meter.used),
                    ..state.meter
                }
            });
        }
    }

    /// Nobody is asked to write where nothing may be written.
    async fn may_flush(&self) -> bool {
        let settings = &self.view.compaction.value.memory_flush;
        let for_a_person = !matches!(self.key.form, SessionForm::Heartbeat { .. });
        settings.enabled && for_a_person && self.can_write_notes().await
    }

    async fn can_write_notes(&self) -> bool {
        let is_writable = std::fs::metadata(&self.view.workspace.value)
            .is_ok_and(|folder| !folder.permissions().readonly());
        let policy = self.policy_now(None);
        let can_write = self.toolbox().await.is_ok_and(|toolbox| {
            let toolbox = toolbox.for_turn(policy);
            ["write", "edit", "apply_patch"]
                .iter()
                .any(|tool| toolbox.get(tool).is_some())
        });
        is_writable && can_write
    }
}
