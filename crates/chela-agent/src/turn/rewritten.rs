//! What was done to a conversation on purpose since the model last heard it.

use chela_ledger::Rewrite;
use chela_model::Message;

use crate::conversation::Conversation;
use chela_session::{Body, Entry, EntryId, Session, SessionError};

impl Conversation {
    /// What the next request will not have in common with the last one, and why. `branch` is the
    /// conversation before the message `accepted`.
    pub(super) async fn rewritten(
        &self,
        session: &Session,
        branch: &[Entry],
        accepted: EntryId,
    ) -> Result<Option<Rewrite>, SessionError> {
        if is_compacted(branch) {
            return Ok(Some(Rewrite::Compaction));
        }
        let last = branch.last().map(|entry| entry.id);
        if accepted.is_right_after(last) {
            return Ok(None);
        }
        let entries = self.sessions.entries(session).await?;
        let mut left = entries
            .iter()
            .filter(|entry| last.is_none_or(|last| entry.id > last) && entry.id < accepted);
        Ok(Some(
            match left.any(|entry| matches!(entry.body, Body::Compaction(_))) {
                true => Rewrite::CompactionUndone,
                false => Rewrite::Undo,
            },
        ))
    }
}

/// Whether a summary took the place of messages since the model last spoke.
fn is_compacted(branch: &[Entry]) -> bool {
    branch
        .iter()
        .rev()
        .take_while(|entry| {
            !matches!(
                &entry.body,
                Body::Message {
                    message: Message::Assistant { .. },
                    ..
                }
            )
        })
        .any(|entry| matches!(entry.body, Body::Compaction(_)))
}
