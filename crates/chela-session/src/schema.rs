//! The tables.

use chela_store::{Format, Room};

/// The format this version writes.
pub const FORMAT: Format = Format {
    name: "the session file",
    if_damaged: "nothing was changed. `chela sessions rescue` saves what can be read of it",
    steps: &STEPS,
    mend: None,
    room: Room::Kept,
};

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
