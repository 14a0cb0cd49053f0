//! One editor at a time, across processes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::{StoreError, write};

/// Holds the lock until dropped. The lock file itself stays: removing it would let two
/// processes hold locks on two files of the same name.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// Waits until no other process edits `path`, but no longer than `patience`.
pub(super) fn exclusive(path: &Path, patience: Duration) -> Result<Lock, StoreError> {
    const FIRST_PAUSE: Duration = Duration::from_millis(1);
    const LONGEST_PAUSE: Duration = Duration::from_millis(20);
    let lock = write::with_suffix(path, ".lock");
    let failed = |source| StoreError::Io {
        what: "lock",
        path: lock.clone(),
        source,
    };
    let mut waited = Duration::ZERO;
    let mut pause = FIRST_PAUSE;
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0))
            .open(&lock)
            .map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_still(&file, &lock) => return Ok(Lock { _file: file }),
            Ok(()) => continue,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
        if waited >= patience {
            return Err(StoreError::Busy {
                path: path.to_owned(),
                lock,
                waited: patience,
            });
        }
        std::thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether the locked file is still the one of that name; somebody may have tidied up.
fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(locked), Ok(named)) => (locked.dev(), locked.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}
