//! What was done to a conversation on purpose since the model last heard it.

use chela_ledger::ContextRewrite;
use chela_model::ModelMessage;

use chela_session::{EntryBody, EntryId, OpenSession, SessionError, Sessions, TranscriptEntry};

/// What the next request will not have in common with the last one, and why. `branch` is the
/// conversation before the message `accepted`.
pub(super) async fn rewrite_since(
    sessions: &Sessions,
    session: &OpenSession,
    branch: &[TranscriptEntry],
    accepted: EntryId,
) -> Result<Option<ContextRewrite>, SessionError> {
    if is_compacted(branch) {
        return Ok(Some(ContextRewrite::Compaction));
    }
    let last = branch.last().map(|entry| entry.id);
    if accepted.is_right_after(last) {
        return Ok(None);
    }
    let entries = sessions.entries(session).await?;
    let mut left = entries
        .iter()
        .filter(|entry| last.is_none_or(|last| entry.id > last) && entry.id < accepted);
    Ok(Some(
        match left.any(|entry| matches!(entry.body, EntryBody::Compaction(_))) {
            true => ContextRewrite::CompactionUndone,
            false => ContextRewrite::Undo,
        },
    ))
}

/// Whether a summary took the place of messages since the model last spoke.
fn is_compacted(branch: &[TranscriptEntry]) -> bool {
    branch
        .iter()
        .rev()
        .take_while(|entry| {
            !matches!(
                &entry.body,
                EntryBody::Message {
                    message: ModelMessage::Assistant { .. },
                    ..
                }
            )
        })
        .any(|entry| matches!(entry.body, EntryBody::Compaction(_)))
}
