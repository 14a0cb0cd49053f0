//! The file of the ledger.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use chela_core::Host;
use chela_core::secret::Redactor;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::record::Recents;
use crate::schema;

/// How long a writer waits for another before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// Everything on record: requests, audit chain, spending. Several processes may have it open.
#[derive(Debug)]
pub struct Ledger {
    connection: Mutex<Connection>,
    path: PathBuf,
    pub(crate) host: Host,
    redactor: RwLock<Arc<Redactor>>,
    pub(crate) recent: Recents,
}

/// Why the ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error(
        "the ledger {} is damaged: {what}; `chela audit verify` says where. Move the file aside to begin a new one",
        path.display()
    )]
    Damaged { path: PathBuf, what: String },
    #[error(
        "the ledger {} was written by a newer Chela (format {found}, this one knows {}); update Chela to read it",
        path.display(), schema::VERSION
    )]
    Newer { path: PathBuf, found: i64 },
    #[error("another process is writing the ledger {}; try again in a moment", path.display())]
    Busy {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the disk is full: nothing more can be kept in {}; free some space", path.display())]
    DiskFull {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the ledger {} cannot be written; check its owner and permissions", path.display())]
    ReadOnly {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("{} cannot be used: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the ledger {} failed", path.display())]
    Other {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("there is no request {0} on record; `chela turn list` shows which there are")]
    NoRecord(i64),
    #[error("an entry of the ledger cannot be written as JSON")]
    Unwritable(#[from] serde_json::Error),
}

/// What a commit is safe from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// The death of this process: the system has it.
    Process,
    /// A power cut: the disk has it.
    Disk,
}

/// Where the ledger is kept.
pub fn ledger_file(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("ledger.sqlite")
}

impl Ledger {
    /// Opens the ledger, making the file if there is none.
    pub fn open(host: &Host) -> Result<Self, LedgerError> {
        Self::open_file(host, &ledger_file(host))
    }

    /// The same without making the file: `None` when there is none.
    pub fn open_existing(host: &Host) -> Result<Option<Self>, LedgerError> {
        let path = ledger_file(host);
        path.exists()
            .then(|| Self::open_file(host, &path))
            .transpose()
    }

    pub fn open_file(host: &Host, path: &Path) -> Result<Self, LedgerError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| LedgerError::File {
                path: folder.to_owned(),
                source,
            })?;
        }
        keep_private(path);
        let connection = Connection::open(path)
            .and_then(|mut connection| {
                prepare(&mut connection)?;
                Ok(connection)
            })
            .map_err(|error| explain(path, error))?;
        let found = version(&connection).map_err(|error| explain(path, error))?;
        if found > schema::VERSION {
            return Err(LedgerError::Newer {
                path: path.to_owned(),
                found,
            });
        }
        Ok(Self {
            connection: Mutex::new(connection),
            path: path.to_owned(),
            host: host.clone(),
            redactor: RwLock::default(),
            recent: Recents::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Secrets must never be stored: what it finds in what is recorded from now on is stored as
    /// what stands for it. Without one, secrets are known by their shape alone.
    pub fn hide_with(&self, redactor: Arc<Redactor>) {
        *self
            .redactor
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = redactor;
    }

    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(
            &self
                .redactor
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    /// A consistent look at the file.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, LedgerError> {
        let mut connection = self.locked();
        connection
            .transaction()
            .map_err(Trouble::from)
            .and_then(|transaction| work(&transaction))
            .map_err(|trouble| self.explained(trouble))
    }

    /// One transaction that nobody else writes beside.
    pub(crate) fn write<T>(
        &self,
        durable: Durable,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, LedgerError> {
        let mut connection = self.locked();
        let level = match durable {
            Durable::Process => "NORMAL",
            Durable::Disk => "FULL",
        };
        connection
            .pragma_update(None, "synchronous", level)
            .and_then(|()| connection.transaction_with_behavior(TransactionBehavior::Immediate))
            .map_err(Trouble::from)
            .and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            })
            .map_err(|trouble| self.explained(trouble))
    }

    /// Gives room back after a deletion. Somebody may be reading: then it is for another time.
    pub(crate) fn tidy(&self) {
        let connection = self.locked();
        let _ = connection
            .prepare("PRAGMA incremental_vacuum")
            .and_then(|mut statement| statement.query([])?.next().map(drop));
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    pub(crate) fn explained(&self, trouble: Trouble) -> LedgerError {
        match trouble {
            Trouble::Sqlite(error) => explain(&self.path, error),
            Trouble::Damage(what) => LedgerError::Damaged {
                path: self.path.clone(),
                what,
            },
            Trouble::NoRecord(id) => LedgerError::NoRecord(id),
            Trouble::Json(error) => error.into(),
            Trouble::File(path, source) => LedgerError::File { path, source },
        }
    }

    fn locked(&self) -> MutexGuard<'_, Connection> {
        // A transaction that panicked was rolled back when it was dropped.
        self.connection
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What goes wrong inside a transaction, before the file is named.
#[derive(Debug)]
pub(crate) enum Trouble {
    Sqlite(rusqlite::Error),
    Damage(String),
    NoRecord(i64),
    Json(serde_json::Error),
    File(PathBuf, std::io::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Trouble {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

fn explain(path: &Path, source: rusqlite::Error) -> LedgerError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => LedgerError::Damaged {
            path,
            what: source.to_string(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerError::Busy { path, source }
        }
        Some(ErrorCode::DiskFull) => LedgerError::DiskFull { path, source },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            LedgerError::ReadOnly { path, source }
        }
        _ => LedgerError::Other { path, source },
    }
}

/// What was said is nobody else's business: the file is made for its owner alone, and SQLite
/// gives its journal the same permissions. Best effort: opening says what is wrong.
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

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Fails on a file that is no database, before anything is changed.
    let found = version(connection)?;
    if found > schema::VERSION {
        return Ok(());
    }
    // What is deleted is gone, and gives its room back; the latter only in a new file.
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if found < schema::VERSION {
        schema::upgrade(connection)?;
    }
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

#[cfg(test)]
mod tests;
