//! A folder as a descriptor; every call is relative to it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, linkat, mkdirat, openat, readlinkat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::{EntryFacts, FolderEntry, FolderEntryKind, OpenedFor, names_of};
use crate::facts::{FileIdentity, FileOwner, FileRights, FileStamp, name_of_bytes};

/// A folder, held open.
#[derive(Debug)]
pub struct HeldFolder(OwnedFd);

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
const PLAIN: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Folders are opened to walk through them, nothing more: no right to list them is needed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const WALK: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const WALK: OFlags = FOLDER;

/// Enough to ask about a name, without the right to read it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOK: OFlags = PLAIN;

impl HeldFolder {
    /// The folder a path leads to.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// The same, if the last name is no link, to walk on from there.
    pub fn open_to_walk(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(
            CWD,
            path,
            WALK | OFlags::NOFOLLOW,
            Mode::empty(),
        )?))
    }

    /// A folder in this one, to walk on from there. A link is none, and no folder.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match openat(&self.0, name, WALK | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => Ok(Self(folder)),
            // Systems differ in how they say that a name is a link.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                Err(io::ErrorKind::NotADirectory.into())
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// What this folder itself is.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity_of(&fstat(&self.0)?))
    }

    /// What is in it, in no order.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        // One that is only walked through cannot be listed.
        Self(openat(&self.0, ".", FOLDER, Mode::empty())?).into_entries()
    }

    /// The same of a folder that was opened by [`Self::open`] and is not needed any more.
    pub fn into_entries(self) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        let mut unknown = Vec::new();
        let mut folder = Dir::new(self.0)?;
        while let Some(entry) = folder.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = entry.file_type();
            // Some file systems do not say.
            if kind == FileType::Unknown {
                unknown.push(entries.len());
            }
            entries.push(FolderEntry {
                name: name_of_bytes(name.to_vec()),
                kind: kind.into(),
            });
        }
        for at in unknown {
            if let Some(entry) = entries.get_mut(at) {
                let found = statat(folder.fd()?, &entry.name, AtFlags::SYMLINK_NOFOLLOW)?;
                entry.kind = FileType::from_raw_mode(found.st_mode).into();
            }
        }
        Ok(entries)
    }

    /// Of what a path below leads to, links followed; the empty path is the folder itself.
    pub fn stamp_of(&self, inner: &Path) -> io::Result<FileStamp> {
        let found = match inner.as_os_str().is_empty() {
            true => fstat(&self.0)?,
            false => statat(&self.0, inner, AtFlags::empty())?,
        };
        Ok(stamp(&found))
    }

    /// What a name in it is.
    pub fn look(&self, name: &OsStr) -> io::Result<EntryFacts> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(EntryFacts {
            kind: FileType::from_raw_mode(found.st_mode).into(),
            identity: identity_of(&found),
            size: u64::try_from(found.st_size).unwrap_or(0),
            modified: UNIX_EPOCH + Duration::from_secs(u64::try_from(found.st_mtime).unwrap_or(0)),
        })
    }

    /// What a link in it says.
    pub fn link_target(&self, name: &OsStr) -> io::Result<OsString> {
        let target = readlinkat(&self.0, name, Vec::new())?;
        Ok(name_of_bytes(target.into_bytes()))
    }

    /// Opens a plain file in it for reading, and nothing else.
    pub fn open_plain(&self, name: &OsStr) -> io::Result<File> {
        let file = openat(&self.0, name, PLAIN | OFlags::NOFOLLOW, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Makes a file to write, where nothing has that name.
    pub fn create_new(&self, name: &OsStr, bits: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        // The width of the bits differs between systems.
        #[allow(clippy::useless_conversion)]
        let mode = Mode::from_raw_mode(bits.try_into().unwrap_or(0o600));
        Ok(openat(&self.0, name, flags, mode)?.into())
    }

    pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Gives a file another name; one of that name is replaced.
    pub fn rename(&self, name: &OsStr, new: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &self.0, new)?)
    }

    /// Gives a file a second name, where nothing has it yet. [`io::ErrorKind::Unsupported`] where
    /// the file system has no such names.
    pub fn link(&self, name: &OsStr, new: &OsStr) -> io::Result<()> {
        match linkat(&self.0, name, &self.0, new, AtFlags::empty()) {
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            linked => Ok(linked?),
        }
    }

    /// Two names trade what they name. [`io::ErrorKind::Unsupported`] where that cannot be done
    /// at one stroke.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(&self.0, one, &self.0, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            traded => Ok(traded?),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Who may use a plain file in it. `None` where there is none.
    pub fn rights_of(&self, name: &OsStr) -> Option<FileRights> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        #[allow(
            clippy::useless_conversion,
            reason = "the width differs between systems"
        )]
        is_plain.then(|| FileRights {
            bits: u32::from(found.st_mode) & 0o777,
            owner: FileOwner {
                user: found.st_uid,
                group: found.st_gid,
            },
        })
    }

    /// Brings its names to the disk.
    pub fn sync(&self) -> io::Result<()> {
        // A folder that is only walked through cannot be synced.
        let readable = openat(&self.0, ".", FOLDER, Mode::empty())?;
        Ok(rustix::fs::fsync(readable)?)
    }

    /// The folder below; the empty path is this one.
    pub fn folder_beneath(&self, inner: &Path) -> io::Result<Self> {
        let folder = self.open_beneath(inner, OpenedFor::Folder)?;
        Ok(Self(folder.into()))
    }

    pub(super) fn open_beneath(&self, inner: &Path, purpose: OpenedFor) -> io::Result<File> {
        let flags = match purpose {
            OpenedFor::Facts => LOOK,
            OpenedFor::Reading => PLAIN,
            OpenedFor::Folder => FOLDER,
        };
        let names = names_of(inner)?;
        let inner = match names.is_empty() {
            true => Path::new("."),
            false => inner,
        };
        let opened = match open_at_once(&self.0, inner, flags | OFlags::NOFOLLOW) {
            Err(Errno::NOSYS | Errno::PERM) => {
                open_by_steps(&self.0, &names, flags | OFlags::NOFOLLOW)
            }
            opened => opened,
        };
        Ok(opened?.into())
    }
}

