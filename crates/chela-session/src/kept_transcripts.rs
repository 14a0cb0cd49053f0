//! Transcripts that were read, kept decoded, so that a turn pays for what is new and not for all
//! that was ever said.
//!
//! The store stays the truth: before a kept transcript is given away, whatever was appended
//! since, by whichever process, is read and added. Only where the conversation went to another
//! branch is it read anew.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use chela_core::lock;
use chela_model::{MessagePart, ModelMessage};
use chela_store::SessionIncarnation;

use super::entry::{EntryBody, EntryId, TranscriptEntry};

/// What all kept transcripts together may weigh, in bytes of text. The one used longest ago goes
/// first.
const MOST_BYTES: usize = 64 << 20;
/// What an entry takes besides its text, roughly.
const ENTRY_BYTES: usize = 400;

/// The entries of a branch, from the root to where the conversation stands. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct TranscriptBranch {
    entries: Arc<Vec<TranscriptEntry>>,
    incarnation: SessionIncarnation,
}

impl TranscriptBranch {
    /// Whoever keeps something about the entries begins anew with another one.
    pub fn incarnation(&self) -> SessionIncarnation {
        self.incarnation
    }

    #[cfg(test)]
    pub(super) fn of(entries: Vec<TranscriptEntry>) -> Self {
        Self {
            entries: Arc::new(entries),
            incarnation: SessionIncarnation::default(),
        }
    }
}

impl std::ops::Deref for TranscriptBranch {
    type Target = Vec<TranscriptEntry>;

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

/// What is new in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct EntriesSince {
    /// Of the session that was read: that of another one goes on nothing.
    pub incarnation: SessionIncarnation,
    /// Where the conversation stands.
    pub leaf: Option<EntryId>,
    /// In the order they were appended, whatever branch they are on.
    pub entries: Vec<TranscriptEntry>,
}

impl EntriesSince {
    /// The entries from the root to where the conversation stands, of a session that was read
    /// from its beginning: parents are always older.
    fn into_branch(self) -> TranscriptBranch {
        let mut wanted = self.leaf;
        let mut entries: Vec<TranscriptEntry> = self
            .entries
            .into_iter()
            .rev()
            .filter(|entry| {
                let is_wanted = Some(entry.id) == wanted;
                if is_wanted {
                    wanted = entry.parent;
                }
                is_wanted
            })
            .collect();
        entries.reverse();
        TranscriptBranch {
            entries: Arc::new(entries),
            incarnation: self.incarnation,
        }
    }
}

/// The transcripts of the sessions that were read lately.
#[derive(Debug, Default)]
pub(super) struct KeptTranscripts(Mutex<KeptState>);

#[derive(Debug, Default)]
struct KeptState {
    by_session: HashMap<String, KeptTranscript>,
    bytes: usize,
    /// Grows with every use.
    clock: u64,
}

#[derive(Debug)]
struct KeptTranscript {
    branch: TranscriptBranch,
    /// The newest entry that was read, whether it is on the branch or not.
    read_to: Option<EntryId>,
    bytes: usize,
    used: u64,
}

impl KeptTranscripts {
    /// Up to where a session was read. `None`: it is not kept.
    pub fn read_to(&self, session: &str) -> Option<Option<EntryId>> {
        let state = self.locked();
        state.by_session.get(session).map(|kept| kept.read_to)
    }

    /// Adds what came since `read_to`; gives the branch. `None` where that is not possible: then
    /// the session has to be read anew.
    pub fn follow(
        &self,
        session: &str,
        read_to: Option<EntryId>,
        since: EntriesSince,
    ) -> Option<TranscriptBranch> {
        let mut state = self.locked();
        state.clock += 1;
        let clock = state.clock;
        let kept = state.by_session.get_mut(session)?;
        let added = kept.follow(read_to, since);
        let Some(added) = added else {
            let gone = state.by_session.remove(session);
            state.bytes -= gone.map_or(0, |gone| gone.bytes);
            return None;
        };
        kept.used = clock;
        let branch = kept.branch.clone();
        state.bytes += added;
        state.make_room(session);
        Some(branch)
    }

