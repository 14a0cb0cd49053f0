//! The newest hash, in a file of its own.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chela_core::ContentHash;

use super::Seq;
use crate::store::Trouble;

/// How long a process waits for another that holds the lock.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// The newest entry of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub seq: Seq,
    pub hash: ContentHash,
}

impl Head {
    /// What the first entry is bound to.
    pub fn start() -> Self {
        Self {
            seq: 0,
            hash: ContentHash::of("chela audit: the beginning"),
        }
    }
}

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Head(Head),
    Missing,
    /// It is there and cannot be read.
    Unreadable,
}

/// Where the head of a ledger lies.
pub fn head_file(ledger: &Path) -> PathBuf {
    ledger.with_extension("head")
}

/// What the file says. Whoever holds no lock may see it half written.
fn read(ledger: &Path) -> Found {
    match fs::read_to_string(head_file(ledger)) {
        Ok(text) => text
            .lines()
            .next()
            .and_then(|line| line.split_once(' '))
            .and_then(|(seq, hash)| {
                Some(Head {
                    seq: seq.parse().ok()?,
                    hash: ContentHash::from_hex(hash)?,
                })
            })
            // Only as it was written: nothing of it may change.
            .filter(|head| line_of(*head) == text)
            .map_or(Found::Unreadable, Found::Head),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Found::Missing,
        Err(_) => Found::Unreadable,
    }
}

/// Held while entries are added and the head is written: the head never runs behind another
/// process. Given back by the system when the process dies.
#[derive(Debug)]
pub struct Lock {
    ledger: PathBuf,
    _file: File,
}

impl Lock {
    pub fn take(ledger: &Path) -> Result<Self, Trouble> {
        let path = ledger.with_extension("lock");
        let failed = |error| unusable(&path, error);
        let file = private()
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Err(Trouble::Locked { path }),
            }
        }
        Ok(Self {
            ledger: ledger.to_owned(),
            _file: file,
        })
    }

    pub fn read(&self) -> Found {
        read(&self.ledger)
    }

    /// The same for one who only looks, even where no lock can be had.
    pub fn look(ledger: &Path) -> Found {
        let _lock = Self::take(ledger);
        read(ledger)
    }

    /// The same where there is no ledger, so nobody can be writing.
    pub fn look_at(ledger: &Path) -> Found {
        read(ledger)
    }

    /// One short write over the old head: a process that dies leaves the one or the other. The
    /// disk is not waited for: after a power cut an older head is found, and the entries after
    /// it are still bound to each other and to it.
    pub fn write(&self, head: Head) -> Result<(), Trouble> {
        let path = head_file(&self.ledger);
        let line = line_of(head);
        let write = || {
            let mut file = private().create(true).truncate(false).open(&path)?;
            file.write_all(line.as_bytes())
        };
        write().map_err(|error| unusable(&path, error))
    }
}

fn unusable(path: &Path, error: std::io::Error) -> Trouble {
    Trouble::File {
        path: path.to_owned(),
        source: Arc::new(error),
    }
}

/// Always of one length, so nothing of an older head can be left behind.
fn line_of(head: Head) -> String {
    format!("{:020} {}\n", head.seq, head.hash)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
