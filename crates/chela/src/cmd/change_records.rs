//! What commands put on record: changes of what the agent may do or is made of.

use chela_core::{Host, ok_or_warn};
use chela_ledger::{AuditKind, Ledger};
use chela_store::block_on;
use serde_json::Value;

use super::ledger;
use crate::screen::print_beside;

/// Notes a change that is about to be made. Where that cannot be, the change is made all the
/// same, or nobody could mend what is wrong; but it is said.
pub fn record_change(host: &Host, kind: AuditKind, body: &Value) {
    if let Some(loss) = ledger::ledger_loss(host) {
        print_beside(format_args!("warning: {loss}"));
    }
    let noted = Ledger::open(host).and_then(|ledger| block_on(ledger.append(kind, body)));
    if let Err(error) = noted {
        print_beside(format_args!(
            "warning: this change is not recorded: {error}"
        ));
    }
}

/// Forgets what only these sessions used.
pub fn forget<'s>(host: &Host, sessions: impl IntoIterator<Item = &'s str>) {
    if let Ok(Some(ledger)) = Ledger::open_existing(host) {
        for session in sessions {
            let forgot = block_on(ledger.forget_session(session));
            ok_or_warn!(forgot, "the requests of a session stay on record");
        }
    }
}
