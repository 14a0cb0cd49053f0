//! Opening a file that is there, even where nothing can be written: a backup on a read-only
//! disk, a disk without a byte left.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::format::{FileFormat, version_of};
use super::opening::{OpenedFile, open_file, refuse_newer, set_up};
use super::side_file;
use super::sound::FileState;
use crate::error::StoreError;

/// The way SQLite reads a file whose disk knows no locks.
const NO_LOCKS: &std::ffi::CStr = if cfg!(windows) {
    c"win32-none"
} else {
    c"unix-none"
};

/// Opens a file for writing if that can be, for reading if not; `None` when there is none.
pub(crate) fn open_existing(
    path: &Path,
    format: &FileFormat,
) -> Result<Option<OpenedFile>, StoreError> {
    if FileState::of(path) == FileState::Absent {
        return Ok(None);
    }
    match open_file(path, format) {
        Err(
            refused @ (StoreError::ReadOnly { .. }
            | StoreError::ReadOnlyDisk { .. }
            | StoreError::SideFile { .. }
            | StoreError::DiskFull { .. }),
        ) => {
            tracing::info!(error = %refused, "a file of records is opened for reading only");
            match open_read_only(path, format) {
                // What kept it from being written is the nearer trouble.
                Err(
                    StoreError::ReadOnly { .. }
                    | StoreError::ReadOnlyDisk { .. }
                    | StoreError::DiskFull { .. }
                    | StoreError::Other { .. },
                ) => Err(refused),
                opened => opened.map(Some),
            }
        }
        opened => opened.map(Some),
    }
}

fn open_read_only(path: &Path, format: &FileFormat) -> Result<OpenedFile, StoreError> {
    let (connection, found) = open_as_it_is(path).map_err(|error| format.explain(path, error))?;
    refuse_newer(path, format, found)?;
    if found < format.version() {
        return Err(StoreError::Older {
            name: format.name,
            path: path.to_owned(),
            found,
            known: format.version(),
        });
    }
    Ok(OpenedFile {
        connection,
        state: FileState::Present,
        may_write: false,
    })
}

/// A connection that changes nothing, by whichever way there is.
pub(super) fn open_as_it_is(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    with_locks(path)
        .or_else(|error| {
            tracing::debug!(%error, "a file is read without its side files");
            without_side_files(path)
        })
        .or_else(|error| match is_awaited(path) {
            true => Err(error),
            false => {
                tracing::debug!(%error, "a file is read alone, as it is");
                without_log(path)
            }
        })
}

/// Whether entries wait beside the file to be taken into it.
pub(super) fn is_awaited(path: &Path) -> bool {
    std::fs::metadata(side_file(path, "-wal")).is_ok_and(|side| side.len() > 0)
}

/// Beside a process that writes it, or where side files can be made.
fn with_locks(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    looked_at(connection)
}

/// Where no side file can be made: the index of what was written last is made in memory, so
/// that is read too, which `immutable` would leave out. Nobody else can be writing there.
fn without_side_files(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let connection =
        Connection::open_with_flags_and_vfs(path, OpenFlags::SQLITE_OPEN_READ_ONLY, NO_LOCKS)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    looked_at(connection)
}

/// Where nothing waits beside the file and nothing can be made there: the file alone, as it is.
fn without_log(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let escaped = path
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let address = format!("file:{escaped}?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    looked_at(Connection::open_with_flags(address, flags)?)
}

fn looked_at(connection: Connection) -> rusqlite::Result<(Connection, i64)> {
    set_up(&connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "query_only", "ON")?;
    let found = version_of(&connection)?;
    // The version may come from the first page alone; a table is read as a query would read it.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })?;
    Ok((connection, found))
}
