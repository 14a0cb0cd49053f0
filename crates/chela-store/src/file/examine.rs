//! A look at a file that changes nothing in it, whatever its format.

use std::io::Read;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::format::{FileFormat, FreedRoom, version_of};
use super::opening::set_up;
use super::reading::{is_awaited, open_as_it_is};
use super::sound::{FileSoundness, check_quickly};
use crate::error::{EngineFault, StoreError};

/// What a look at a file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileExamination {
    Sound,
    /// Something else lies there: a text, a picture.
    NotADatabase,
    /// What is wrong, in the engine's words.
    Damaged(Vec<String>),
}

/// Reads a whole file to see whether it hangs together. Nothing is brought up to date and nothing
/// that waits beside it is written into it: a damaged file stays as it is for whoever rescues it.
pub fn examine(path: &Path, name: &'static str) -> Result<FileExamination, StoreError> {
    if !begins_as_database(path)? {
        return Ok(FileExamination::NotADatabase);
    }
    match check_in_place(path).or_else(|error| check_where_nothing_is_written(path, error)) {
        Ok(FileSoundness::Sound) => Ok(FileExamination::Sound),
        Ok(FileSoundness::Damaged(complaints)) => Ok(FileExamination::Damaged(complaints)),
        Err(error) if EngineFault::of(&error) == EngineFault::Damaged => {
            Ok(FileExamination::Damaged(vec![error.to_string()]))
        }
        Err(error) => Err(unknown_format(name).explain(path, error)),
    }
}

fn begins_as_database(path: &Path) -> Result<bool, StoreError> {
    const BEGINNING: &[u8] = b"SQLite format 3\0";
    let mut first = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(BEGINNING.len() as u64).read_to_end(&mut first))
        .map_err(|source| StoreError::File {
            path: path.to_owned(),
            source,
        })?;
    Ok(first == BEGINNING)
}

fn check_in_place(path: &Path) -> rusqlite::Result<FileSoundness> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    set_up(&connection)?;
    // The last one to close a file takes what waits beside it into it, unless told not to. Where
    // nothing waits, closing removes the side files this look made.
    let waits = is_awaited(path);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, waits)?;
    connection.pragma_update(None, "query_only", "ON")?;
    version_of(&connection)?;
    check_quickly(&connection)
}

fn check_where_nothing_is_written(
    path: &Path,
    refused: rusqlite::Error,
) -> rusqlite::Result<FileSoundness> {
    match EngineFault::of_file(&refused, path) {
        EngineFault::ReadOnly | EngineFault::DiskFull => {
            let (connection, _) = open_as_it_is(path)?;
            check_quickly(&connection)
        }
        _ => Err(refused),
    }
}

/// Names the file in errors; nothing is opened by it.
pub(super) const fn unknown_format(name: &'static str) -> FileFormat {
    FileFormat {
        name,
        if_damaged: "nothing was changed",
        steps: &[],
        mend: None,
        room: FreedRoom::Kept,
    }
}

#[cfg(test)]
mod tests;
