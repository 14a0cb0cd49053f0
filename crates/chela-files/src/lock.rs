//! One at a time, across threads and processes; nobody waits for ever.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{ContentHash, Host};

use crate::{FileIdentity, create_private_folder, open_plain, restrict_to_owner};

/// A lock that is held until this is dropped, or until the process ends in whatever way. The file
/// itself stays: removing it would let two processes hold locks on two files of the same name.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another process has held {} for more than {waited:?}; try again, or find out what holds it", path.display())]
    Busy { path: PathBuf, waited: Duration },
    #[error("cannot lock {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl From<LockError> for io::Error {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Busy { .. } => Self::new(io::ErrorKind::ResourceBusy, error.to_string()),
            LockError::Io { source, .. } => source,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockKind {
    Exclusive,
    Shared,
}

impl LockFile {
    /// Waits until nobody else holds `path`, but no longer than `patience`. The file is made if
    /// there is none, its folder too.
    pub fn take(path: &Path, patience: Duration) -> Result<Self, LockError> {
        Self::wait(path, LockKind::Exclusive, patience)
    }

    /// The same beside others who share it; only one who takes it alone is kept out.
    pub fn take_shared(path: &Path, patience: Duration) -> Result<Self, LockError> {
        Self::wait(path, LockKind::Shared, patience)
    }

    /// Does not wait: `None` while somebody else holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        match Self::take(path, Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::Busy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn wait(path: &Path, kind: LockKind, patience: Duration) -> Result<Self, LockError> {
        const FIRST_PAUSE: Duration = Duration::from_millis(1);
        const LONGEST_PAUSE: Duration = Duration::from_millis(20);
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let mut waited = Duration::ZERO;
        let mut pause = FIRST_PAUSE;
        loop {
            let file = open(path).map_err(failed)?;
            let locked = match kind {
                LockKind::Exclusive => file.try_lock(),
                LockKind::Shared => file.try_lock_shared(),
            };
            match locked {
                Ok(()) if is_still(&file, path) => return Ok(Self { _file: file }),
                // Somebody tidied up: the lock is on a file nobody else will find.
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            if waited >= patience {
                return Err(LockError::Busy {
                    path: path.to_owned(),
                    waited: patience,
                });
            }
            std::thread::sleep(pause);
            waited += pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let open = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        open_plain(path, restrict_to_owner(&mut options))
    };
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_folder(path.parent().unwrap_or(path))?;
            open()
        }
        opened => opened,
    }
}

/// Whether the locked file is still the one of that name.
fn is_still(file: &File, path: &Path) -> bool {
    match (FileIdentity::of(file), FileIdentity::at(path)) {
        (Ok(locked), Ok(named)) => locked == named,
        _ => false,
    }
}

/// Locks for files that are not ours, kept in a folder of ours: nothing appears beside the user's
/// file. Files share a fixed number of locks, so there is nothing to tidy up.
#[derive(Debug, Clone)]
pub struct PathLocks {
    folder: PathBuf,
}

impl PathLocks {
    /// How long a change of a file waits for another one. Each takes milliseconds.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Those of a home: every session of every agent meets there.
    pub fn of(host: &Host) -> Self {
        Self {
            folder: host.state_dir().join("state").join("file-locks"),
        }
    }

    /// Keeps every other writer away from these files, given by their real paths, from before they
    /// are read until what this gives is dropped. Where no lock can be had, as on some network
    /// drives, there is none: [`crate::ExpectedContent`] is looked at all the same.
    pub fn hold<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p Path>,
    ) -> Result<Vec<LockFile>, LockError> {
        let mut slots: Vec<u8> = paths.into_iter().map(slot).collect();
        // Always in the same order and each once: two who want the same files cannot wait for
        // each other.
        slots.sort_unstable();
        slots.dedup();
        let mut held = Vec::with_capacity(slots.len());
        for slot in slots {
            let path = self.folder.join(format!("{slot:02x}.lock"));
            match LockFile::take(&path, Self::PATIENCE) {
                Ok(lock) => held.push(lock),
                Err(LockError::Io { .. }) => {}
                Err(busy) => return Err(busy),
            }
        }
        Ok(held)
    }
}

fn slot(path: &Path) -> u8 {
    let hash = ContentHash::of(path.as_os_str().as_encoded_bytes());
    hash.as_bytes().first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
