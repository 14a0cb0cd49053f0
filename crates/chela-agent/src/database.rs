//! How the agent's records are opened: one SQLite file each, for its owner alone, that several
//! processes may hold open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

/// How long a writer waits for another before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// The tables of a file. A version is a step; files of an older version take the missing ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub steps: &'static [&'static str],
    pub room: Room,
}

/// What becomes of room that is no longer needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is used again.
    Kept,
    /// It is overwritten and can be given back; only in a new file.
    GivenBack,
}

/// Why a file cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenTrouble {
    Folder(PathBuf, std::io::Error),
    /// A newer version wrote it, in this format.
    Newer(i64),
    Sqlite(rusqlite::Error),
}

/// What is behind an error of SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Damaged,
    Busy,
    DiskFull,
    ReadOnly,
    Other,
}

impl Format {
    pub(crate) const fn version(&self) -> i64 {
        self.steps.len() as i64
    }
}

impl From<rusqlite::Error> for OpenTrouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    pub(crate) fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged,
            // A table that ought to be there is missing: something else wrote this file.
            Some(ErrorCode::Unknown) if error.to_string().contains("no such") => Self::Damaged,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly
            }
            _ => Self::Other,
        }
    }
}

/// Opens a file, making it and its folder if they are not there.
pub(crate) fn open(path: &Path, format: &Format) -> Result<Connection, OpenTrouble> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|source| OpenTrouble::Folder(folder.to_owned(), source))?;
    }
    keep_private(path);
    let mut connection = Connection::open(path)?;
    prepare(&mut connection, format)?;
    Ok(connection)
}

/// One that leaves no trace.
pub(crate) fn open_in_memory(format: &Format) -> Result<Connection, OpenTrouble> {
    let mut connection = Connection::open_in_memory()?;
    prepare(&mut connection, format)?;
    Ok(connection)
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

fn prepare(connection: &mut Connection, format: &Format) -> Result<(), OpenTrouble> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Fails on a file that is no database, before anything is changed.
    let found = version(connection)?;
    if found > format.version() {
        return Err(OpenTrouble::Newer(found));
    }
    if format.room == Room::GivenBack {
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if found < format.version() {
        upgrade(connection, format)?;
    }
    Ok(())
}

/// Two processes may try at once: the second finds the work done.
fn upgrade(connection: &mut Connection, format: &Format) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = usize::try_from(version(&transaction)?).unwrap_or(0);
    for step in format.steps.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", format.version())?;
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
