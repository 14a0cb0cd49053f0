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

/// Read without a lock: the file is replaced as a whole.
pub fn read(ledger: &Path) -> Found {
    match fs::read_to_string(head_file(ledger)) {
        Ok(text) => text
            .trim_end()
            .split_once(' ')
            .and_then(|(seq, hash)| {
                Some(Head {
                    seq: seq.parse().ok()?,
                    hash: ContentHash::from_hex(hash)?,
                })
            })
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

    /// Written aside and moved into place: a reader sees the old head or the new one.
    pub fn write(&self, head: Head, durable: Durable) -> Result<(), Trouble> {
        let path = head_file(&self.ledger);
        let draft = self.ledger.with_extension("head.new");
        let write = || {
            let mut file = private().create(true).truncate(true).open(&draft)?;
            writeln!(file, "{} {}", head.seq, head.hash)?;
            if durable == Durable::Disk {
                file.sync_data()?;
            }
            fs::rename(&draft, &path)
        };
        write().map_err(|error| Trouble::File(path.clone(), error))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
