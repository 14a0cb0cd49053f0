//! `ledger`: how long requests stay on record.

use super::*;

section! {
    /// The record of requests to models.
    struct Ledger {
        /// How much of it is kept. The audit chain is never shortened.
        keep: LedgerKeep,
        /// Send nothing that cannot be put on record.
        required: bool,
    }

    /// How much is kept; whatever is reached first counts.
    struct LedgerKeep {
        /// Requests older than this go; a bare number is days.
        age: OrOff<DurationText> = OrOff::On("180d".into()),
        /// Most disk space; the oldest requests go first.
        size: OrOff<ByteSize> = OrOff::On(ByteSize::Text("1gb".into())),
    }
}
