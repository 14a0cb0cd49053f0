//! Opening a file that may be written.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_files::{FileFacts as _, FileRights, LockFile, open_plain, restrict_to_owner};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::format::{FileFormat, version_of};
use super::side_file;
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
pub fn open(path: &Path, format: &FileFormat) -> Result<Connection, StoreError> {
    Ok(open_file(path, format)?.connection)
}

/// One that leaves no trace.
pub fn open_in_memory(format: &FileFormat) -> Result<Connection, StoreError> {
    Ok(open_memory(format)?.connection)
}

pub(crate) fn open_file(path: &Path, format: &FileFormat) -> Result<OpenedFile, StoreError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
            path: folder.to_owned(),
            source,
        })?;
    }
    keep_private(path);
    mend_side_files(path);
    let _beginning = BeginningLock::take(path);
    prepared(Connection::open(path), path, format)
}

pub(crate) fn open_memory(format: &FileFormat) -> Result<OpenedFile, StoreError> {
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
    // Statistics could make another plan better for another value; a statement that is prepared
    // anew for each value costs more than that is ever worth here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// What is written down is nobody else's business: the file is made for its owner alone, and
/// SQLite gives its journal the same permissions. Best effort: opening says what is wrong.
fn keep_private(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let made = restrict_to_owner(&mut options).open(path);
    match made {
        Ok(_) => tracing::debug!(path = %path.display(), "a file of records is made"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => tracing::debug!(%error, "a file of records cannot be made"),
    }
}

/// Whoever reads a file nobody may write leaves side files nobody may write. When the file may be
/// written again, they are in the way. Best effort: opening says what is wrong.
fn mend_side_files(path: &Path) {
    let writable = |facts: &std::fs::Metadata| facts.permission_bits() & 0o200 != 0;
    let Ok(file) = std::fs::metadata(path) else {
        return;
    };
    if !writable(&file) {
        return;
    }
    for suffix in ["-wal", "-shm"] {
        let side = side_file(path, suffix);
        let is_in_the_way = side
            .symlink_metadata()
            .is_ok_and(|side| side.is_file() && side.owner() == file.owner() && !writable(&side));
        if is_in_the_way {
            let mended = open_plain(&side, OpenOptions::new().read(true))
                .and_then(|side| FileRights::of(&file).give_to(&side));
            if let Err(error) = mended {
                tracing::debug!(%error, path = %side.display(), "a side file stays read-only");
            }
        }
    }
}

/// Held while an empty file becomes a database: several who try at once would be in each other's
/// way, in which SQLite makes nobody wait. The lock's file goes with it.
struct BeginningLock {
    _lock: LockFile,
    path: PathBuf,
}

impl BeginningLock {
    /// `None` where there is something in the file, and where no lock can be had.
    fn take(path: &Path) -> Option<Self> {
        if FileState::of(path) != FileState::Empty {
            return None;
        }
        let path = side_file(path, "-begin");
        match LockFile::take(&path, BUSY) {
            Ok(lock) => Some(Self { _lock: lock, path }),
            Err(error) => {
                tracing::debug!(%error, "a file is started without a lock");
                None
            }
        }
    }
}

impl Drop for BeginningLock {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "a lock stays");
        }
    }
}

fn prepared(
    opened: rusqlite::Result<Connection>,
    path: &Path,
    format: &FileFormat,
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
        Ok(state) => Ok(OpenedFile {
            connection,
            state,
            may_write: true,
        }),
        Err(error) => Err(format.explain(path, error)),
    }
}

pub(super) fn refuse_newer(path: &Path, format: &FileFormat, found: i64) -> Result<(), StoreError> {
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
