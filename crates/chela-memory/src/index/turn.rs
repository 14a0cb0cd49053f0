//! One indexer at a time.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use crate::store::Store;

/// The right to write, held by one process at a time. Correctness does not hang on it: it only
/// keeps two processes from doing the same work.
pub struct Turn(Option<File>);

impl Turn {
    /// `None` while another process is at it.
    pub fn take(store: &Store) -> Option<Self> {
        let mut name = store.path().as_os_str().to_owned();
        if name == ":memory:" {
            return Some(Self(None));
        }
        name.push(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(PathBuf::from(name))
            .ok();
        match file.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => None,
            // Where locks do not exist, the database's own lock has to do.
            _ => Some(Self(file)),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // Closing unlocks as well; a failure here changes nothing.
            let _ = file.unlock();
        }
    }
}
