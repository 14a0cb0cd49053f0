//! What the file tools changed: kept before each change, so that it can be taken back, and so
//! that text from outside stays text from outside when it is read again.

mod foreign;
mod keep;
mod list;
mod names;
mod own;
mod tree;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_config::model::BareUnit;
use chela_core::{AgentId, Host, lock};
use chela_store::{FileState, JournalStore, SqliteJournalStore, StoreError, StoreFuture, block_on};

use crate::begun::{RecordFile, RecordLoss};

pub use keep::{ChangeAuthor, TrustAfter};
pub use list::{JournalChange, ListAsk};
pub use own::{AnsweredBy, FileWriter, LookedAtFile};
pub use tree::{LookedAtTree, TreeEntry, TreeEntryKind, look_at_tree};
pub use undo::{
    ConflictRule, UndoConflict, UndoError, UndoPlan, UndoStep, UndoTarget, UndoneChange,
    undone_in_words,
};

const NAME: &str = "the journal";

/// The journal of one agent. The file is made with the first change.
///
/// Its calls wait for the disk, as the file tools and the commands that use them do: on a thread
/// that may.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    host: Host,
    retention: JournalRetention,
    /// Where older entries with absolute paths may be taken back.
    workspace: Option<PathBuf>,
    open: Mutex<OpenJournal>,
}

#[derive(Debug, Default)]
struct OpenJournal {
    store: Option<Arc<dyn JournalStore>>,
    loss: Option<RecordLoss>,
}

/// How long changes can be taken back. (`guard.journal`)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalRetention {
    pub age: Duration,
    /// What is kept takes no more room than this.
    pub bytes: u64,
}

/// Why the journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    File(#[from] StoreError),
    #[error("{} has a name that is not text, which the journal cannot store", path.display())]
    Name { path: PathBuf },
    #[error("{} needs more space than guard.journal.size allows ({most} bytes)", path.display())]
    TooLarge { path: PathBuf, most: u64 },
    #[error("the content of {} cannot be compressed, so it is not changed", path.display())]
    NotPacked {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the content of {} before change {change} cannot be restored: {why}", path.display())]
    Unpacked {
        path: PathBuf,
        change: i64,
        why: String,
    },
}

/// Where the journal of an agent is kept.
pub fn journal_file(host: &Host, agent: &AgentId) -> PathBuf {
    host.state_dir()
        .join("agents")
        .join(agent.as_str())
        .join("journal.sqlite")
}

impl JournalRetention {
    pub fn of(loaded: &LoadedConfig) -> Self {
        const AGE: Duration = Duration::from_secs(30 * 86_400);
        const BYTES: u64 = 200 << 20;
        let keys = &loaded.config.guard.journal;
        Self {
            age: keys.keep.duration(BareUnit::Days).unwrap_or(AGE),
            bytes: keys.size.bytes().unwrap_or(BYTES),
        }
    }
}

impl FileJournal {
    /// Cheap: nothing is opened before it is needed.
    pub fn of(host: &Host, agent: &AgentId, retention: JournalRetention) -> Self {
        Self {
            path: journal_file(host, agent),
            host: host.clone(),
            retention,
            workspace: None,
            open: Mutex::default(),
        }
    }

    /// The same for an agent whose files lie here, by their real path.
    #[must_use]
    pub fn with_workspace(mut self, workspace: PathBuf) -> Self {
        self.workspace = Some(workspace);
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// There had been a journal, and it was empty or gone when this one was begun: which files
    /// hold foreign text is not known any more.
    pub fn loss(&self) -> Option<RecordLoss> {
        let mut open = self.locked();
        if open.store.is_none() && open.loss.is_none() {
            open.loss = RecordFile::look(NAME, &self.path).missing(FileState::of(&self.path));
        }
        open.loss.clone()
    }

    /// `None` when nothing was ever kept.
    fn look<T>(
        &self,
        work: impl FnOnce(&dyn JournalStore) -> StoreFuture<'_, T>,
    ) -> Result<Option<T>, JournalError> {
        let Some(store) = self.existing()? else {
            return Ok(None);
        };
        Ok(Some(block_on(work(store.as_ref()))?))
    }

    /// On the disk when this returns.
    fn write<T>(
        &self,
        work: impl FnOnce(&dyn JournalStore) -> StoreFuture<'_, T>,
    ) -> Result<T, JournalError> {
        let store = self.opened()?;
        Ok(block_on(work(store.as_ref()))?)
    }

    fn existing(&self) -> Result<Option<Arc<dyn JournalStore>>, JournalError> {
        let mut open = self.locked();
        if open.store.is_none() {
            let file = RecordFile::look(NAME, &self.path);
            let found = FileState::of(&self.path);
            open.loss = open.loss.take().or_else(|| file.missing(found));
            if found == FileState::Present
                && let Some(store) = SqliteJournalStore::open_existing(&self.path)?
            {
                file.note_opened(store.found());
                if store.may_write() {
                    self.adopt_names(&store)?;
                }
                open.store = Some(Arc::new(store));
            }
        }
        Ok(open.store.clone())
    }

    fn opened(&self) -> Result<Arc<dyn JournalStore>, JournalError> {
        if let Some(store) = self.existing()? {
            return Ok(store);
        }
        let file = RecordFile::look(NAME, &self.path);
        let store = SqliteJournalStore::open(&self.path)?;
        file.note_opened(store.found());
        let store: Arc<dyn JournalStore> = Arc::new(store);
        Ok(Arc::clone(self.locked().store.get_or_insert(store)))
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, OpenJournal> {
        // What is behind it is whole or not there at all.
        lock(&self.open)
    }
}

#[cfg(test)]
mod tests;
