//! Audit chains: one for each agent or node that writes one.

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which chain an entry stands in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(String);

impl ChainId {
    const LONGEST: usize = 64;

    /// `None` for a name that could not be the name of a file everywhere: only small letters,
    /// digits, `-` and `_`.
    pub fn named(name: &str) -> Option<Self> {
        let fits = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
        };
        ((1..=Self::LONGEST).contains(&name.len()) && name.bytes().all(fits))
            .then(|| Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The chain of a home that has only one.
impl Default for ChainId {
    fn default() -> Self {
        Self("home".to_owned())
    }
}

impl std::fmt::Display for ChainId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One entry of a chain, as it is stored and exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its number in its chain, from 1.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub kind: String,
    /// JSON, exactly as it was hashed.
    pub body: String,
    pub prev: ContentHash,
    pub hash: ContentHash,
    /// That this installation wrote it; what is from before proofs has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ContentHash>,
}

impl AuditEntry {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    pub fn head(&self) -> ChainHead {
        ChainHead {
            seq: self.seq,
            hash: self.hash,
        }
    }
}

/// An entry, as far as the next one is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    pub seq: u64,
    pub hash: ContentHash,
}

/// What is noted, apart from the chain itself, as its newest entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotedHead {
    Head(ChainHead),
    Missing,
    /// It is there and cannot be read.
    Unreadable,
}

/// Where a chain ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEnd {
    pub chain: ChainId,
    pub noted: NotedHead,
    /// The number of the oldest entry there is: 1, or those before it are gone.
    pub oldest: Option<u64>,
    /// The newest entry there is.
    pub newest: Option<ChainHead>,
    /// The entry at the place that is noted.
    pub at_noted: Option<ChainHead>,
}

/// Which entries are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryQuery {
    pub chain: ChainId,
    pub kind: Option<String>,
    /// From this number on.
    pub since: Option<u64>,
    /// Text the body contains.
    pub about: Option<String>,
    /// The newest so many; all when `None`.
    pub limit: Option<usize>,
}
