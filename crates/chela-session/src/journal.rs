//! What the file tools changed: kept before each change, so that it can be taken back, and so
//! that text from outside stays text from outside when it is read again.

mod foreign;
mod keep;
mod list;
mod schema;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chela_config::Loaded;
use chela_config::model::BareUnit;
use chela_core::{AgentId, Host};
use chela_store::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use keep::{Author, TrustAfter};
pub use list::{Change, ListAsk};
pub use undo::{
    Conflict, Conflicts, UndoError, UndoPlan, UndoStep, Undone, Which, undone_in_words,
};

/// The journal of one agent. The file is made with the first change.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    host: Host,
    retention: Retention,
    open: Mutex<Option<Connection>>,
}

/// How long changes can be taken back. (`guard.journal`)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    /// What is kept takes no more room than this.
    pub bytes: u64,
}

/// Why the journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    File(#[from] StoreError),
    #[error("{} has a name that is no text, which the journal cannot hold", path.display())]
    Name { path: PathBuf },
    #[error("{} needs more room than guard.journal.size ({most} bytes) gives", path.display())]
    TooLarge { path: PathBuf, most: u64 },
}

/// Where the journal of an agent is kept.
pub fn journal_file(host: &Host, agent: &AgentId) -> PathBuf {
    host.state_dir()
        .join("agents")
        .join(agent.as_str())
        .join("journal.sqlite")
}

impl Retention {
    pub fn of(loaded: &Loaded) -> Self {
        const AGE: Duration = Duration::from_secs(30 * 86_400);
        const BYTES: u64 = 200 << 20;
        let keys = &loaded.config.guard.journal;
        Self {
            age: keys.keep.duration(BareUnit::Days).unwrap_or(AGE),
            bytes: keys.size.bytes().unwrap_or(BYTES),
        }
    }
}

impl Journal {
    /// Cheap: nothing is opened before it is needed.
    pub fn of(host: &Host, agent: &AgentId, retention: Retention) -> Self {
        Self {
            path: journal_file(host, agent),
            host: host.clone(),
            retention,
            open: Mutex::default(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `None` when nothing was ever kept.
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, JournalError> {
        let mut open = self.locked();
        if open.is_none() && !self.path.exists() {
            return Ok(None);
        }
        let connection = self.connected(&mut open)?;
        work(connection)
            .map(Some)
            .map_err(|error| self.explain(error))
    }

    /// One transaction, on the disk when this returns.
    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let mut open = self.locked();
        let connection = self.connected(&mut open)?;
        connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            })
            .map_err(|error| self.explain(error))
    }

    fn connected<'c>(
        &self,
        open: &'c mut Option<Connection>,
    ) -> Result<&'c mut Connection, JournalError> {
        match open {
            Some(connection) => Ok(connection),
            none => {
                let connection = chela_store::open(&self.path, &schema::FORMAT)?;
                Ok(none.insert(connection))
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Option<Connection>> {
        // A transaction that panicked was rolled back when it was dropped.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn explain(&self, source: rusqlite::Error) -> JournalError {
        schema::FORMAT.explain(&self.path, source).into()
    }
}

#[cfg(test)]
mod tests;
