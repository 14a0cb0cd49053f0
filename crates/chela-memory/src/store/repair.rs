//! Putting a damaged index out of the way, one process at a time.
//!
//! Two processes that find the same damage must not both move the file: the second would move the
//! new one of the first.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::trouble::Trouble;

/// The right to replace an index. Given back when dropped.
pub struct Repair<'a> {
    path: &'a Path,
    /// `None` where there are no locks.
    _lock: Option<File>,
}

impl<'a> Repair<'a> {
    /// Waits for other processes that repair the same index. What was found before may have been
    /// put right by them: look again.
    pub fn begin(path: &'a Path) -> Result<Self, Trouble> {
        let lock = lock_file(path)?;
        let locked = lock.lock().is_ok();
        Ok(Self {
            path,
            _lock: locked.then_some(lock),
        })
    }

    /// Keeps repairs away while an index is opened: one in the middle of its work would remove
    /// what the opening has just made beside the file. None where there are no locks.
    pub fn kept_away(path: &Path) -> Option<File> {
        let lock = lock_file(path).ok()?;
        lock.lock_shared().ok()?;
        Some(lock)
    }

    /// Moves the index away, to a name that tells when.
    pub fn set_aside(&self, stamp: u64) -> Result<PathBuf, Trouble> {
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

fn lock_file(path: &Path) -> std::io::Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(beside(path, ".repair"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
