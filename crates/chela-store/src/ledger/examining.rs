//! What a look at everything in a ledger finds.

use chela_core::ContentHash;

use super::{AuditEntry, ChainId, NotedHead};

/// Is told everything, one by one.
pub type LedgerVisitor = Box<dyn FnMut(LedgerFact) + Send>;

/// One thing in a ledger. The file comes first, then every chain with its entries, contents,
/// requests, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerFact {
    /// A chain begins here, and what is noted as its end.
    Chain(ChainId, NotedHead),
    /// The next entry of the chain that began last.
    Entry(AuditEntry),
    UnreadableEntry {
        seq: u64,
        words: String,
    },
    Content,
    Request {
        number: i64,
        seals: RequestSeals,
    },
    /// A row is not as it was written.
    Damaged {
        place: LedgerPlace,
        words: String,
    },
    /// Something that others speak of is not there.
    Gone {
        place: LedgerPlace,
        words: String,
    },
    /// What the engine says of the whole.
    Unreadable(String),
}

/// The seals over a request as it is now; `Err` where its row cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSeals {
    pub begun: Result<ContentHash, UnreadableRow>,
    /// `None` while nothing came of it.
    pub ended: Result<Option<ContentHash>, UnreadableRow>,
}

/// A row that does not hold what its columns ought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableRow;

/// What lies where, for people who look for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerPlace {
    Content(i64),
    Call(i64),
    Session(i64),
}
