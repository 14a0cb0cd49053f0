//! How records are kept: typed stores that say nothing of what is behind them, and SQLite files
//! behind them, one for each kind of record, for its owner alone, open to several processes.
//!
//! A store answers with futures that need no particular runtime: the work is done by threads of
//! the store's own, so nothing that awaits a record blocks its runtime. Callers that have none
//! use [`block_on`].

// This crate reads bytes of others: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod block;
mod claims;
mod documents;
mod engine;
mod error;
mod file;
mod inbox;
mod jobs;
mod journal;
mod leases;
mod ledger;
mod outbox;
mod row_origins;
mod sessions;
mod sqlite;

pub use block::{WaitHere, block_on};
pub use engine::{StoreCounts, WriteDurability};
pub use error::{EngineFault, StoreError};
pub use file::{FileExamination, copy_database, document_at, examine};
pub use file::{FileFormat, FileSoundness, FileState, FreedRoom, open, open_in_memory};

/// What a store answers with. The work is under way when the future is made: dropping it gives
/// up the answer and takes nothing back.
pub type StoreFuture<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

pub use claims::{ClaimAsk, ClaimHolder, ClaimState, LeaseTime, WorkClaim};
pub use documents::{DocumentStore, HeldDocument};
pub use inbox::{
    ClaimedMessage, InboxMessage, InboxStore, LaneRoom, MessageAccepted, MessageOutcome, NewMessage,
};
pub use jobs::{
    JobAdvance, JobChanged, JobPlan, JobRecord, JobStore, KnownRevision, MessageStanding,
    OccurrenceChange, OccurrenceLimit, OccurrenceQuery, OccurrenceRecord, OccurrenceStep,
    OpenOccurrence,
};
pub use journal::{
    ChangeQuery, ChangeRecord, ForeignQuery, ForgetLimit, JournalStore, KeptFile, NewChange,
    OwnVersion, PackedText, TextHash, TextMark, TrustChange,
};
pub use leases::{LeaseAcquired, LeaseAsk, LeaseKey, LeaseRecord, LeaseStore};
pub use ledger::{
    AddedRequest, AuditEntry, CallState, ChainEnd, ChainHead, ChainId, DeletedContents, EntryQuery,
    KnownContents, LedgerFact, LedgerPlace, LedgerStore, LedgerTransaction, LedgerVisitor,
    LedgerWork, LimitSpan, NewCall, NewRequest, NotedHead, OpenCall, PriorRequest, RequestBody,
    RequestEnd, RequestLine, RequestParts, RequestQuery, RequestSeals, ReuseFacts, SentRequest,
    SpentAmount, SpentQuery, StoredContent, StoredContents, StoredRequest, UnreadableRow, WorkEnd,
    WorkFuture,
};
pub use outbox::{
    DeliveryEnd, DeliveryQuery, DeliveryRecord, DeliveryState, FinishedWork, NewDelivery,
    OutboxStore,
};
pub use row_origins::RowKind;
pub use sessions::{
    BranchInherited, CurrentSession, EntryBatch, EntryMarks, EntryRecord, ImportedEntry, LeafMove,
    NewEntry, SaidEnds, SessionChange, SessionChanged, SessionFork, SessionForked, SessionImport,
    SessionImported, SessionIncarnation, SessionQuery, SessionRecord, SessionResume, SessionSpan,
    SessionStart, SessionStarted, SessionStore, SessionTree, UsageSums,
};
pub use sqlite::{
    RefusedRow, RowRepair, RowsGuarded, SalvagedEntry, SalvagedHeader, SalvagedSession,
    SqliteJournalStore, SqliteLedgerStore, SqliteRuntimeStore, SqliteSessionStore,
    salvage_sessions,
};
