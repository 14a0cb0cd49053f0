//! Deleting requests and what only they used.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::manifest::{self, StoredList};
use crate::engine::JobError;
use crate::ledger::DeletedContents;

pub(super) fn count_requests(tx: &Connection) -> rusqlite::Result<u64> {
    tx.query_row("SELECT count(*) FROM records", [], |row| row.get(0))
}

pub(super) fn content_bytes(tx: &Connection) -> rusqlite::Result<u64> {
    let all = "SELECT coalesce(sum(length(data)), 0) FROM blobs";
    tx.query_row(all, [], |row| row.get(0))
}

pub(super) fn oldest(
    tx: &Connection,
    before: Option<u64>,
    limit: u64,
) -> rusqlite::Result<Vec<i64>> {
    let numbers = |row: &rusqlite::Row<'_>| row.get(0);
    match before {
        Some(before) => tx
            .prepare_cached("SELECT id FROM records WHERE at < ?1 ORDER BY id LIMIT ?2")?
            .query_map(params![before, limit], numbers)?
            .collect(),
        None => tx
            .prepare_cached("SELECT id FROM records ORDER BY id LIMIT ?1")?
            .query_map([limit], numbers)?
            .collect(),
    }
}

pub(super) fn of_session(tx: &Connection, session: &str) -> rusqlite::Result<Vec<i64>> {
    tx.prepare_cached(
        "SELECT records.id FROM records JOIN sessions ON sessions.row = records.session \
         WHERE sessions.id = ?1 ORDER BY records.id",
    )?
    .query_map([session], |row| row.get(0))?
    .collect()
}

pub(super) fn delete(tx: &Connection, numbers: &[i64]) -> Result<DeletedContents, JobError> {
    let mut candidates = HashSet::new();
    for number in numbers {
        used(tx, "WHERE id = ?1", &[number], |content| {
            candidates.insert(content);
        })?;
        tx.prepare_cached("DELETE FROM records WHERE id = ?1")?
            .execute([number])?;
    }
    used(tx, "", &[], |content| {
        candidates.remove(&content);
    })?;
    let mut deleted = DeletedContents {
        contents: candidates.len(),
        bytes: 0,
    };
    for content in candidates {
        deleted.bytes += tx
            .prepare_cached("DELETE FROM blobs WHERE id = ?1 RETURNING length(data)")?
            .query_row([content], |row| row.get::<_, u64>(0))
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(0),
                error => Err(error),
            })?;
    }
    tx.execute(
        "DELETE FROM sessions WHERE row NOT IN (SELECT session FROM records)",
        [],
    )?;
    Ok(deleted)
}

pub(super) fn forget_session(tx: &Connection, session: &str) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM sessions WHERE id = ?1", [session])?;
    Ok(())
}

/// Every content that some requests are made of.
fn used(
    tx: &Connection,
    which: &str,
    values: &[&dyn rusqlite::ToSql],
    mut take: impl FnMut(i64),
) -> Result<(), JobError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT manifest, sections, tools, outcome FROM records {which}"
    ))?;
    let mut rows = statement.query(values)?;
    let mut runs = HashSet::new();
    let unreadable = |error: JobError| {
        tracing::warn!(%error, "requests are not deleted: what they are made of cannot be read");
        super::damaged("a list of contents cannot be read, so nothing was deleted")
    };
    while let Some(row) = rows.next()? {
        let bytes: Vec<u8> = row.get(0)?;
        let list = StoredList::of(&bytes).map_err(unreadable)?;
        for run in list.runs {
            take(run);
            if runs.insert(run) {
                let numbers = manifest::run_of(tx, run).map_err(unreadable)?;
                numbers.into_iter().for_each(&mut take);
            }
        }
        list.rest.into_iter().for_each(&mut take);
        for column in 1..4 {
            row.get::<_, Option<i64>>(column)?
                .into_iter()
                .for_each(&mut take);
        }
    }
    Ok(())
}
