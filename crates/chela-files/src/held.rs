//! A folder that is held open: its names are looked up in this very folder, wherever its own name
//! leads by now.
//!
//! Nothing here follows a link, waits for a pipe or opens a device. On Unix the folder is a
//! descriptor and every call is relative to it. On Windows it is open in a way that lets nobody
//! rename or remove it, nor a folder above it, for as long as it is held.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path};
use std::time::SystemTime;

use crate::FileIdentity;

#[cfg_attr(not(unix), path = "held/windows.rs")]
mod unix;

pub use unix::HeldFolder;

/// One name in a folder, and what it is itself.
#[derive(Debug)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: FolderEntryKind,
}

/// What a name in a folder is, not what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderEntryKind {
    Folder,
    File,
    Link,
    /// A device, a pipe, a socket.
    Other,
}

impl From<FileType> for FolderEntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            kind if kind.is_dir() => Self::Folder,
            kind if kind.is_symlink() => Self::Link,
            kind if kind.is_file() => Self::File,
            _ => Self::Other,
        }
    }
}

/// What the system says of a name in a folder, not of what it leads to.
#[derive(Debug, Clone, Copy)]
pub struct EntryFacts {
    pub kind: FolderEntryKind,
    pub identity: FileIdentity,
    pub size: u64,
    pub modified: SystemTime,
}

/// What an inner name is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenedFor {
    /// To be asked about, which needs no right to read it.
    Facts,
    Reading,
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "folders are entered one after the other")
    )]
    Folder,
}

impl HeldFolder {
    /// Of an inner name itself, not of what it leads to.
    pub fn metadata_beneath(&self, inner: &Path) -> io::Result<Metadata> {
        self.open_beneath(inner, OpenedFor::Facts)?.metadata()
    }

    /// The bytes of a plain file below that has no more than this many.
    pub fn read_beneath(&self, inner: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = self.open_beneath(inner, OpenedFor::Reading)?;
        let found = file.metadata()?;
        if !found.is_file() || found.len() > most {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a plain file of that size",
            ));
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether bytes are exactly what a file has; one that grows has others.
pub(crate) fn holds(file: File, expected: &[u8]) -> bool {
    let mut found = Vec::with_capacity(expected.len());
    file.take(expected.len() as u64 + 1)
        .read_to_end(&mut found)
        .is_ok()
        && found == expected
}

/// The names on the way to something below; a way that leads up or elsewhere is none.
fn names_of(inner: &Path) -> io::Result<Vec<&OsStr>> {
    inner
        .components()
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        })
        .collect()
}
