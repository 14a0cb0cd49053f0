//! What the agent remembers.
//!
//! Notes are cut into small units ([`chunk`]), kept in one SQLite file per agent that can be
//! deleted at any time ([`store`], [`index`]), and found again by words and by meaning
//! ([`search`]). It works with no key and no download: the table of word vectors is inside the
//! binary ([`embed`]). What it finds is measured by [`bench`].

mod compat;
mod snapshot;
mod transcript;

pub mod bench;
pub mod chunk;
pub mod day;
pub mod embed;
pub mod index;
pub mod query;
pub mod search;
pub mod segment;
pub mod settings;
pub mod source;
pub mod store;
pub mod vector;
pub mod vectors;
pub mod words;

pub use settings::MemorySettings;
