//! One indexer at a time.

use std::path::PathBuf;

use chela_files::LockFile;

use crate::store::Store;

/// The right to write, held by one process at a time. Correctness does not hang on it: it only
/// keeps two processes from doing the same work.
pub struct Turn {
    /// `None` where locks do not exist: the database's own lock has to do.
    _lock: Option<LockFile>,
}

impl Turn {
    /// `None` while another process is at it.
    pub fn take(store: &Store) -> Option<Self> {
        let mut name = store.path().as_os_str().to_owned();
        if name == ":memory:" {
            return Some(Self { _lock: None });
        }
        name.push(".lock");
        match LockFile::try_take(&PathBuf::from(name)) {
            Ok(None) => None,
            Ok(lock) => Some(Self { _lock: lock }),
            Err(_) => Some(Self { _lock: None }),
        }
    }
}
