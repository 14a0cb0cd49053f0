//! What happened?
//!
//! Every request to a model on record, byte for byte and kept once; an audit chain that shows
//! tampering; how much of each request the provider's cache could reuse and why not more; what
//! was spent, and limits that hold across processes. All of it lies in a
//! [`chela_store::LedgerStore`], on one machine the file `state/ledger.sqlite`.
//!
//! It knows nothing of prompts, tools or providers beyond what it is told: requests are JSON,
//! sections are marks.

// This crate reads bytes of others: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod audit;
mod cache;
mod cache_report;
mod installation_key;
mod json;
mod ledger;
mod mark;
mod pieces;
mod recent;
mod record;
mod redact;
mod request;
mod retain;
mod shape;
mod spend;
#[cfg(test)]
mod testing;
mod verify;

pub use audit::{
    AuditFilter, AuditKind, DamageKind, DamagedPlace, EntrySeq, ExportError, ExportReport,
    LedgerDamage, verify_export,
};
pub use cache::{BreakCause, CachedRequest, ContextRewrite, PrefixBreak, PrefixReuse, compare};
pub use cache_report::{CacheReport, CacheTurn};
pub use chela_store::{AuditEntry, ChainId, RequestQuery as RecordFilter, SpentAmount as Amount};
pub use installation_key::InstallationKey;
pub use ledger::{Ledger, LedgerError, LedgerFuture, installation_key_file, ledger_file};
pub use mark::{MarkList, SectionList, SectionMark, ToolList, ToolMark};
pub use record::{DifferenceSide, DraftedRequest, OpenedRequest, RequestChange, RequestDifference};
pub use redact::RequestRedaction;
pub use request::{
    ApprovalMark, CallMark, RecordId, RecordedRequest, ReplayedRequest, RequestOutcome,
    RequestRecord, RequestSummary,
};
pub use retain::{LedgerRetention, RetentionReport};
pub use shape::RequestPlace;
pub use spend::{
    LimitOf, LimitReached, LimitScope, ReserveAsk, ReserveError, SpendReservation, SpendingBound,
    UsageBy, UsageRange, UsageScope, UsageSum, dollars,
};
pub use verify::{VerifyReport, verify_absent};
