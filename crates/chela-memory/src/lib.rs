//! What the agent remembers.
//!
//! Notes are cut into small units ([`chunk`]), kept in one SQLite file per agent that can be
//! deleted at any time ([`store`], [`index`]), and found again by words and by meaning
//! ([`search`]). It works with no key and no download: the table of word vectors is inside the
//! binary ([`embed`]). What it finds is measured by `cargo xtask retrieval-bench`.

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod about;
mod agent_memory;
mod card_index;
mod consolidate;
mod forgotten;
mod fresh_search;
mod gloss;
mod letters;
mod memory;
mod snapshot;
mod worth_keeping;

pub mod bench;
pub mod chunk;
pub mod day;
pub mod embed;
pub mod facts;
pub mod forget;
pub mod front;
pub mod importance;
pub mod index;
pub mod language;
pub mod lint;
pub mod note;
pub mod prelude;
pub mod query;
pub mod search;
pub mod segment;
pub mod settings;
pub mod source;
pub mod status;
pub mod store;
pub mod tool;
pub mod transcript;
pub mod vector;
pub mod vectors;
pub mod watch;
pub mod when;
pub mod word_table;
pub mod words;

#[cfg(test)]
mod tests_support;

pub use about::{NamedEntry, NamedView};
pub use agent_memory::{AgentMemory, KeeperState, MemoryKeeper, MemoryParts, VectorWork};
pub use card_index::{CardIndex, IndexCard};
pub use consolidate::{
    ConsolidateError, MemoryProposal, MemoryReview, ProposalExtent, ProposedKind, ProposedLine,
};
pub use fresh_search::{FreshAnswer, FreshLook};
pub use memory::{Memory, MemoryAnswer, MemoryQuestion, OpenMemory, index_file};
pub use search::{DayLimits, SearchScope, SearchSources};
pub use settings::MemorySettings;
pub use worth_keeping::kept_sentences;
