//! What the journals of changed files know, and the record of decisions does not.
//!
//! A record that was put back to an earlier copy of itself, with the note of its newest entry, is
//! whole in itself. The journals lie elsewhere and grow beside it.

use std::collections::HashSet;

use chela_core::{Host, ok_or_warn};
use chela_ledger::{
    AuditFilter, AuditKind, DamageKind, DamagedPlace, Ledger, LedgerDamage, LedgerError,
};
use chela_session::journal::{JournalChange, ListAsk};
use chela_store::block_on;
use serde_json::Value;

use crate::cmd::CommandSetup;
use crate::cmd::time::utc;

/// The newest changes of each agent that are looked for.
const MOST_CHANGES: usize = 10_000;

/// The changes to files that calls made in this home, as the journals have them.
pub fn journalled_calls(host: &Host) -> Vec<JournalChange> {
    let setup = CommandSetup::load(host);
    let mut calls = Vec::new();
    for agent in setup.loaded.agents() {
        let journal = setup.journal(&agent);
        let ask = ListAsk {
            limit: MOST_CHANGES,
        };
        match journal.list(ask) {
            Ok(changes) => calls.extend(changes.into_iter().filter(is_call)),
            Err(error) => tracing::warn!(%error, "a journal is not compared with the record"),
        }
    }
    calls
}

/// Not what was taken back, nor what another home did of which this one is a copy.
fn is_call(change: &JournalChange) -> bool {
    !change.elsewhere && change.tool != "undo" && !change.turn.is_empty() && !change.call.is_empty()
}

/// Says how many of these calls the record does not have, though it had begun by then.
pub fn missing_calls(
    ledger: &Ledger,
    changes: Vec<JournalChange>,
) -> Result<Option<LedgerDamage>, LedgerError> {
    if changes.is_empty() {
        return Ok(None);
    }
    let entries = block_on(ledger.audit(&AuditFilter::default()))?;
    let Some(begun) = entries.first().map(|entry| entry.at) else {
        return Ok(None);
    };
    let decided = AuditKind::ToolDecision.as_str();
    let known: HashSet<(String, String)> = entries
        .iter()
        .filter(|entry| entry.kind == decided)
        .filter_map(|entry| {
            let body = serde_json::from_str::<Value>(&entry.body);
            let body = ok_or_warn!(
                body,
                "an entry of the audit cannot be read",
                seq = entry.seq
            )?;
            let word = |name: &str| body[name].as_str().map(str::to_owned);
            Some((word("turn")?, word("call")?))
        })
        .collect();
    let mut missing: Vec<JournalChange> = changes
        .into_iter()
        .filter(|change| change.at >= begun)
        .filter(|change| !known.contains(&(change.turn.clone(), change.call.clone())))
        .collect();
    missing.sort_by_key(|change| change.at);
    Ok(missing.first().map(|first| LedgerDamage {
        place: DamagedPlace::File,
        what: DamageKind::Missing,
        words: format!(
            "the journal of changed files knows of {} by calls that are not on record, the first at {} in turn {}: entries were removed, or an earlier copy of the record was put in its place",
            crate::screen::count_noun(missing.len(), "change"),
            utc(first.at / 1_000),
            first.turn
        ),
    }))
}
