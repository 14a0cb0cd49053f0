//! How records are kept: one SQLite file each, for its owner alone, that several processes may
//! hold open.

mod block;
mod trouble;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use block::block_on;
pub use trouble::{Fault, FileError};

/// How long a writer waits for another before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// What a file is, and its tables. A version is a step; files of an older version take the
/// missing ones.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// As a sentence names it: "the ledger".
    pub name: &'static str,
    /// What to do when it is damaged, as the end of a sentence.
    pub if_damaged: &'static str,
    pub steps: &'static [&'static str],
    /// What the rows of an older version need besides. It is told how many steps were done
    /// before.
    pub mend: Option<fn(&Transaction<'_>, usize) -> rusqlite::Result<()>>,
    pub room: Room,
}

/// What becomes of room that is no longer needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It is used again.
    Kept,
    /// It is overwritten and can be given back; only in a new file.
    GivenBack,
}

impl Format {
    pub const fn version(&self) -> i64 {
        self.steps.len() as i64
    }
}

/// Opens a file, making it and its folder if they are not there.
pub fn open(path: &Path, format: &Format) -> Result<Connection, FileError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| FileError::Folder {
            path: folder.to_owned(),
            source,
        })?;
    }
    keep_private(path);
    prepared(Connection::open(path), path, format)
}

/// One that leaves no trace.
pub fn open_in_memory(format: &Format) -> Result<Connection, FileError> {
    prepared(Connection::open_in_memory(), Path::new(":memory:"), format)
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
) -> Result<Connection, FileError> {
    let looked_at = opened.and_then(|connection| {
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Fails on a file that is no database, before anything is changed.
        let found = version(&connection)?;
        Ok((connection, found))
    });
    let (mut connection, found) = looked_at.map_err(|error| format.explain(path, error))?;
    if found > format.version() {
        return Err(FileError::Newer {
            name: format.name,
            path: path.to_owned(),
            found,
            known: format.version(),
        });
    }
    match prepare(&mut connection, format, found) {
        Ok(()) => Ok(connection),
        Err(error) => Err(format.explain(path, error)),
    }
}

fn prepare(connection: &mut Connection, format: &Format, found: i64) -> rusqlite::Result<()> {
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
    if let Some(mend) = format.mend {
        mend(&transaction, done)?;
    }
    transaction.pragma_update(None, "user_version", format.version())?;
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

#[cfg(test)]
mod tests;
