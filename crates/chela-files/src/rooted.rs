//! A folder that is acted on through a descriptor.
//!
//! Whoever may change names below a folder can put a link where a folder was, between a look and a
//! deed. Below a [`RootedFolder`] no link is followed and nothing outside is reached, whatever the
//! names lead to by then.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat, renameat};
use rustix::io::Errno;

use crate::{FileDraft, FileMode};

/// A folder, held open.
#[derive(Debug)]
pub struct RootedFolder {
    path: PathBuf,
    folder: OwnedFd,
}

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
    Other,
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl RootedFolder {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: openat(CWD, path, FOLDER, Mode::empty())?,
            path: path.to_owned(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in one of its folders; the empty path is the folder itself.
    pub fn entries(&self, inner: &Path) -> io::Result<Vec<FolderEntry>> {
        let folder = self.open_inner(inner, FOLDER)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let name = OsString::from_vec(name.to_vec());
            let kind = match entry.file_type() {
                FileType::Directory => FolderEntryKind::Folder,
                FileType::RegularFile => FolderEntryKind::File,
                FileType::Symlink => FolderEntryKind::Link,
                // Some file systems do not say.
                FileType::Unknown => kind_of(&self.metadata(&inner.join(&name))?),
                _ => FolderEntryKind::Other,
            };
            entries.push(FolderEntry { name, kind });
        }
        Ok(entries)
    }

    /// Of a name itself, not of what it leads to.
    pub fn metadata(&self, inner: &Path) -> io::Result<Metadata> {
        let itself = self.open_inner(inner, LOOK | OFlags::CLOEXEC)?;
        File::from(itself).metadata()
    }

    /// The bytes of a plain file that has no more than this many.
    pub fn read_plain(&self, inner: &Path, most: u64) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(self.open_inner(inner, flags)?);
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

    /// Gives a file another name in the folder it is in.
    pub fn rename(&self, inner: &Path, name: &OsStr) -> io::Result<()> {
        let (folder, old) = self.folder_of(inner)?;
        renameat(&folder, old, &folder, name)?;
        Ok(())
    }

    /// Puts a file in place as a whole; a link of that name is replaced, not followed.
    pub fn put(&self, inner: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
        let (folder, name) = self.folder_of(inner)?;
        let draft = FileDraft::in_folder(folder.as_fd(), name, bytes, mode);
        draft
            .and_then(FileDraft::put_in_place)
            .map_err(|error| error.source)
    }

    fn folder_of<'p>(&self, inner: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = inner.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = inner.parent().unwrap_or(Path::new(""));
        Ok((self.open_inner(folder, FOLDER)?, name))
    }

    fn open_inner(&self, inner: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW;
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !inner.components().all(is_plain) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let inner = match inner.as_os_str().is_empty() {
            true => Path::new("."),
            false => inner,
        };
        match open_beneath(self.folder.as_fd(), inner, flags) {
            Err(Errno::NOSYS | Errno::PERM) => open_by_steps(self.folder.as_fd(), inner, flags),
            opened => opened,
        }
        .map_err(io::Error::from)
    }
}

/// Enough to ask about a name, without the right to read it.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// The whole way in one call, held by the kernel.
#[cfg(target_os = "linux")]
fn open_beneath(folder: BorrowedFd<'_>, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, inner, flags, Mode::empty(), within)
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(_: BorrowedFd<'_>, _: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// One name at a time, for systems that have no such call.
fn open_by_steps(folder: BorrowedFd<'_>, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut at = folder.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    let mut parts = inner.components().peekable();
    while let Some(part) = parts.next() {
        let flags = match parts.peek() {
            Some(_) => FOLDER | OFlags::NOFOLLOW,
            None => flags,
        };
        at = openat(&at, part.as_os_str(), flags, Mode::empty())?;
    }
    Ok(at)
}

fn kind_of(found: &Metadata) -> FolderEntryKind {
    match found.file_type() {
        kind if kind.is_dir() => FolderEntryKind::Folder,
        kind if kind.is_symlink() => FolderEntryKind::Link,
        kind if kind.is_file() => FolderEntryKind::File,
        _ => FolderEntryKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_outside_is_reached_by_either_way() {
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(root.join("a/b/file"), "mine").unwrap();
        std::fs::write(outside.join("file"), "theirs").unwrap();
        symlink(&outside, root.join("a/link")).unwrap();
        symlink(outside.join("file"), root.join("a/leads")).unwrap();
        let rooted = RootedFolder::open(&root).unwrap();
        let read = |inner: &str| rooted.read_plain(Path::new(inner), 100);
        assert_eq!(read("a/b/file").unwrap(), b"mine");
        for inner in ["a/link/file", "a/leads", "../outside/file", "/etc/passwd"] {
            assert!(read(inner).is_err(), "{inner}");
            assert!(
                rooted
                    .put(Path::new(inner), b"evil", FileMode::Private)
                    .is_err()
                    || inner == "a/leads"
            );
        }
        assert!(rooted.entries(Path::new("a/link")).is_err());
        assert!(
            rooted
                .rename(Path::new("a/link/file"), OsStr::new("x"))
                .is_err()
        );
        // A link that is in the way is replaced.
        assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"theirs");
        assert_eq!(read("a/leads").unwrap(), b"evil");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        let step = |inner: &str| open_by_steps(rooted.folder.as_fd(), Path::new(inner), flags);
        assert!(step("a/b/file").is_ok());
        assert!(step("a/link/file").is_err());
        let mut names: Vec<_> = rooted.entries(Path::new("a")).unwrap();
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let kinds: Vec<_> = names.iter().map(|entry| entry.kind).collect();
        assert_eq!(
            kinds,
            [
                FolderEntryKind::Folder,
                FolderEntryKind::File,
                FolderEntryKind::Link
            ]
        );
    }
}
