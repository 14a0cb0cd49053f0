//! The file of the ledger.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use chela_core::Host;
use chela_core::secret::Redactor;
use chela_store::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::record::Recents;
use crate::schema;

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
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{} cannot be used: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
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
        let connection = chela_store::open(path, &schema::FORMAT)?;
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
            Trouble::Sqlite(error) => schema::FORMAT.explain(&self.path, error).into(),
            Trouble::Damage(what) => schema::FORMAT.damaged(&self.path, what).into(),
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

#[cfg(test)]
mod tests;
