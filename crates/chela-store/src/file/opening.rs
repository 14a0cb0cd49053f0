//! Opening a file that may be written.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::format::{Format, version_of};
use super::sound::FileState;
use crate::error::StoreError;

/// How long a writer waits for another before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// A file with its first connection.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub connection: Connection,
    /// What was there before.
    pub state: FileState,
    pub may_write: bool,
}

/// Opens a file, making it and its folder if they are not there.
pub fn open(path: &Path, format: &Format) -> Result<Connection, StoreError> {
    Ok(open_file(path, format)?.connection)
}

/// One that leaves no trace.
pub fn open_in_memory(format: &Format) -> Result<Connection, StoreError> {
    Ok(open_memory(format)?.connection)
}

pub(crate) fn open_file(path: &Path, format: &Format) -> Result<OpenedFile, StoreError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
            path: folder.to_owned(),
            source,
        })?;
    }
    keep_private(path);
    prepared(Connection::open(path), path, format)
}

pub(crate) fn open_memory(format: &Format) -> Result<OpenedFile, StoreError> {
    prepared(Connection::open_in_memory(), Path::new(":memory:"), format)
}

/// One more connection to a file that is open, for reading.
pub(crate) fn open_beside(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    set_up(&connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "query_only", "ON")?;
    Ok(connection)
}

pub(super) fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// What is written down is nobody else's business: the file is made for its owner alone, and
/// SQLite gives its journal the same permissions. Best effort: opening says what is wrong.
fn keep_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let _ = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
    }
    #[cfg(not(unix))]
    let _ = path;
}

fn prepared(
    opened: rusqlite::Result<Connection>,
    path: &Path,
    format: &Format,
) -> Result<OpenedFile, StoreError> {
    let looked_at = opened.and_then(|connection| {
        set_up(&connection)?;
        // Fails on a file that is no database, before anything is changed.
        let found = version_of(&connection)?;
        Ok((connection, found))
    });
    let (mut connection, found) = looked_at.map_err(|error| format.explain(path, error))?;
    refuse_newer(path, format, found)?;
    match format.prepare(&mut connection, found) {
        Ok(()) => Ok(OpenedFile {
            connection,
            state: match found {
                0 => FileState::Empty,
                _ => FileState::Present,
            },
            may_write: true,
        }),
        Err(error) => Err(format.explain(path, error)),
    }
}

pub(super) fn refuse_newer(path: &Path, format: &Format, found: i64) -> Result<(), StoreError> {
    if found > format.version() {
        return Err(StoreError::Newer {
            name: format.name,
            path: path.to_owned(),
            found,
            known: format.version(),
        });
    }
    Ok(())
}