impl From<FileType> for FolderEntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

fn identity_of(found: &Stat) -> FileIdentity {
    #[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
    FileIdentity {
        device: found.st_dev as u64,
        number: found.st_ino as u64,
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the widths differ between systems"
)]
fn stamp(found: &Stat) -> FileStamp {
    const NANOS: i128 = 1_000_000_000;
    FileStamp {
        identity: identity_of(found),
        bytes: found.st_size as u64,
        modified: i128::from(found.st_mtime) * NANOS + found.st_mtime_nsec as i128,
        changed: i128::from(found.st_ctime) * NANOS + found.st_ctime_nsec as i128,
    }
}

/// The whole way in one call, held by the kernel.
#[cfg(target_os = "linux")]
fn open_at_once(folder: &OwnedFd, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, inner, flags, Mode::empty(), within)
}

#[cfg(not(target_os = "linux"))]
fn open_at_once(_: &OwnedFd, _: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// One name at a time, for systems that have no such call.
fn open_by_steps(folder: &OwnedFd, names: &[&OsStr], flags: OFlags) -> Result<OwnedFd, Errno> {
    let Some((last, way)) = names.split_last() else {
        return openat(folder, ".", flags, Mode::empty());
    };
    let mut at = folder.try_clone().map_err(|_| Errno::MFILE)?;
    for name in way {
        at = openat(&at, *name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    }
    openat(&at, *last, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_by_steps_either() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "mine").unwrap();
        symlink(root.join("a/b"), root.join("a/link")).unwrap();
        let held = HeldFolder::open(root).unwrap();
        let step = |names: &[&str]| {
            let names: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
            open_by_steps(&held.0, &names, PLAIN | OFlags::NOFOLLOW)
        };
        assert!(step(&["a", "b", "file"]).is_ok());
        assert!(step(&["a", "link", "file"]).is_err());
    }

    #[test]
    fn a_folder_that_is_only_walked_through_is_brought_to_the_disk() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("in")).unwrap();
        let walked = HeldFolder::open_to_walk(home.path()).unwrap();
        walked.sync().unwrap();
        walked.enter(OsStr::new("in")).unwrap().sync().unwrap();
    }
}
