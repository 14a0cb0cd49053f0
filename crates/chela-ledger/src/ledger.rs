//! The ledger: a store of records, and the chain that this process adds to.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use chela_core::secret::Redactor;
use chela_core::{Host, ok_or_warn};
use chela_store::{
    ChainId, LedgerStore, LedgerTransaction, SqliteLedgerStore, StoreError, WaitHere as _,
    WorkFuture, WriteDurability,
};

use crate::installation_key::InstallationKey;
use crate::recent::RecentRequests;

/// Everything on record: requests, audit chains, spending. Several processes may have it open.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) store: Arc<dyn LedgerStore>,
    /// The chain that entries are added to.
    pub(crate) chain: ChainId,
    path: PathBuf,
    pub(crate) host: Host,
    redactor: RwLock<Arc<Redactor>>,
    /// `None`: entries carry no proof of who wrote them.
    pub(crate) key: Option<Arc<InstallationKey>>,
    pub(crate) recent: RecentRequests,
}

/// Why the ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no request {0}; `chela turn list` shows the recorded ones")]
    NoRecord(i64),
    #[error("an entry of the ledger cannot be written as JSON")]
    Unwritable(#[from] serde_json::Error),
    #[error("the ledger gave no answer: the process is ending")]
    Interrupted,
}

/// What the ledger answers with. The work is under way when the future is made: dropping it gives
/// up the answer and takes nothing back.
pub type LedgerFuture<T> = WorkFuture<T, LedgerError>;

/// Where the ledger is kept.
pub fn ledger_file(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("ledger.sqlite")
}

/// Where the key of an installation is kept.
pub fn installation_key_file(host: &Host) -> PathBuf {
    crate::installation_key::key_file(&ledger_file(host))
}

impl Ledger {
    /// Opens the ledger, making the file if there is none.
    pub fn open(host: &Host) -> Result<Self, LedgerError> {
        Self::open_file(host, &ledger_file(host))
    }

    /// The same without making the file: `None` when there is none. Where nothing can be
    /// written it can still be read.
    pub fn open_existing(host: &Host) -> Result<Option<Self>, LedgerError> {
        let path = ledger_file(host);
        let store = SqliteLedgerStore::open_existing(&path)?;
        Ok(store.map(|store| Self {
            key: InstallationKey::beside(&path).map(Arc::new),
            ..Self::over(Arc::new(store), ChainId::default(), host, path)
        }))
    }

    pub fn open_file(host: &Host, path: &Path) -> Result<Self, LedgerError> {
        Self::open_chain(host, path, ChainId::default())
    }

    /// Opens a file to add to another chain than that of the home.
    pub fn open_chain(host: &Host, path: &Path, chain: ChainId) -> Result<Self, LedgerError> {
        let store = Arc::new(SqliteLedgerStore::open(path)?);
        let key = InstallationKey::made_beside(path, host, || {
            ok_or_warn!(
                store.chain_ends().wait(),
                "what is on record cannot be read"
            )
        });
        Ok(Self {
            key: key.map(Arc::new),
            ..Self::over(store, chain, host, path.to_owned())
        })
    }

    fn over(store: Arc<dyn LedgerStore>, chain: ChainId, host: &Host, path: PathBuf) -> Self {
        Self {
            store,
            chain,
            path,
            host: host.clone(),
            redactor: RwLock::default(),
            key: None,
            recent: RecentRequests::default(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much was written, and how often the disk was waited for.
    pub fn counts(&self) -> chela_store::StoreCounts {
        self.store.counts()
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

    /// Part of a transaction that nobody else writes beside. Under way when this returns.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        durability: WriteDurability,
        work: impl FnOnce(&mut dyn LedgerTransaction) -> Result<T, LedgerError> + Send + 'static,
    ) -> LedgerFuture<T> {
        self.store.write(durability, work)
    }

    /// What is kept in a record as JSON. What reads wrong was changed, for it was written by us.
    pub(crate) fn parsed<T: serde::de::DeserializeOwned>(
        &self,
        json: &[u8],
    ) -> Result<T, LedgerError> {
        let read = serde_json::from_slice(json);
        Ok(read.map_err(|error| self.store.damaged(error.to_string()))?)
    }
}

#[cfg(test)]
mod tests;
