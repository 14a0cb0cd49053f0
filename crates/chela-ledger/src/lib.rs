//! What happened?
//!
//! Every request to a model on record, byte for byte and kept once; an audit chain that shows
//! tampering; how much of each request the provider's cache could reuse and why not more; what
//! was spent, and limits that hold across processes. One SQLite file, `state/ledger.sqlite`.
//!
//! It knows nothing of prompts, tools or providers beyond what it is told: requests are JSON,
//! sections are marks.

mod audit;
mod blob;
mod cache;
mod json;
mod manifest;
mod mark;
mod pieces;
mod record;
mod redact;
mod retain;
mod schema;
mod seal;
mod shape;
mod spend;
mod store;
#[cfg(test)]
mod testing;

pub use audit::{
    AuditEntry, AuditFilter, AuditKind, Damage, DamagedPlace, ExportError, Seq, Verdict, What,
    verify_absent, verify_export,
};
pub use cache::{Break, CacheReport, CacheTurn, Cause, Reuse, Rewrite, Seen, compare};
pub use mark::{SectionMark, ToolMark};
pub use record::{
    ApprovalMark, CallMark, Change, Difference, OpenedRequest, Outcome, Record, RecordFilter,
    RecordId, Replayed, RequestRecord, Side, Summary,
};
pub use redact::Redaction;
pub use retain::{Forgotten, Retention};
pub use shape::Place;
pub use spend::{
    Amount, Limit, LimitOf, LimitReached, LimitScope, Reservation, ReserveAsk, ReserveError,
    UsageBy, UsageRange, UsageSum, dollars,
};
pub use store::{Ledger, LedgerError, LedgerFuture, ledger_file};
