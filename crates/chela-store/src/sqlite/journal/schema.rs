//! The tables of the journal.

use crate::file::{Format, Room};

pub(super) static FORMAT: Format = Format {
    name: "the journal",
    if_damaged: "move it aside to begin a new one (older changes cannot be taken back then)",
    steps: &STEPS,
    mend: None,
    room: Room::GivenBack,
};

/// `foreign_files` and `foreign_texts` outlive the changes they came from: that a change can no
/// longer be taken back does not make its text any better.
/// Paths inside the home are kept relative to it, so that a copy of a home speaks of its own files;
/// `home` says where a change was made whose path is absolute.
const STEPS: [&str; 2] = [
    "
    CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        session TEXT NOT NULL,
        session_id TEXT NOT NULL,
        turn TEXT NOT NULL,
        call TEXT NOT NULL,
        tool TEXT NOT NULL,
        path TEXT NOT NULL,
        keeps TEXT,
        what TEXT NOT NULL,
        before_hash BLOB,
        before_size INTEGER NOT NULL,
        before BLOB,
        after_hash BLOB,
        tainted INTEGER NOT NULL,
        foreign_before INTEGER NOT NULL,
        foreign_after INTEGER NOT NULL,
        undone INTEGER
    );
    CREATE INDEX changes_turn ON changes (turn);
    CREATE INDEX changes_path ON changes (path, id);
    CREATE INDEX changes_undone ON changes (undone) WHERE undone IS NOT NULL;
    CREATE TABLE foreign_files (
        path TEXT PRIMARY KEY
    ) WITHOUT ROWID;
    CREATE TABLE foreign_texts (
        hash BLOB PRIMARY KEY,
        size INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX foreign_sizes ON foreign_texts (size);
",
    "ALTER TABLE changes ADD COLUMN home TEXT",
];
