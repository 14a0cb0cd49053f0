//! Which files and texts are foreign.

use rusqlite::{Connection, params};

use super::own_versions;
use crate::journal::{ForeignQuery, NewChange, OwnVersion, TextMark, TrustChange};

pub(super) fn is_foreign(connection: &Connection, what: &ForeignQuery) -> rusqlite::Result<bool> {
    match what {
        ForeignQuery::Path(path) => has_path(connection, path),
        ForeignQuery::Size(size) => connection
            .prepare_cached("SELECT 1 FROM foreign_texts WHERE size = ?1")?
            .exists([size]),
        ForeignQuery::Text(hash) => connection
            .prepare_cached("SELECT 1 FROM foreign_texts WHERE hash = ?1")?
            .exists([hash]),
    }
}

fn has_path(connection: &Connection, path: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM foreign_files WHERE path = ?1")?
        .exists([path])
}

/// By where it lies, or by what it holds.
fn is_foreign_file(
    connection: &Connection,
    path: &str,
    text: Option<TextMark>,
) -> rusqlite::Result<bool> {
    Ok(has_path(connection, path)?
        || match text {
            Some(text) => is_foreign(connection, &ForeignQuery::Text(text.hash))?,
            None => false,
        })
}

/// How things stand with the file of a change before and after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForeignStates {
    pub before: bool,
    pub after: bool,
}

/// Judges a change and notes how things stand with its file from then on.
pub(super) fn follow_change(
    tx: &Connection,
    change: &NewChange,
) -> rusqlite::Result<ForeignStates> {
    let before = is_foreign_file(tx, &change.path, change.before)?;
    let lives_on = match &change.keeps {
        Some(kept) if kept.path == change.path => before,
        Some(kept) => is_foreign_file(tx, &kept.path, kept.text)?,
        None => false,
    };
    let after = match change.trust {
        TrustChange::Follows => change.after.is_some() && (change.tainted || lives_on),
        TrustChange::Restored { foreign } => foreign,
    };
    if after {
        let known = change
            .after
            .filter(|text| text.size >= change.shortest_known);
        mark_foreign(tx, &change.path, known)?;
    } else {
        clear(tx, &change.path)?;
        note_own(tx, change)?;
    }
    Ok(ForeignStates { before, after })
}

/// Text that a clean turn wrote is the agent's own, unless text that nobody answers for lives on
/// in it. What was taken back is what it was before: its version is on record or it is not.
fn note_own(tx: &Connection, change: &NewChange) -> rusqlite::Result<()> {
    let Some(after) = change
        .after
        .filter(|_| change.trust == TrustChange::Follows)
    else {
        return Ok(());
    };
    if change.keeps.is_some() && !change.keeps_own {
        return Ok(());
    }
    let version = OwnVersion {
        hash: Some(after.hash),
        stamp: String::new(),
        writer: "agent".to_owned(),
        how: change.tool.clone(),
        turn: change.turn.clone(),
        at: change.at,
    };
    own_versions::insert(tx, &change.path, &version)
}

pub(super) fn mark_foreign(
    tx: &Connection,
    path: &str,
    text: Option<TextMark>,
) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO foreign_files (path) VALUES (?1)")?
        .execute([path])?;
    if let Some(text) = text {
        tx.prepare_cached("INSERT OR IGNORE INTO foreign_texts (hash, size) VALUES (?1, ?2)")?
            .execute(params![text.hash, text.size])?;
    }
    Ok(())
}

pub(super) fn clear(tx: &Connection, path: &str) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM foreign_files WHERE path = ?1")?
        .execute([path])
        .map(drop)
}
