//! The tables of the journal.

use crate::file::{FileFormat, FreedRoom};

pub(super) static FORMAT: FileFormat = FileFormat {
    name: "the journal",
    if_damaged: "move it aside to start a new one (older changes can then no longer be undone)",
    steps: &STEPS,
    mend: None,
    room: FreedRoom::GivenBack,
};

/// `foreign_files` and `foreign_texts` outlive the changes they came from: that a change can no
/// longer be taken back does not make its text any better.
/// Paths inside the home are kept relative to it, so that a copy of a home speaks of its own files;
/// `home` says where a change was made whose path is absolute.
///
/// `own_files` holds the versions of files that somebody answers for; whatever is not in it, or in
/// the record of the files that shape an agent, is foreign. A hash of no bytes stands for a version
/// that is known by its stamp alone. What an older version noted counts where the agent made the
/// file, or wrote all of it, without having read foreign text.
const STEPS: [&str; 3] = [
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
    "
    CREATE TABLE own_files (
        path TEXT NOT NULL,
        hash BLOB NOT NULL,
        stamp TEXT NOT NULL,
        writer TEXT NOT NULL,
        how TEXT NOT NULL,
        turn TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (path, hash)
    ) WITHOUT ROWID;
    INSERT OR REPLACE INTO own_files (path, hash, stamp, writer, how, turn, at)
        SELECT path, after_hash, '', 'agent', tool, turn, at FROM changes
        WHERE after_hash IS NOT NULL AND foreign_after = 0 AND tainted = 0
        AND (keeps IS NULL OR path IN (SELECT path FROM changes WHERE before_hash IS NULL));
",
];