    /// Keeps a session that was read whole.
    pub fn keep(&self, session: &str, all: EntriesSince) -> TranscriptBranch {
        let read_to = all.entries.last().map(|entry| entry.id);
        let branch = all.into_branch();
        let bytes = branch.iter().map(bytes_of).sum();
        let mut state = self.locked();
        state.clock += 1;
        let kept = KeptTranscript {
            branch: branch.clone(),
            read_to,
            bytes,
            used: state.clock,
        };
        let before = state.by_session.insert(session.to_owned(), kept);
        state.bytes -= before.map_or(0, |before| before.bytes);
        state.bytes += bytes;
        state.make_room(session);
        branch
    }

    fn locked(&self) -> MutexGuard<'_, KeptState> {
        lock(&self.0)
    }
}

impl KeptState {
    /// Lets go of what was used longest ago, but never of `session`.
    fn make_room(&mut self, session: &str) {
        while self.bytes > MOST_BYTES {
            let others = self.by_session.iter().filter(|(id, _)| *id != session);
            let Some((oldest, _)) = others.min_by_key(|(_, kept)| kept.used) else {
                return;
            };
            let oldest = oldest.clone();
            let gone = self.by_session.remove(&oldest);
            self.bytes -= gone.map_or(0, |gone| gone.bytes);
        }
    }
}

impl KeptTranscript {
    /// Gives how many bytes came along.
    fn follow(&mut self, read_to: Option<EntryId>, since: EntriesSince) -> Option<usize> {
        // Somebody else was quicker, or it is another session of that id.
        if self.read_to != read_to || self.branch.incarnation != since.incarnation {
            return None;
        }
        let end = self.branch.last().map(|entry| entry.id);
        if since.entries.is_empty() {
            return match since.leaf == end {
                true => Some(0),
                false => self.go_back(since.leaf),
            };
        }
        let mut tip = end;
        for entry in &since.entries {
            if entry.parent != tip {
                return None;
            }
            tip = Some(entry.id);
        }
        if tip != since.leaf {
            return None;
        }
        let added = since.entries.iter().map(bytes_of).sum();
        Arc::make_mut(&mut self.branch.entries).extend(since.entries);
        self.read_to = tip;
        self.bytes += added;
        Some(added)
    }

    /// The conversation stands at an earlier entry of the same branch: something was taken back.
    fn go_back(&mut self, leaf: Option<EntryId>) -> Option<usize> {
        let length = match leaf {
            None => 0,
            Some(leaf) => self.branch.iter().rposition(|entry| entry.id == leaf)? + 1,
        };
        Arc::make_mut(&mut self.branch.entries).truncate(length);
        Some(0)
    }
}

/// What an entry weighs, roughly.
fn bytes_of(entry: &TranscriptEntry) -> usize {
    let parts = |parts: &[MessagePart]| -> usize {
        parts
            .iter()
            .map(|part| match part {
                MessagePart::Text { text } | MessagePart::Reasoning { text, .. } => text.len(),
                MessagePart::Image { data, .. } => data.len(),
                _ => ENTRY_BYTES,
            })
            .sum()
    };
    let text = match &entry.body {
        EntryBody::Message { message, .. } => match message {
            ModelMessage::User { content }
            | ModelMessage::Assistant { content, .. }
            | ModelMessage::ToolResult { content, .. } => parts(content),
        },
        EntryBody::CustomMessage(note) => parts(&note.content),
        EntryBody::Compaction(compaction) => compaction.summary.len(),
        EntryBody::BranchSummary(branch) => branch.summary.len(),
        EntryBody::Unknown { text, .. } => text.len(),
        EntryBody::Custom(_) | EntryBody::ToolStarted { .. } | EntryBody::TurnEnded { .. } => 0,
    };
    text + ENTRY_BYTES
}

#[cfg(test)]
mod tests;
