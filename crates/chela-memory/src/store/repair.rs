//! Putting a damaged index out of the way, one process at a time.
//!
//! Two processes that find the same damage must not both move the file: the second would move the
//! new one of the first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::ok_or_debug;
use chela_files::{LockError, LockFile};

use super::trouble::OpenTrouble;

/// How long one waits for another that repairs or opens the same index.
const PATIENCE: Duration = Duration::from_secs(30);

/// The right to replace an index. Given back when dropped.
pub struct RepairRight<'a> {
    path: &'a Path,
    /// `None` where there are no locks.
    _lock: Option<LockFile>,
}

impl<'a> RepairRight<'a> {
    /// Waits for other processes that repair the same index. What was found before may have been
    /// put right by them: look again.
    pub fn begin(path: &'a Path) -> Result<Self, OpenTrouble> {
        match LockFile::take(&beside(path, ".repair"), PATIENCE) {
            Ok(lock) => Ok(Self {
                path,
                _lock: Some(lock),
            }),
            Err(LockError::Io { .. }) => Ok(Self { path, _lock: None }),
            Err(busy) => Err(OpenTrouble::from(std::io::Error::from(busy))),
        }
    }

    /// Keeps repairs away while an index is opened: one in the middle of its work would remove
    /// what the opening has just made beside the file. None where there are no locks.
    pub fn kept_away(path: &Path) -> Option<LockFile> {
        let lock = LockFile::take_shared(&beside(path, ".repair"), PATIENCE);
        ok_or_debug!(
            lock,
            "an index is opened that may be repaired at this moment"
        )
    }

    /// Moves the index away, to a name that tells when.
    pub fn set_aside(&self, stamp: u64) -> Result<PathBuf, OpenTrouble> {
        let mut aside = beside(self.path, &format!(".damaged-{stamp}"));
        for copy in 2..100 {
            if !aside.exists() {
                break;
            }
            aside = beside(self.path, &format!(".damaged-{stamp}-{copy}"));
        }
        std::fs::rename(self.path, &aside)?;
        for suffix in ["-wal", "-shm"] {
            match std::fs::remove_file(beside(self.path, suffix)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(aside)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
