//! Reading everything to tell whether it is as it was written.

use std::collections::HashSet;

use rusqlite::Connection;

use super::contents::{ContentRow, wrong_with};
use super::manifest::{self, StoredList};
use super::sealed::{SEALED_COLUMNS, blobs_of_row, outcome_seal_of_row, seal_of_row};
use super::{calls, entries, sealed};
use crate::engine::JobError;
use crate::ledger::{ChainId, LedgerFact, LedgerPlace, NotedHead, RequestSeals, UnreadableRow};

type Visitor<'a> = dyn FnMut(LedgerFact) + Send + 'a;

pub(super) fn visit_all(
    tx: &Connection,
    noted: Vec<(ChainId, NotedHead)>,
    visit: &mut Visitor<'_>,
) -> Result<(), JobError> {
    visit_file(tx, visit);
    for (chain, noted) in entries::all_chains(tx, noted)? {
        visit_chain(tx, chain, noted, visit)?;
    }
    let contents = visit_contents(tx, visit)?;
    visit_requests(tx, &contents, visit)?;
    for number in calls::damaged(tx)? {
        visit(LedgerFact::Damaged {
            place: LedgerPlace::Call(number),
            words: format!("the accounting of call {number} was changed"),
        });
    }
    for number in sealed::damaged_sessions(tx)? {
        visit(LedgerFact::Damaged {
            place: LedgerPlace::Session(number),
            words: format!("what is noted of session {number} was changed"),
        });
    }
    Ok(())
}

/// What SQLite itself can tell.
fn visit_file(tx: &Connection, visit: &mut Visitor<'_>) {
    let verdict = tx.query_row("PRAGMA integrity_check(1)", [], |row| {
        row.get::<_, String>(0)
    });
    match verdict {
        Ok(verdict) if verdict == "ok" => {}
        Ok(verdict) => visit(LedgerFact::Unreadable(verdict)),
        Err(error) => visit(LedgerFact::Unreadable(error.to_string())),
    }
}

fn visit_chain(
    tx: &Connection,
    chain: ChainId,
    noted: NotedHead,
    visit: &mut Visitor<'_>,
) -> Result<(), JobError> {
    let mut statement = entries::statement_of(tx, &chain)?;
    let mut rows = statement.query([chain.as_str()])?;
    visit(LedgerFact::Chain(chain.clone(), noted));
    loop {
        let fact = match rows.next() {
            Ok(Some(row)) => match row.get::<_, u64>(0) {
                Ok(seq) => match entries::entry_of(row)? {
                    Ok(entry) => LedgerFact::Entry(entry),
                    Err(words) => LedgerFact::UnreadableEntry { seq, words },
                },
                Err(error) => LedgerFact::Unreadable(error.to_string()),
            },
            Ok(None) => return Ok(()),
            Err(error) => {
                visit(LedgerFact::Unreadable(error.to_string()));
                return Ok(());
            }
        };
        visit(fact);
    }
}

/// Gives the numbers of all contents there are.
fn visit_contents(tx: &Connection, visit: &mut Visitor<'_>) -> Result<HashSet<i64>, JobError> {
    let mut contents = HashSet::new();
    let mut statement =
        tx.prepare("SELECT id, hash, length, tokens, data, seal FROM blobs ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        contents.insert(id);
        visit(LedgerFact::Content);
        let stored = || -> rusqlite::Result<ContentRow> {
            Ok(ContentRow {
                id,
                hash: row.get(1)?,
                length: row.get(2)?,
                tokens: row.get(3)?,
                data: row.get(4)?,
                seal: row.get(5)?,
            })
        };
        let wrong = match stored() {
            Ok(stored) => wrong_with(&stored),
            Err(_) => Some("its row cannot be read"),
        };
        if let Some(wrong) = wrong {
            visit(LedgerFact::Damaged {
                place: LedgerPlace::Content(id),
                words: format!("content {id} is not what was stored: {wrong}"),
            });
        }
    }
    Ok(contents)
}

fn visit_requests(
    tx: &Connection,
    contents: &HashSet<i64>,
    visit: &mut Visitor<'_>,
) -> Result<(), JobError> {
    let mut statement = tx.prepare(&format!(
        "SELECT {SEALED_COLUMNS} FROM records LEFT JOIN sessions ON sessions.row = records.session \
         ORDER BY records.id"
    ))?;
    let mut rows = statement.query([])?;
    let mut runs = HashSet::new();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let seals = RequestSeals {
            begun: seal_of_row(row).map_err(|_| UnreadableRow),
            ended: outcome_seal_of_row(row).map_err(|_| UnreadableRow),
        };
        visit(LedgerFact::Request { number, seals });
        let Ok(parts) = blobs_of_row(row) else {
            continue;
        };
        for part in all_parts(tx, parts, &mut runs) {
            if !contents.contains(&part) {
                visit(LedgerFact::Gone {
                    place: LedgerPlace::Content(part),
                    words: format!("content {part} of request {number} is gone"),
                });
            }
        }
    }
    Ok(())
}

/// Everything a request is made of; runs that many begin with are looked at once.
fn all_parts(tx: &Connection, parts: StoredList, runs: &mut HashSet<i64>) -> Vec<i64> {
    let mut all = parts.rest;
    for run in parts.runs {
        all.push(run);
        if runs.insert(run) {
            // One that cannot be read was reported with the contents.
            all.extend(manifest::run_of(tx, run).unwrap_or_default());
        }
    }
    all
}
