//! Sessions: what was said, kept so that nothing accepted is ever lost.
//!
//! One SQLite file per agent. A session is a key's conversation from one reset to the next; its
//! transcript is a tree that only grows, and a leaf says where the conversation stands. Undo
//! moves the leaf, compaction adds a summary, a fork copies a branch: no entry is ever changed.
//! [`Sessions::context`] turns the branch into what a model is sent, always the same bytes for
//! the same entries.
//!
//! Every write is one transaction. What must survive a power cut - an accepted message, the mark
//! of a call that is about to act, the end of a turn - is on the disk when the call returns; what
//! comes in between survives the death of the process and goes to the disk with the next of
//! these ([`EntryBody::durability`]). Nobody who reads waits for one who writes.

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod begun;
mod context;
mod entry;
mod external_spans;
mod find;
mod import;
pub mod journal;
mod jsonl;
mod kept_transcripts;
mod list;
mod maintenance;
mod preview;
mod record;
mod reset;
mod salvage;
mod settings;
mod stamp;
mod store;
mod transcript;

#[cfg(test)]
mod tests_support;

pub use begun::{RecordFile, RecordLoss};
pub use context::{ContextReplay, context};
pub use entry::{
    BranchSummary, CompactionEntry, CustomEntry, CustomMessage, EntryBody, EntryId, EntryMeta,
    MessageSender, MessageSource, SpeakerMark, TextLabel, TranscriptEntry,
};
pub use external_spans::{
    ExternalKind, ExternalSpan, ExternalSpans, find_external, split_told, typed_text,
};
pub use find::SessionMatch;
pub use import::{ImportError, ImportOrigin, ImportedSession};
pub use kept_transcripts::{EntriesSince, TranscriptBranch};
pub use list::{ListScope, SessionFilter};
pub use maintenance::{
    CleanupCandidate, CleanupPlan, CleanupReason, CleanupReport, MaintenanceRules,
};
pub use preview::{ConversationMatch, SessionPreview};
pub use record::{FrozenPrefix, FrozenTool, SessionInfo, SessionTotals, UsageOfCall};
pub use reset::{DailyReset, ResetReason, ResetRules};
pub use salvage::{SalvagedSessions, salvage};
pub use settings::{ModelSource, SessionOverride, SessionSettings};
pub use stamp::{iso, parse_iso};
pub use store::{OpenSession, SessionError, SessionId, Sessions, session_file};
pub use transcript::{
    AppendBatch, ForkedSession, InheritedContext, UndoneCompaction, UndoneMessage,
};
