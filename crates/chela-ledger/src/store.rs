//! The file of the ledger.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, RwLock};

use chela_core::Host;
use chela_core::secret::Redactor;
use chela_store::engine::SqliteEngine;
use chela_store::{Durability, StoreError};
use rusqlite::Connection;

use crate::audit::ChainEnd;
use crate::record::Recents;
use crate::schema;

pub(crate) use chela_store::engine::JobError as Trouble;

/// Everything on record: requests, audit chain, spending. Several processes may have it open.
#[derive(Debug)]
pub struct Ledger {
    engine: SqliteEngine,
    chain: ChainEnd,
    pub(crate) host: Host,
    redactor: RwLock<Arc<Redactor>>,
    pub(crate) recent: Recents,
}

/// Why the ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error(transparent)]
    Store(StoreError),
    #[error("there is no request {0} on record; `chela turn list` shows which there are")]
    NoRecord(i64),
    #[error("an entry of the ledger cannot be written as JSON")]
    Unwritable(#[from] serde_json::Error),
    #[error("the ledger gave no answer: the process is ending")]
    Interrupted,
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Absent { number } => Self::NoRecord(number),
            error => Self::Store(error),
        }
    }
}

/// What the ledger answers with. The work is under way when the future is made: dropping it gives
/// up the answer and takes nothing back.
pub type LedgerFuture<T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send>>;

/// Where the ledger is kept.
pub fn ledger_file(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("ledger.sqlite")
}

impl Ledger {
    /// Opens the ledger, making the file if there is none.
    pub fn open(host: &Host) -> Result<Self, LedgerError> {
        Self::open_file(host, &ledger_file(host))
    }

    /// The same without making the file: `None` when there is none. Where nothing can be
    /// written it can still be read.
    pub fn open_existing(host: &Host) -> Result<Option<Self>, LedgerError> {
        let engine = SqliteEngine::open_existing(&ledger_file(host), &schema::FORMAT)?;
        Ok(engine.map(|engine| Self::over(engine, host)))
    }

    pub fn open_file(host: &Host, path: &Path) -> Result<Self, LedgerError> {
        Ok(Self::over(SqliteEngine::open(path, &schema::FORMAT)?, host))
    }

    fn over(engine: SqliteEngine, host: &Host) -> Self {
        Self {
            chain: ChainEnd::watching(&engine),
            engine,
            host: host.clone(),
            redactor: RwLock::default(),
            recent: Recents::default(),
        }
    }

    pub fn path(&self) -> &Path {
        self.engine.path()
    }

    /// How much was written, and how often the disk was waited for.
    pub fn counts(&self) -> chela_store::StoreCounts {
        self.engine.counts()
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

    pub(crate) fn chain_end(&self) -> ChainEnd {
        self.chain.clone()
    }

    /// A consistent look at the file.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> LedgerFuture<T> {
        named(self.engine.read(work))
    }

    /// The same for a look that takes long.
    pub(crate) fn scan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> LedgerFuture<T> {
        named(self.engine.scan(work))
    }

    /// Part of a transaction that nobody else writes beside. Under way when this returns.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> LedgerFuture<T> {
        named(self.engine.write(durability, work))
    }

    /// Gives room back after a deletion. Somebody may be reading: then it is for another time.
    pub(crate) async fn tidy(&self) {
        let tidied = self.engine.maintain(|connection| {
            let _ = connection
                .prepare("PRAGMA incremental_vacuum")
                .and_then(|mut statement| statement.query([])?.next().map(drop));
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            Ok(())
        });
        let _ = tidied.await;
    }

    pub(crate) fn explained(&self, trouble: Trouble) -> LedgerError {
        self.engine.explain(trouble).into()
    }
}

fn named<T: 'static>(answer: chela_store::StoreFuture<'static, T>) -> LedgerFuture<T> {
    Box::pin(async move { Ok(answer.await?) })
}

#[cfg(test)]
mod tests;
