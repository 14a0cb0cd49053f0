//! The tables of sessions.

use rusqlite::{Transaction, params};

use crate::file::{FileFormat, FreedRoom};
use crate::sessions::EntryMarks;

/// The format this version writes.
pub(super) static FORMAT: FileFormat = FileFormat {
    name: "the session file",
    if_damaged: "nothing was changed. `chela sessions rescue` recovers what can be read",
    steps: &STEPS,
    mend: Some(mark_entries),
    room: FreedRoom::Kept,
};

/// Entry keys are `session row << 32 | entry number`: the rows of a session lie together, and an
/// entry needs no index of its own.
const STEPS: [&str; 3] = [
    "
    CREATE TABLE sessions (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        key TEXT NOT NULL,
        started INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        interacted INTEGER NOT NULL,
        ended INTEGER,
        ended_why TEXT,
        archived INTEGER,
        pinned INTEGER NOT NULL DEFAULT 0,
        parent TEXT,
        leaf INTEGER NOT NULL DEFAULT 0,
        redo TEXT, -- of older versions, no longer read
        label TEXT,
        display_name TEXT,
        settings TEXT NOT NULL DEFAULT '{}',
        input INTEGER NOT NULL DEFAULT 0,
        output INTEGER NOT NULL DEFAULT 0,
        cache_read INTEGER NOT NULL DEFAULT 0,
        cache_write INTEGER NOT NULL DEFAULT 0,
        context INTEGER NOT NULL DEFAULT 0,
        compactions INTEGER NOT NULL DEFAULT 0,
        flushed_at INTEGER,
        flushed_compaction INTEGER,
        entries INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0,
        version INTEGER NOT NULL DEFAULT 0
    );
    CREATE UNIQUE INDEX sessions_current ON sessions (key) WHERE ended IS NULL;
    CREATE INDEX sessions_updated ON sessions (updated);
    CREATE TABLE entries (
        key INTEGER PRIMARY KEY,
        parent INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    );
    CREATE TABLE frozen (
        row INTEGER PRIMARY KEY,
        body TEXT NOT NULL
    );
    ",
    "
    ALTER TABLE entries ADD COLUMN trust TEXT;
    ALTER TABLE entries ADD COLUMN source TEXT;
    CREATE INDEX entries_foreign ON entries (key) WHERE trust = 'external';
    CREATE INDEX entries_compaction ON entries (key) WHERE kind = 'compaction';
    ",
    "
    ALTER TABLE sessions ADD COLUMN resumed INTEGER;
    ",
];

/// Entries of the first version have their marks in their bodies only.
fn mark_entries(transaction: &Transaction<'_>, done: usize) -> rusqlite::Result<()> {
    if done != 1 {
        return Ok(());
    }
    let mut marked = Vec::new();
    let mut statement = transaction.prepare("SELECT key, kind, body FROM entries")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key: i64 = row.get(0)?;
        let marks = EntryMarks::of(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        if marks != EntryMarks::default() {
            marked.push((key, marks));
        }
    }
    let mut update =
        transaction.prepare("UPDATE entries SET trust = ?2, source = ?3 WHERE key = ?1")?;
    for (key, marks) in marked {
        update.execute(params![key, marks.trust, marks.source])?;
    }
    Ok(())
}
