//! The newest entry of each chain, in a file of its own beside the ledger.
//!
//! The lock between processes is held from before a transaction until the heads are written, so
//! no head runs behind another process.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chela_core::{ContentHash, lock};
use chela_files::{LockError, LockFile, open_plain, restrict_to_owner};

use crate::WriteDurability;
use crate::engine::{GroupWatch, JobError};
use crate::ledger::{ChainHead, ChainId, NotedHead};

/// How long a process waits for another that holds the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is noted of every chain.
#[derive(Debug)]
pub(super) struct ChainHeads {
    /// `None`: in memory, with the ledger.
    ledger: Option<PathBuf>,
    group: Mutex<HeadGroup>,
}

/// The heads while a group of writes is under way.
#[derive(Debug, Default)]
struct HeadGroup {
    lock: Option<LockFile>,
    /// The newest entries that were added in this group.
    added: BTreeMap<ChainId, ChainHead>,
    /// Those of a ledger in memory.
    kept: BTreeMap<ChainId, ChainHead>,
}

impl ChainHeads {
    pub fn beside(ledger: &Path) -> Self {
        Self {
            ledger: Some(ledger.to_owned()),
            group: Mutex::default(),
        }
    }

    pub fn in_memory() -> Self {
        Self {
            ledger: None,
            group: Mutex::default(),
        }
    }

    /// What is noted of a chain, for one who writes.
    pub fn of(&self, chain: &ChainId) -> NotedHead {
        let group = self.locked();
        match group.added.get(chain) {
            Some(head) => NotedHead::Head(*head),
            None => self.noted(&group, chain),
        }
    }

    /// What a piece of work added is noted with its group.
    pub fn add(&self, heads: BTreeMap<ChainId, ChainHead>) {
        self.locked().added.extend(heads);
    }

    /// What is noted of every chain, for one who only looks, even where no lock can be had.
    pub fn look(&self) -> Vec<(ChainId, NotedHead)> {
        let _lock = self.ledger.as_deref().map(|ledger| {
            chela_core::ok_or_debug!(take_lock(ledger), "heads are read without their lock")
        });
        self.all()
    }

    /// The same without a lock; one that is being written may be seen half written.
    pub fn all(&self) -> Vec<(ChainId, NotedHead)> {
        let group = self.locked();
        let chains = match &self.ledger {
            Some(ledger) => chains_beside(ledger),
            None => group.kept.keys().cloned().collect(),
        };
        chains
            .into_iter()
            .map(|chain| {
                let noted = self.noted(&group, &chain);
                (chain, noted)
            })
            .filter(|(_, noted)| *noted != NotedHead::Missing)
            .collect()
    }

    fn noted(&self, group: &HeadGroup, chain: &ChainId) -> NotedHead {
        match &self.ledger {
            Some(ledger) => read(&head_file(ledger, chain)),
            None => group
                .kept
                .get(chain)
                .map_or(NotedHead::Missing, |head| NotedHead::Head(*head)),
        }
    }

    fn locked(&self) -> MutexGuard<'_, HeadGroup> {
        // Work that panicked has not changed it.
        lock(&self.group)
    }
}

impl GroupWatch for Arc<ChainHeads> {
    fn begin(&mut self) -> Result<(), JobError> {
        let lock = self.ledger.as_deref().map(take_lock).transpose()?;
        let mut group = self.locked();
        group.lock = lock;
        group.added.clear();
        Ok(())
    }

    fn committed(&mut self, _: WriteDurability) -> Result<(), JobError> {
        let mut group = self.locked();
        let added = std::mem::take(&mut group.added);
        match &self.ledger {
            Some(ledger) => added
                .iter()
                .try_for_each(|(chain, head)| write(&head_file(ledger, chain), *head)),
            None => {
                group.kept.extend(added);
                Ok(())
            }
        }
    }

    fn end(&mut self) {
        let mut group = self.locked();
        group.lock = None;
        group.added.clear();
    }
}

fn take_lock(ledger: &Path) -> Result<LockFile, JobError> {
    LockFile::take(&ledger.with_extension("lock"), PATIENCE).map_err(|error| match error {
        LockError::Busy { path, waited } => {
            tracing::warn!(path = %path.display(), ?waited, "another process holds the ledger");
            JobError::Locked { path }
        }
        LockError::Io { path, source } => unusable(&path, source),
    })
}

/// The first chain keeps the file it had when there was only one.
fn head_file(ledger: &Path, chain: &ChainId) -> PathBuf {
    match chain.is_default() {
        true => ledger.with_extension("head"),
        false => ledger.with_extension(format!("{chain}.head")),
    }
}

/// The chains that have a head beside the ledger.
fn chains_beside(ledger: &Path) -> Vec<ChainId> {
    let mut chains = vec![ChainId::default()];
    let (Some(folder), Some(stem)) = (ledger.parent(), ledger.file_stem()) else {
        return chains;
    };
    let Some(stem) = stem.to_str() else {
        return chains;
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::debug!(%error, "heads of further chains cannot be listed");
            return chains;
        }
    };
    let named = entries.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name();
        let chain = name.to_str()?.strip_prefix(stem)?.strip_prefix('.')?;
        ChainId::named(chain.strip_suffix(".head")?)
    });
    chains.extend(named);
    chains.sort();
    chains
}

fn read(path: &Path) -> NotedHead {
    match read_short(path) {
        Ok(text) => text
            .lines()
            .next()
            .and_then(|line| line.split_once(' '))
            .and_then(|(seq, hash)| {
                Some(ChainHead {
                    seq: seq.parse().ok()?,
                    hash: ContentHash::from_hex(hash)?,
                })
            })
            // Only as it was written: nothing of it may change.
            .filter(|head| line_of(*head) == text)
            .map_or(NotedHead::Unreadable, NotedHead::Head),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => NotedHead::Missing,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a chain's newest hash cannot be read");
            NotedHead::Unreadable
        }
    }
}

/// The text of a head, and a little more of what is none.
fn read_short(path: &Path) -> std::io::Result<String> {
    const MOST: u64 = 256;
    let mut text = String::new();
    open_plain(path, OpenOptions::new().read(true))?
        .take(MOST)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// One short write over the old head: a process that dies leaves the one or the other. The
/// disk is not waited for, as it would be for a file that is replaced: after a power cut an older
/// head is found, and the entries after it are still bound to each other and to it.
fn write(path: &Path, head: ChainHead) -> Result<(), JobError> {
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let mut file = open_plain(path, restrict_to_owner(&mut options))?;
        file.write_all(line_of(head).as_bytes())
    };
    write().map_err(|error| unusable(path, error))
}

fn unusable(path: &Path, error: std::io::Error) -> JobError {
    JobError::File {
        path: path.to_owned(),
        source: Arc::new(error),
    }
}

/// Always of one length, so nothing of an older head can be left behind.
fn line_of(head: ChainHead) -> String {
    format!("{:020} {}\n", head.seq, head.hash)
}
