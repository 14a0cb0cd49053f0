//! Notes before forgetting: shortly before a conversation is made short, the agent may write down
//! what must outlast it.

use chela_core::{SessionForm, ok_or_warn};
use chela_tools::CallWrites;

use super::Conversation;
use crate::turn::run_unheard;
use chela_session::SessionOverride;

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
        let info = self.transcript.sessions.info(&session);
        let Some(info) = ok_or_warn!(info.await, "no notes before the room is made") else {
            return;
        };
        let compaction = info.totals.compactions;
        // Recorded before it is tried: a flush that never ends is not begun again and again.
        let noted = self
            .transcript
            .sessions
            .set(&session, SessionOverride::Flushed { compaction })
            .await;
        let noted = ok_or_warn!(noted, "no notes before the room is made");
        if info.totals.flushed_compaction == Some(compaction) || noted.is_none() {
            return;
        }
        let settings = &self.scope.view.compaction.value.memory_flush;
        let chain = match settings.model.as_deref() {
            Some(model) => match self.scope.agents.chain(&self.scope.view, Some(model)) {
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
        tracing::info!(key = %self.scope.key, "the agent writes notes before room is made");
        if run_unheard(self.parts(), ask, chain).await.is_err() {
            // How full it was decides what comes next, not how far this got.
            let used = before.used.max(self.meter().used);
            self.transcript.set_context_used(used);
        }
    }

    /// Nobody is asked to write where nothing may be written.
    async fn may_flush(&self) -> bool {
        let settings = &self.scope.view.compaction.value.memory_flush;
        let for_a_person = !matches!(self.scope.key.form, SessionForm::Heartbeat { .. });
        settings.enabled && for_a_person && self.can_write_notes().await
    }

    async fn can_write_notes(&self) -> bool {
        let is_writable = std::fs::metadata(&self.scope.view.workspace.value)
            .is_ok_and(|folder| !folder.permissions().readonly());
        let policy = self.context.policy_now(None);
        let can_write = self.context.toolbox().await.is_ok_and(|toolbox| {
            toolbox.tools().any(|tool| {
                let writes = tool.writes(&serde_json::Map::new());
                matches!(writes, CallWrites::Files { .. })
                    && policy.explain(&tool.spec().name).is_in()
            })
        });
        is_writable && can_write
    }
}
