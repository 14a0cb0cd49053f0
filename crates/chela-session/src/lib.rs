//! Sessions: what was said, kept so that nothing accepted is ever lost.
//!
//! One SQLite file per agent. A session is a key's conversation from one reset to the next; its
//! transcript is a tree that only grows, and a leaf says where the conversation stands. Undo
//! moves the leaf, compaction adds a summary, a fork copies a branch: no entry is ever changed.
//! [`Sessions::context`] turns the branch into what a model is sent, always the same bytes for
//! the same entries.
//!
//! Every write is one transaction that has reached the disk when the call returns
//! (`synchronous=FULL`): an accepted message or the mark of a started tool call must survive not
//! only the process but the machine, and a turn makes only a handful of writes. Readers never
//! wait for writers (WAL), and writers wait for each other for a bounded time.

mod context;
mod entry;
mod import;
pub mod journal;
mod jsonl;
mod list;
mod maintenance;
mod record;
mod remembered;
mod reset;
mod route;
mod salvage;
mod schema;
mod stamp;
mod store;
mod transcript;

#[cfg(test)]
mod tests_support;

pub use context::context;
pub use entry::{
    Body, BranchSummary, Compaction, Custom, CustomMessage, Entry, EntryId, Label, Meta, Sender,
    Source, SpeakerMark,
};
pub use import::{ImportError, Imported};
pub use list::{Filter, Show};
pub use maintenance::{Cleaned, Cleanup, Doomed, MaintenanceRules, WhyDoomed};
pub use record::{Frozen, FrozenTool, ModelSource, Override, SessionInfo, Settings, Totals};
pub use reset::{Daily, ResetRules, ResetWhy, is_reset_trigger};
pub use route::{Inbound, Peer, route};
pub use salvage::{Salvaged, salvage};
pub use stamp::{iso, parse_iso};
pub use store::{Session, SessionError, SessionId, Sessions, session_file};
pub use transcript::{Forked, Inherited, Redone, Uncompacted, Undone};
