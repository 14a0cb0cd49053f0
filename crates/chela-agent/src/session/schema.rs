//! The tables. A version is a step in `STEPS`; files of an older version take the missing ones.

use rusqlite::{Connection, TransactionBehavior};

/// The format this version writes.
pub const VERSION: i64 = STEPS.len() as i64;

/// Entry keys are `session row << 32 | entry number`: the rows of a session lie together, and an
/// entry needs no index of its own.
const STEPS: [&str; 1] = ["
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
        redo TEXT,
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
"];

/// Brings a file of format `found` to [`VERSION`]. Two processes may try at once: the second
/// finds the work done.
pub fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or(0);
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
