//! The seals of a record: hashes over its row, which the audit chain repeats.

use chela_core::ContentHash;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::manifest::StoredList;
use crate::seal::{Seal, of_row};

/// What the seals are read from. `records.id` comes first.
pub const SEALED_COLUMNS: &str = "records.id, sessions.id, sessions.key, sessions.agent, at, turn, \
     step, model, url, length, sent, stored, manifest, redactions, records.sections, tools, tokens, \
     reused, reread, bytes, reused_bytes, broken, cause, ended, outcome, input, output, cache_read, cache_write, \
     reasoning, estimated, cost, error";
const BEGUN: std::ops::Range<usize> = 0..23;
const ENDED: std::ops::Range<usize> = 23..33;
const MANIFEST: usize = 12;
const SECTIONS: usize = 14;
const TOOLS: usize = 15;
const OUTCOME: usize = 24;

/// The seal over what was known when the request was sent.
pub fn seal_of_row(row: &Row<'_>) -> rusqlite::Result<ContentHash> {
    Ok(Seal::new("request").columns(row, BEGUN)?.hash())
}

/// The seal over what came of it; `None` while nothing did.
pub fn outcome_seal_of_row(row: &Row<'_>) -> rusqlite::Result<Option<ContentHash>> {
    let mut nothing = true;
    for column in ENDED {
        nothing &= matches!(row.get_ref(column)?, ValueRef::Null);
    }
    if nothing {
        return Ok(None);
    }
    let seal = Seal::new("outcome").number(row.get(0)?);
    Ok(Some(seal.columns(row, ENDED)?.hash()))
}

/// The contents a record is made of.
pub fn blobs_of_row(row: &Row<'_>) -> rusqlite::Result<StoredList> {
    let bytes: Vec<u8> = row.get(MANIFEST)?;
    // A list that cannot be read does not have its seal either.
    let mut blobs = StoredList::of(&bytes).unwrap_or_default();
    for column in [SECTIONS, TOOLS, OUTCOME] {
        blobs.rest.extend(row.get::<_, Option<i64>>(column)?);
    }
    Ok(blobs)
}

/// Every column of a session, its seal last.
const SESSION_COLUMNS: &str = "row, id, key, agent, sections, sections_seq, seal";
const SESSION_SEAL: usize = 6;

/// Seals the row of a session after it was written.
pub fn reseal_session(tx: &Connection, session: i64) -> rusqlite::Result<()> {
    let seal = tx
        .prepare_cached(&format!(
            "SELECT {SESSION_COLUMNS} FROM sessions WHERE row = ?1"
        ))?
        .query_row([session], |row| of_row("session", row, 0..SESSION_SEAL))?;
    tx.prepare_cached("UPDATE sessions SET seal = ?2 WHERE row = ?1")?
        .execute(params![session, seal.short()])?;
    Ok(())
}

/// Seals every session anew, for a file of an older format.
pub fn reseal_sessions(tx: &Connection) -> rusqlite::Result<()> {
    let all: Vec<i64> = tx
        .prepare("SELECT row FROM sessions")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    all.into_iter()
        .try_for_each(|session| reseal_session(tx, session))
}

/// Sessions whose row is not as it was written, by their number.
pub fn damaged_sessions(tx: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = tx.prepare(&format!("SELECT {SESSION_COLUMNS} FROM sessions"))?;
    let mut rows = statement.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let seal = of_row("session", row, 0..SESSION_SEAL).map(Seal::short);
        let sound = seal.is_ok_and(|seal| row.get(SESSION_SEAL).is_ok_and(|own: i64| own == seal));
        if !sound {
            damaged.push(row.get(0)?);
        }
    }
    Ok(damaged)
}
