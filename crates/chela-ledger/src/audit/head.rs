//! The newest hash, in a file of its own.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use chela_core::ContentHash;

use super::Seq;
use crate::store::{Durable, Trouble};

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
        private()
            .create(true)
            .truncate(false)
            .open(&path)
            .and_then(|file| {
                file.lock()?;
                Ok(Self {
                    ledger: ledger.to_owned(),
                    _file: file,
                })
            })
            .map_err(|error| Trouble::File(path, error))
    }

    pub fn read(&self) -> Found {
        read(&self.ledger)
    }

    /// The same for one who only looks, even where no lock can be had.
    pub fn look(ledger: &Path) -> Found {
        let _lock = Self::take(ledger);
        read(ledger)
    }

    /// One short write over the old head: a process that dies leaves the one or the other.
    pub fn write(&self, head: Head, durable: Durable) -> Result<(), Trouble> {
        let path = head_file(&self.ledger);
        let line = line_of(head);
        let write = || {
            let mut file = private().create(true).truncate(false).open(&path)?;
            file.write_all(line.as_bytes())?;
            match durable {
                Durable::Disk => file.sync_data(),
                Durable::Process => Ok(()),
            }
        };
        write().map_err(|error| Trouble::File(path.clone(), error))
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
