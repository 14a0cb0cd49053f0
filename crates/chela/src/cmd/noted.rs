//! What commands put on record: changes of what the agent may do or is made of.

use chela_core::Host;
use chela_ledger::{AuditKind, Ledger};
use serde_json::Value;

/// Notes a change that has been made. A ledger that cannot be written does not undo it: the next
/// `chela audit verify` says what is wrong with the ledger.
pub fn change(host: &Host, kind: AuditKind, body: &Value) {
    if let Ok(ledger) = Ledger::open(host) {
        let _ = ledger.append(kind, body);
    }
}

/// Forgets what only these sessions used.
pub fn forget<'s>(host: &Host, sessions: impl IntoIterator<Item = &'s str>) {
    if let Ok(Some(ledger)) = Ledger::open_existing(host) {
        for session in sessions {
            let _ = ledger.forget_session(session);
        }
    }
}
