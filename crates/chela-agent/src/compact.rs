//! Long conversations made short: what is kept as it is, what becomes a summary, and how good the
//! summary must be before it may stand in for anything.
//!
//! Nothing is deleted: a compaction is one more entry of the transcript, and undoing it is moving
//! back before that entry.

mod digest;
mod plan;
mod prune;
mod quality;

pub use digest::digest;
pub use plan::{KeepRecent, cut_point, sections_named, tokens_of};
pub use prune::{PrunedResults, ResultFate};
pub use quality::{HEADINGS, SummaryShortfall, shortfalls};

/// What a model is asked for.
pub const INSTRUCTIONS: &str = include_str!("../text/compaction.md");
