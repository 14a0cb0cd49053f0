//! Rows of sessions and entries.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::sessions::{EntryMarks, EntryRecord, SessionRecord, UsageSums};

/// In the order [`session_of`] reads them.
const SESSION_COLUMNS: &str = "id, key, started, updated, interacted, ended, ended_why, archived, \
     pinned, parent, leaf, label, display_name, settings, input, output, cache_read, cache_write, \
     context, compactions, flushed_at, flushed_compaction, entries, bytes, version, resumed";

/// In the order [`entry_of`] reads them.
pub(super) const ENTRY_COLUMNS: &str = "key & 0xffffffff, parent, at, kind, body, trust, source";

pub(super) fn session_of(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        id: row.get(0)?,
        key: row.get(1)?,
        started: row.get(2)?,
        updated: row.get(3)?,
        interacted: row.get(4)?,
        ended: row.get(5)?,
        ended_why: row.get(6)?,
        archived: row.get(7)?,
        pinned: row.get(8)?,
        parent: row.get(9)?,
        leaf: row.get(10)?,
        label: row.get(11)?,
        display_name: row.get(12)?,
        settings: row.get(13)?,
        usage: UsageSums {
            input: row.get(14)?,
            output: row.get(15)?,
            cache_read: row.get(16)?,
            cache_write: row.get(17)?,
            context: row.get(18)?,
        },
        compactions: row.get(19)?,
        flushed_at: row.get(20)?,
        flushed_compaction: row.get(21)?,
        entries: row.get(22)?,
        bytes: row.get(23)?,
        version: row.get(24)?,
        resumed: row.get(25)?,
    })
}

/// The sessions a condition chooses, in the order it says.
pub(super) fn find_sessions(
    connection: &Connection,
    which: &str,
    with: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<SessionRecord>> {
    connection
        .prepare_cached(&format!(
            "SELECT {SESSION_COLUMNS} FROM sessions WHERE {which}"
        ))?
        .query_map(with, session_of)?
        .collect()
}

pub(super) fn session_by_id(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<SessionRecord>> {
    Ok(find_sessions(connection, "id = ?1", &[&id])?.pop())
}

pub(super) fn current_session(
    connection: &Connection,
    key: &str,
) -> rusqlite::Result<Option<SessionRecord>> {
    Ok(find_sessions(connection, "key = ?1 AND ended IS NULL", &[&key])?.pop())
}

/// The row of a session, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionRow {
    pub row: i64,
    pub leaf: u32,
    pub version: u64,
}

pub(super) fn row_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<SessionRow>> {
    connection
        .prepare_cached("SELECT row, leaf, version FROM sessions WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(SessionRow {
                row: row.get(0)?,
                leaf: row.get(1)?,
                version: row.get(2)?,
            })
        })
        .optional()
}

impl SessionRow {
    pub fn key(self, number: u32) -> i64 {
        entry_key(self.row, number)
    }
}

pub(super) fn entry_key(session: i64, number: u32) -> i64 {
    session << 32 | i64::from(number)
}

pub(super) fn entry_of(row: &Row<'_>) -> rusqlite::Result<EntryRecord> {
    Ok(EntryRecord {
        number: row.get(0)?,
        parent: row.get(1)?,
        at: row.get(2)?,
        kind: row.get(3)?,
        body: row.get(4)?,
        trust: row.get(5)?,
        source: row.get(6)?,
    })
}

/// The first or the last message of a person.
pub(super) fn said_end(
    connection: &Connection,
    session: i64,
    order: &str,
) -> rusqlite::Result<Option<EntryRecord>> {
    connection
        .prepare_cached(&format!(
            "SELECT {ENTRY_COLUMNS} FROM entries WHERE key BETWEEN ?1 AND ?2 \
             AND kind = 'message' AND source = 'person' ORDER BY key {order} LIMIT 1"
        ))?
        .query_row(
            params![entry_key(session, 0), entry_key(session, u32::MAX)],
            entry_of,
        )
        .optional()
}

/// An entry on its way into the file.
pub(super) struct EntryRow<'a> {
    pub number: u32,
    pub parent: u32,
    pub at: u64,
    pub kind: &'a str,
    pub body: &'a str,
    pub marks: &'a EntryMarks,
}

pub(super) fn insert_entry(
    connection: &Connection,
    session: i64,
    entry: &EntryRow<'_>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO entries (key, parent, at, kind, body, trust, source) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            entry_key(session, entry.number),
            entry.parent,
            entry.at,
            entry.kind,
            entry.body,
            entry.marks.trust,
            entry.marks.source,
        ])
        .map(drop)
}
