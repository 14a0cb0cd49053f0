//! One indexer at a time.

use std::path::PathBuf;

use chela_files::LockFile;

use crate::store::IndexStore;

/// The right to write, held by one process at a time. Correctness does not hang on it: it only
/// keeps two processes from doing the same work.
pub struct WriteTurn {
    /// `None` where locks do not exist: the database's own lock has to do.
    _lock: Option<LockFile>,
}

impl WriteTurn {
    /// `None` while another process is at it.
    pub fn take(store: &IndexStore) -> Option<Self> {
        let mut name = store.path().as_os_str().to_owned();
        if name == ":memory:" {
            return Some(Self { _lock: None });
        }
        name.push(".lock");
        match LockFile::try_take(&PathBuf::from(name)) {
            Ok(None) => None,
            Ok(lock) => Some(Self { _lock: lock }),
            Err(error) => {
                tracing::debug!(%error, "memory is indexed without a lock");
                Some(Self { _lock: None })
            }
        }
    }
}
