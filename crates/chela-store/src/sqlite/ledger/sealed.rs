//! The seals of a record: hashes over its row, which the audit chain repeats.

use chela_core::ContentHash;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::manifest::StoredList;
use super::seal::{SealBuilder, damaged_rows, of_row};

/// What the seals are read from. `records.id` comes first.
pub(super) const SEALED_COLUMNS: &str = "records.id, sessions.id, sessions.key, sessions.agent, at, turn, \
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
pub(super) fn seal_of_row(row: &Row<'_>) -> rusqlite::Result<ContentHash> {
    Ok(SealBuilder::new("request").columns(row, BEGUN)?.hash())
}

/// The seal over what came of it; `None` while nothing did.
pub(super) fn outcome_seal_of_row(row: &Row<'_>) -> rusqlite::Result<Option<ContentHash>> {
    let mut nothing = true;
    for column in ENDED {
        nothing &= matches!(row.get_ref(column)?, ValueRef::Null);
    }
    if nothing {
        return Ok(None);
    }
    let seal = SealBuilder::new("outcome").number(row.get(0)?);
    Ok(Some(seal.columns(row, ENDED)?.hash()))
}

/// The contents a record is made of.
pub(super) fn blobs_of_row(row: &Row<'_>) -> rusqlite::Result<StoredList> {
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

/// The entry that lists the sections of a session, if it is this list.
pub(super) fn listed_sections(
    tx: &Connection,
    session: &str,
    list: ContentHash,
) -> rusqlite::Result<Option<u64>> {
    Ok(tx
        .prepare_cached("SELECT sections_seq FROM sessions WHERE id = ?1 AND sections = ?2")?
        .query_row(params![session, list.as_bytes()], |row| row.get(0))
        .optional()?
        .flatten())
}

pub(super) fn note_sections(
    tx: &Connection,
    session: &str,
    list: ContentHash,
    entry: u64,
) -> rusqlite::Result<()> {
    let row = tx
        .prepare_cached(
            "UPDATE sessions SET sections = ?2, sections_seq = ?3 WHERE id = ?1 RETURNING row",
        )?
        .query_row(params![session, list.as_bytes(), entry], |row| row.get(0))?;
    reseal_session(tx, row)
}

/// Seals the row of a session after it was written.
pub(super) fn reseal_session(tx: &Connection, session: i64) -> rusqlite::Result<()> {
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
pub(super) fn reseal_sessions(tx: &Connection) -> rusqlite::Result<()> {
    let all: Vec<i64> = tx
        .prepare("SELECT row FROM sessions")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    all.into_iter()
        .try_for_each(|session| reseal_session(tx, session))
}

/// Sessions whose row is not as it was written, by their number.
pub(super) fn damaged_sessions(tx: &Connection) -> rusqlite::Result<Vec<i64>> {
    let all = format!("SELECT {SESSION_COLUMNS} FROM sessions");
    damaged_rows(tx, "session", &all, SESSION_SEAL)
}
