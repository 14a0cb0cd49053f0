//! Whether an entry of a transcript holds text from outside. A label that cannot be read means that
//! it does.

use chela_core::{Origin, Sender, Trust};
use chela_model::ModelMessage;
use chela_session::{EntryBody, MessageSender, SpeakerMark, TranscriptEntry};
use serde_json::Value;

use crate::guard_mark::GuardMark;
use crate::runtime_blocks::{BlockKind, SentBlock};

/// Whether foreign text was read, or told, in an entry. `owners` are the ids of the owner.
pub(crate) fn holds_foreign(body: &EntryBody, owners: &[String]) -> bool {
    if body.is_import_mark() {
        return true;
    }
    match body {
        EntryBody::Message { message, meta } => {
            let by_label = match (&meta.label, message) {
                (Some(label), _) => label.trust < Trust::Agent,
                (None, ModelMessage::ToolResult { .. }) => true,
                (None, _) => false,
            };
            let by_speaker = match (meta.speaker, &meta.sender) {
                (Some(SpeakerMark::Unreadable), _) => true,
                (Some(SpeakerMark::Sender), sender) => !sender
                    .as_ref()
                    .is_some_and(|sender| is_owner(sender, owners)),
                _ => false,
            };
            by_label
                || by_speaker
                || meta.external.is_any()
                || trust_of_blocks(&meta.details) < Trust::Agent
        }
        EntryBody::CustomMessage(note) => trust_of_blocks(&note.details) < Trust::Agent,
        EntryBody::Custom(_) => GuardMark::of(body).is_some_and(|mark| mark.taints()),
        EntryBody::Unknown { .. } => true,
        EntryBody::Compaction(_)
        | EntryBody::BranchSummary(_)
        | EntryBody::ToolStarted { .. }
        | EntryBody::TurnEnded { .. } => false,
    }
}

/// Whether foreign text was read anywhere in a conversation.
pub(crate) fn has_read_foreign(branch: &[TranscriptEntry], owners: &[String]) -> bool {
    branch
        .iter()
        .any(|entry| holds_foreign(&entry.body, owners))
}

/// Whether a sender is the owner: `commands.ownerAllowFrom` names `channel:id` or `id`.
pub(crate) fn is_owner(sender: &MessageSender, owners: &[String]) -> bool {
    let sender = Sender {
        channel: sender.channel.clone(),
        id: Some(sender.id.clone()),
        ..Sender::default()
    };
    sender.is_one_of(owners)
}

/// The lowest trust of the blocks the runtime sent. A label that cannot be read means foreign;
/// where none was written, the words are the runtime's own.
pub(crate) fn trust_of_blocks(details: &Value) -> Trust {
    foreign_files_of(details).0
}

/// The lowest trust of the blocks the runtime sent, and the files it is so low for; none where it
/// is for something else, too.
pub(crate) fn foreign_files_of(details: &Value) -> (Trust, Vec<Origin>) {
    let sent = match sent_blocks(details) {
        Ok(sent) => sent,
        Err(error) => {
            tracing::warn!(%error, "the labels of runtime text cannot be read: it counts as foreign");
            return (Trust::External, Vec::new());
        }
    };
    let trust = sent
        .iter()
        .map(|block| block.trust)
        .fold(Trust::Operator, Trust::join);
    let foreign = || sent.iter().filter(|block| block.trust < Trust::Agent);
    let is_file = |block: &SentBlock| {
        block.kind == BlockKind::Changes && matches!(block.origin, Origin::File { .. })
    };
    match foreign().all(is_file) {
        true => (trust, foreign().map(|block| block.origin.clone()).collect()),
        false => (trust, Vec::new()),
    }
}

/// Whether the runtime told something of the owner's notes, or may have.
pub(crate) fn calls_up_memory(details: &Value) -> bool {
    let is_note = |block: &SentBlock| {
        matches!(
            block.kind,
            BlockKind::RecentNotes | BlockKind::Recall | BlockKind::Changes
        )
    };
    sent_blocks(details).map_or(true, |sent| sent.iter().any(is_note))
}

fn sent_blocks(details: &Value) -> Result<Vec<SentBlock>, serde_json::Error> {
    match details.get("runtime") {
        Some(marks) => serde_json::from_value(marks.clone()),
        None => Ok(Vec::new()),
    }
}
