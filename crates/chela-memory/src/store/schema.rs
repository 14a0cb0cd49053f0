//! The tables.

use rusqlite::Connection;

/// Format of the file, kept in `user_version`.
pub const VERSION: i64 = 2;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row per note. Its chunks are current in `segment` alone: what other segments hold of it
-- is dead.
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY,
    label TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL,
    source TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    hash BLOB NOT NULL,
    cut TEXT NOT NULL,
    segment INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    trust TEXT NOT NULL,
    audience TEXT NOT NULL,
    indexed_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    date INTEGER,
    body_at INTEGER NOT NULL,
    hash BLOB NOT NULL,
    -- Who says it, as written; empty for nobody.
    speaker TEXT NOT NULL,
    language INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS chunks_by_file ON chunks (file);

-- Postings: which term stands in which chunk.
CREATE TABLE IF NOT EXISTS segments (id INTEGER PRIMARY KEY, docs INTEGER NOT NULL, data BLOB NOT NULL);

-- The vectors of a segment's chunks under one model.
CREATE TABLE IF NOT EXISTS vectors (
    segment INTEGER NOT NULL,
    model TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (segment, model)
);

-- Vectors that were slow or paid for, by provider, model and content.
CREATE TABLE IF NOT EXISTS embedding_cache (
    model TEXT NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (model, hash)
) WITHOUT ROWID;

-- Phrases, and the reference's ranking.
CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts
    USING fts5(text, content='', contentless_delete=1, tokenize='unicode61');
";

const NAMES: [&str; 7] = [
    "meta",
    "files",
    "chunks",
    "segments",
    "vectors",
    "embedding_cache",
    "chunks_fts",
];

pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"
    ))
}

/// From an older format. What is derived is made again from the notes; vectors that were slow or
/// paid for stay.
pub fn upgrade(connection: &Connection, from: i64) -> rusqlite::Result<()> {
    if from > 0 {
        tracing::info!(
            from,
            to = VERSION,
            "the index of memory gets a newer format"
        );
        connection.execute_batch(
            "BEGIN IMMEDIATE; DROP TABLE IF EXISTS meta; DROP TABLE IF EXISTS files; \
             DROP TABLE IF EXISTS chunks; DROP TABLE IF EXISTS segments; \
             DROP TABLE IF EXISTS vectors; DROP TABLE IF EXISTS chunks_fts; COMMIT;",
        )?;
    }
    create(connection)
}

pub fn complete(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection
        .prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for name in NAMES {
        if statement.query_row([name], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
