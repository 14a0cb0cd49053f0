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
//! these ([`Body::durability`]). Nobody who reads waits for one who writes.

mod begun;
mod context;
mod entry;
mod import;
pub mod journal;
mod jsonl;
mod kept_transcripts;
mod list;
mod maintenance;
mod record;
mod reset;
mod salvage;
mod stamp;
mod store;
mod transcript;

#[cfg(test)]
mod tests_support;

pub use begun::RecordLoss;
pub use context::context;
pub use entry::{
    Body, BranchSummary, Compaction, Custom, CustomMessage, Entry, EntryId, Label, Meta, Sender,
    Source, SpeakerMark,
};
pub use import::{ImportError, Imported};
pub use kept_transcripts::Branch;
pub use list::{Filter, Show};
pub use maintenance::{Cleaned, Cleanup, Doomed, MaintenanceRules, WhyDoomed};
pub use record::{Frozen, FrozenTool, ModelSource, Override, SessionInfo, Settings, Totals};
pub use reset::{Daily, ResetRules, ResetWhy};
pub use salvage::{Salvaged, salvage};
pub use stamp::{iso, parse_iso};
pub use store::{Session, SessionError, SessionId, Sessions, session_file};
pub use transcript::{
    AppendBatch, EntriesSince, Forked, Inherited, Redone, Uncompacted, Undone, UsageOfCall,
};
