//! `ledger`: how long requests stay on record.

use super::*;

section! {
    /// The record of requests to models.
    struct Ledger {
        /// How much of it is kept. The audit chain is never shortened.
        keep: LedgerKeep,
        /// Send nothing that cannot be recorded.
        required: bool,
    }

    /// How much is kept; whatever is reached first counts.
    struct LedgerKeep {
        /// Requests older than this are deleted; a bare number is days.
        age: OrOff<DurationText> = OrOff::On("180d".into()),
        /// Maximum disk space; the oldest requests are deleted first.
        size: OrOff<ByteSize> = OrOff::On(ByteSize::Text("1gb".into())),
    }
}
