//! The tables. A version is a step in `STEPS`; files of an older version take the missing ones.

use rusqlite::Transaction;

use super::{calls, sealed};
use crate::file::{FileFormat, FreedRoom};

/// The format this version writes.
pub(super) static FORMAT: FileFormat = FileFormat {
    name: "the ledger",
    if_damaged: "restore a copy, or move it and ledger.head aside to start a new one",
    steps: &STEPS,
    mend: Some(reseal),
    room: FreedRoom::GivenBack,
};

/// `seal` columns hold a hash over the rest of their row, so that a row that changed
/// by itself is noticed; records have theirs in the audit chain.
const STEPS: [&str; 5] = [
    "
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        length INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        data BLOB NOT NULL,
        seal INTEGER NOT NULL
    );
    CREATE TABLE sessions (
        row INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key TEXT NOT NULL,
        agent TEXT NOT NULL,
        sections BLOB,
        sections_seq INTEGER
    );
    CREATE INDEX sessions_key ON sessions (key);
    CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL REFERENCES sessions (row),
        at INTEGER NOT NULL,
        turn TEXT NOT NULL,
        step INTEGER NOT NULL,
        model TEXT NOT NULL,
        url TEXT NOT NULL,
        length INTEGER NOT NULL,
        sent BLOB NOT NULL,
        stored BLOB,
        manifest BLOB NOT NULL,
        redactions TEXT,
        sections INTEGER NOT NULL,
        tools INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        reused INTEGER NOT NULL,
        reread INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        reused_bytes INTEGER NOT NULL,
        broken TEXT,
        cause TEXT,
        ended INTEGER,
        outcome INTEGER,
        input INTEGER,
        output INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        reasoning INTEGER,
        estimated INTEGER,
        cost INTEGER,
        error TEXT
    );
    CREATE INDEX records_session ON records (session, id);
    CREATE INDEX records_at ON records (at);
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        prev BLOB NOT NULL,
        hash BLOB NOT NULL
    );
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        turn TEXT NOT NULL,
        job TEXT NOT NULL,
        day TEXT NOT NULL,
        month TEXT NOT NULL,
        model TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        state INTEGER NOT NULL,
        owner TEXT NOT NULL,
        pid INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        seal INTEGER NOT NULL
    );
    CREATE INDEX calls_turn ON calls (turn);
    CREATE INDEX calls_session ON calls (session);
    CREATE INDEX calls_day ON calls (day);
    CREATE INDEX calls_month ON calls (month);
    CREATE INDEX calls_open ON calls (state) WHERE state = 0;
",
    "
    ALTER TABLE calls ADD COLUMN known_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE calls ADD COLUMN known_cost INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN seal INTEGER;
",
    // Lists of contents may have runs, which an older version does not read.
    "",
    // Chains besides the first, each with its own numbers.
    "
    CREATE TABLE chains (
        chain TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        prev BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (chain, seq)
    );
",
    // Who wrote an entry, shown by a key that lies elsewhere.
    "
    ALTER TABLE audit ADD COLUMN proof BLOB;
    ALTER TABLE chains ADD COLUMN proof BLOB;
",
];

/// Since this version the seals cover whole rows of calls and sessions.
const WHOLE_ROWS: usize = 2;

fn reseal(transaction: &Transaction<'_>, done: usize) -> rusqlite::Result<()> {
    if (1..WHOLE_ROWS).contains(&done) {
        calls::reseal_all(transaction)?;
        sealed::reseal_sessions(transaction)?;
    }
    Ok(())
}
