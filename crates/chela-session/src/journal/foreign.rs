//! Which files hold text from outside.
//!
//! A file that was written in a turn that had read foreign text is foreign, until it is written
//! anew in one that had not, taken back, or vouched for by the owner. Somebody else's edit does
//! not change that: what they left standing is still there. And a copy is known by its content,
//! wherever it lies.

use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use rusqlite::{Connection, params};

use super::{Journal, JournalError};

/// Texts shorter than this are not known again elsewhere: too many files say `ok`.
const SHORTEST: usize = 16;
/// Larger files are not compared with what was written.
const LARGEST: u64 = chela_tools::MOST_FILE_BYTES;

impl Journal {
    /// Whether a file holds text that was written in a turn that had read foreign text.
    pub fn is_foreign(&self, path: &Path) -> Result<bool, JournalError> {
        let Ok(name) = self.name_of(path) else {
            return Ok(false);
        };
        let found = self.read(|connection| is_foreign_on_disk(connection, &name, path))?;
        Ok(found.unwrap_or(false))
    }

    /// The files that hold foreign text, by where they lie.
    pub fn foreign_files(&self) -> Result<Vec<PathBuf>, JournalError> {
        let found = self.read(|connection| {
            connection
                .prepare_cached("SELECT path FROM foreign_files")?
                .query_map([], |row| row.get::<_, String>(0))?
                .map(|name| name.map(|name| self.path_of(name)))
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Notes that a file the runtime itself wrote holds foreign text.
    pub fn mark_foreign(&self, path: &Path) -> Result<(), JournalError> {
        let content = std::fs::read(path).ok();
        let path = self.name_of(path)?;
        self.write(|tx| mark(tx, &path, content.as_deref(), true))
    }

    /// The owner has read a file and stands for it as it is. Says whether it was foreign.
    pub fn vouch(&self, path: &Path) -> Result<bool, JournalError> {
        if !self.is_foreign(path)? {
            return Ok(false);
        }
        let hash = std::fs::read(path).ok().map(ContentHash::of);
        let path = self.name_of(path)?;
        self.write(|tx| {
            tx.execute("DELETE FROM foreign_files WHERE path = ?1", [&path])?;
            if let Some(hash) = hash {
                tx.execute(
                    "DELETE FROM foreign_texts WHERE hash = ?1",
                    [hash.as_bytes()],
                )?;
            }
            Ok(true)
        })
    }
}

/// The same for content that is at hand.
pub(super) fn is_foreign(
    connection: &Connection,
    path: &str,
    content: Option<&[u8]>,
) -> rusqlite::Result<bool> {
    let by_path = connection
        .prepare_cached("SELECT 1 FROM foreign_files WHERE path = ?1")?
        .exists([path])?;
    if by_path {
        return Ok(true);
    }
    match content {
        Some(content) if has_size(connection, content.len() as u64)? => {
            has_text(connection, content)
        }
        _ => Ok(false),
    }
}

pub(super) fn is_foreign_on_disk(
    connection: &Connection,
    name: &str,
    path: &Path,
) -> rusqlite::Result<bool> {
    if is_foreign(connection, name, None)? {
        return Ok(true);
    }
    let size = std::fs::metadata(path).map_or(0, |facts| facts.len());
    if size > LARGEST || !has_size(connection, size)? {
        return Ok(false);
    }
    match std::fs::read(path) {
        Ok(content) => has_text(connection, &content),
        Err(_) => Ok(false),
    }
}

/// Notes how things stand with a file from now on.
pub(super) fn mark(
    connection: &Connection,
    path: &str,
    content: Option<&[u8]>,
    foreign: bool,
) -> rusqlite::Result<()> {
    if !foreign {
        connection
            .prepare_cached("DELETE FROM foreign_files WHERE path = ?1")?
            .execute([path])?;
        return Ok(());
    }
    connection
        .prepare_cached("INSERT OR IGNORE INTO foreign_files (path) VALUES (?1)")?
        .execute([path])?;
    if let Some(content) = content.filter(|content| content.len() >= SHORTEST) {
        connection
            .prepare_cached("INSERT OR IGNORE INTO foreign_texts (hash, size) VALUES (?1, ?2)")?
            .execute(params![ContentHash::of(content).as_bytes(), content.len()])?;
    }
    Ok(())
}

fn has_size(connection: &Connection, size: u64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM foreign_texts WHERE size = ?1")?
        .exists([size])
}

fn has_text(connection: &Connection, content: &[u8]) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM foreign_texts WHERE hash = ?1")?
        .exists([ContentHash::of(content).as_bytes()])
}
