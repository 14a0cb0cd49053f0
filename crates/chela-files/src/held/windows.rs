//! A folder that is open without letting others remove it or give it another name: as long as it
//! is held, its path and those above lead where they led.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{EntryFacts, FolderEntry, OpenedFor, names_of};
use crate::facts::{BACKUP_SEMANTICS, FileIdentity, FileRights, FileStamp, OPEN_REPARSE_POINT};

/// A folder, held open.
#[derive(Debug)]
pub struct HeldFolder {
    path: PathBuf,
    folder: File,
}

const SHARE_READ: u32 = 1;
const SHARE_WRITE: u32 = 2;
const GENERIC_READ: u32 = 0x8000_0000;

impl HeldFolder {
    /// The folder a path leads to.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_to_walk(&path.canonicalize()?)
    }

    /// The same, if the last name is no link, to walk on from there.
    pub fn open_to_walk(path: &Path) -> io::Result<Self> {
        let folder = hold(path, 0)?;
        let found = folder.metadata()?;
        // A link is neither here.
        match found.is_dir() && !found.is_symlink() {
            true => Ok(Self {
                path: path.to_owned(),
                folder,
            }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// A folder in this one, to walk on from there. A link is none, and no folder.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_to_walk(&self.path.join(name))
    }

    /// What this folder itself is.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        FileIdentity::of(&self.folder)
    }

    /// What is in it, in no order.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        std::fs::read_dir(&self.path)?
            .map(|entry| {
                let entry = entry?;
                Ok(FolderEntry {
                    name: entry.file_name(),
                    kind: entry.file_type()?.into(),
                })
            })
            .collect()
    }

    /// The same of a folder that is not needed any more.
    pub fn into_entries(self) -> io::Result<Vec<FolderEntry>> {
        self.entries()
    }

    /// Of what a path below leads to, links followed; the empty path is the folder itself.
    pub fn stamp_of(&self, inner: &Path) -> io::Result<FileStamp> {
        let found = match inner.as_os_str().is_empty() {
            true => self.folder.metadata()?,
            false => std::fs::metadata(self.path.join(inner))?,
        };
        Ok(FileStamp::of(&found))
    }

    /// What a name in it is.
    pub fn look(&self, name: &OsStr) -> io::Result<EntryFacts> {
        let itself = open(&self.path.join(name), 0)?;
        let found = itself.metadata()?;
        Ok(EntryFacts {
            kind: found.file_type().into(),
            identity: FileIdentity::of(&itself)?,
            size: found.len(),
            modified: found.modified().unwrap_or(UNIX_EPOCH),
        })
    }

    /// What a link in it says.
    pub fn link_target(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(std::fs::read_link(self.path.join(name))?.into())
    }

    /// Opens a plain file in it for reading, and nothing else.
    pub fn open_plain(&self, name: &OsStr) -> io::Result<File> {
        let file = open(&self.path.join(name), GENERIC_READ)?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Makes a file to write, where nothing has that name. It has the rights of the folder.
    pub fn create_new(&self, name: &OsStr, _: u32) -> io::Result<File> {
        File::create_new(self.path.join(name))
    }

    pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        std::fs::create_dir(self.path.join(name))
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    /// Gives a file another name; one of that name is replaced.
    pub fn rename(&self, name: &OsStr, new: &OsStr) -> io::Result<()> {
        std::fs::rename(self.path.join(name), self.path.join(new))
    }

    /// Gives a file a second name, where nothing has it yet. [`io::ErrorKind::Unsupported`] where
    /// the file system has no such names.
    pub fn link(&self, name: &OsStr, new: &OsStr) -> io::Result<()> {
        std::fs::hard_link(self.path.join(name), self.path.join(new))
    }

    /// Two names trade what they name: nothing does that here at one stroke.
    pub fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Who may use a plain file in it. `None` where there is none.
    pub fn rights_of(&self, name: &OsStr) -> Option<FileRights> {
        let found = std::fs::symlink_metadata(self.path.join(name)).ok()?;
        found.is_file().then(|| FileRights::of(&found))
    }

    /// Names are brought to the disk by the file system itself.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// The folder below; the empty path is this one.
    pub fn folder_beneath(&self, inner: &Path) -> io::Result<Self> {
        let mut at = Self {
            path: self.path.clone(),
            folder: self.folder.try_clone()?,
        };
        for name in names_of(inner)? {
            at = at.enter(name)?;
        }
        Ok(at)
    }

    pub(super) fn open_beneath(&self, inner: &Path, purpose: OpenedFor) -> io::Result<File> {
        let (Some(above), Some(name)) = (inner.parent(), inner.file_name()) else {
            return self.folder_beneath(inner)?.folder.try_clone();
        };
        let above = self.folder_beneath(above)?;
        match purpose {
            OpenedFor::Folder => above.enter(name).map(|entered| entered.folder),
            OpenedFor::Facts => open(&above.path.join(name), 0),
            OpenedFor::Reading => above.open_plain(name),
        }
    }
}

/// Opens whatever has that name, a link itself, and keeps the name where it is.
fn hold(path: &Path, access: u32) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(access)
        .share_mode(SHARE_READ | SHARE_WRITE)
        .custom_flags(BACKUP_SEMANTICS | OPEN_REPARSE_POINT)
        .open(path)
}

/// Opens whatever has that name, a link itself.
fn open(path: &Path, access: u32) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(access)
        .custom_flags(BACKUP_SEMANTICS | OPEN_REPARSE_POINT)
        .open(path)
}
