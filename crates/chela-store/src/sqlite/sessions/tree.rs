//! The tree of a session.

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{ENTRY_COLUMNS, EntryRow, SessionRow, entry_key, entry_of, insert_entry, row_of};
use crate::engine::JobError;
use crate::sessions::{
    EntryBatch, EntryMarks, EntryRecord, LeafMove, SessionIncarnation, SessionTree, UsageSums,
};

/// Appends entries one after the other.
pub(super) fn append(
    connection: &Connection,
    id: &str,
    batch: &EntryBatch,
) -> Result<Option<Vec<u32>>, JobError> {
    let Some(session) = row_of(connection, id)? else {
        return Ok(None);
    };
    let mut leaf = session.leaf;
    let mut person = false;
    let mut numbers = Vec::with_capacity(batch.entries.len());
    for (number, entry) in (last_number(connection, session)? + 1..).zip(&batch.entries) {
        let marks = EntryMarks::of(&entry.kind, &entry.body);
        let row = EntryRow {
            number,
            parent: leaf,
            at: batch.at,
            kind: &entry.kind,
            body: &entry.body,
            marks: &marks,
        };
        insert_entry(connection, session.row, &row)?;
        person |= marks.is_from_a_person();
        numbers.push(number);
        leaf = number;
    }
    let compactions = batch
        .entries
        .iter()
        .filter(|entry| entry.kind == COMPACTION);
    connection
        .prepare_cached(
            "UPDATE sessions SET leaf = ?2, updated = ?3, \
             interacted = CASE WHEN ?4 THEN ?3 ELSE interacted END, \
             compactions = compactions + ?5, entries = entries + ?6, \
             bytes = bytes + ?7, version = version + 1 WHERE row = ?1",
        )?
        .execute(params![
            session.row,
            leaf,
            batch.at,
            person,
            compactions.count(),
            batch.entries.len(),
            batch
                .entries
                .iter()
                .map(|entry| entry.body.len())
                .sum::<usize>(),
        ])?;
    if let Some(usage) = batch.usage {
        add_usage(connection, session.row, usage)?;
    }
    Ok(Some(numbers))
}

pub(super) const COMPACTION: &str = "compaction";

pub(super) fn add_usage(
    connection: &Connection,
    session: i64,
    usage: UsageSums,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE sessions SET input = input + ?2, output = output + ?3, \
             cache_read = cache_read + ?4, cache_write = cache_write + ?5, context = ?6, \
             version = version + 1 WHERE row = ?1",
        )?
        .execute(params![
            session,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.context
        ])
        .map(drop)
}

/// The entries that lead to the leaf. Bodies of branches that were left are not fetched: first
/// the way is walked without any, then what lies together on it is read together.
pub(super) fn branch(
    connection: &Connection,
    session: SessionRow,
) -> rusqlite::Result<Vec<EntryRecord>> {
    let way = way_to_leaf(connection, session)?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS} FROM entries WHERE key BETWEEN ?1 AND ?2 ORDER BY key"
    ))?;
    let mut branch = Vec::with_capacity(way.len());
    for run in way.chunk_by(|one, next| one + 1 == *next) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        for entry in statement.query_map([session.key(*first), session.key(*last)], entry_of)? {
            branch.push(entry?);
        }
    }
    Ok(branch)
}

/// The numbers from the root to the leaf. Parents are always older.
fn way_to_leaf(connection: &Connection, session: SessionRow) -> rusqlite::Result<Vec<u32>> {
    let mut wanted = session.leaf;
    let mut way = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT key & 0xffffffff, parent FROM entries WHERE key BETWEEN ?1 AND ?2 \
         ORDER BY key DESC",
    )?;
    let mut rows = statement.query([session.key(0), session.key(session.leaf)])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, u32>(0)? == wanted {
            way.push(wanted);
            wanted = row.get(1)?;
        }
    }
    way.reverse();
    Ok(way)
}

pub(super) fn read_since(
    connection: &Connection,
    id: &str,
    after: u32,
) -> Result<Option<SessionTree>, JobError> {
    let Some(session) = row_of(connection, id)? else {
        return Ok(None);
    };
    let entries = connection
        .prepare_cached(&format!(
            "SELECT {ENTRY_COLUMNS} FROM entries WHERE key > ?1 AND key <= ?2 ORDER BY key"
        ))?
        .query_map([session.key(after), session.key(u32::MAX)], entry_of)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(SessionTree {
        // Rows are never used again.
        incarnation: SessionIncarnation(session.row),
        leaf: session.leaf,
        version: session.version,
        entries,
    }))
}

/// Most sessions have none, which an index knows. Else the way back from the leaf is walked,
/// without bodies.
pub(super) fn last_compaction(connection: &Connection, id: &str) -> Result<Option<u32>, JobError> {
    let Some(session) = row_of(connection, id)? else {
        return Ok(None);
    };
    let oldest: Option<u32> = connection
        .prepare_cached(
            "SELECT key & 0xffffffff FROM entries WHERE key BETWEEN ?1 AND ?2 \
             AND kind = 'compaction' ORDER BY key LIMIT 1",
        )?
        .query_row([session.key(0), session.key(session.leaf)], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(oldest) = oldest else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(
        "SELECT key & 0xffffffff, parent, kind = 'compaction' FROM entries \
         WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC",
    )?;
    let mut rows = statement.query([session.key(oldest), session.key(session.leaf)])?;
    let mut wanted = session.leaf;
    while let Some(row) = rows.next()? {
        let number: u32 = row.get(0)?;
        if number != wanted {
            continue;
        }
        if row.get(2)? {
            return Ok(Some(number));
        }
        wanted = row.get(1)?;
    }
    Ok(None)
}

pub(super) fn move_leaf(
    connection: &Connection,
    id: &str,
    leaf: LeafMove,
) -> Result<Option<bool>, JobError> {
    let Some(session) = row_of(connection, id)? else {
        return Ok(None);
    };
    if session.leaf != leaf.expected {
        return Ok(Some(false));
    }
    connection
        .prepare_cached("UPDATE sessions SET leaf = ?2, version = version + 1 WHERE row = ?1")?
        .execute([session.row, i64::from(leaf.target)])?;
    Ok(Some(true))
}

fn last_number(connection: &Connection, session: SessionRow) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(
            "SELECT key & 0xffffffff FROM entries WHERE key BETWEEN ?1 AND ?2 \
             ORDER BY key DESC LIMIT 1",
        )?
        .query_row([session.key(0), session.key(u32::MAX)], |row| row.get(0))
        .optional()
        .map(Option::unwrap_or_default)
}

pub(super) fn remove_session(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    connection.execute(
        "DELETE FROM entries WHERE key BETWEEN ?1 AND ?2",
        [entry_key(session, 0), entry_key(session, u32::MAX)],
    )?;
    connection.execute("DELETE FROM frozen WHERE row = ?1", [session])?;
    connection.execute("DELETE FROM sessions WHERE row = ?1", [session])?;
    Ok(())
}
