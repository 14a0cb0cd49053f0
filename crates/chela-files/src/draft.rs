//! The one way a file is replaced: a draft beside it, synced, renamed into place.
//!
//! All steps go through a folder that is held open, so that a folder swapped for a link meanwhile
//! leads nowhere; the name itself is never followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chela_core::{ok_or_debug, ok_or_warn};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fsync, linkat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::create_private_folder;
use crate::leftovers::draft_name;

/// Who may read and write the file once it is in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Its owner alone, whatever an older file allowed.
    Private,
    /// Whoever might use the older file; a new one is for its owner alone.
    KeepOrPrivate,
    /// Whoever might use the older file; a new one is like any other file of the user.
    KeepOrUsual,
    /// Whoever might use the older file; a new one is read by whom the user lets read, and
    /// changed by its owner alone.
    KeepOrOwnersToChange,
}

/// What must still stand there when the new file is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedContent<'a> {
    /// No file.
    Absent,
    /// A file of exactly these bytes.
    Bytes(&'a [u8]),
    /// Anything: whatever is there is replaced.
    Anything,
}

impl<'a> ExpectedContent<'a> {
    /// What was read: bytes, or `None` where there was no file.
    pub fn of(read: Option<&'a [u8]>) -> Self {
        read.map_or(Self::Absent, Self::Bytes)
    }
}

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum DraftPlacement {
    Placed,
    /// Something else stands there than was expected; it was left as it is.
    Changed,
}

/// Why a file could not be written. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {source}", path.display())]
pub struct WriteError {
    /// `write`, `replace` and so on.
    pub what: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        error.source
    }
}

/// A new version of a file, complete and on the disk under another name. Dropped, it goes away.
#[derive(Debug)]
pub struct FileDraft {
    folder: OwnedFd,
    name: OsString,
    draft: OsString,
    /// For messages, and for [`Self::path`].
    target: PathBuf,
    gone: bool,
}

/// Replaces `target` as a whole; its folder is made if there is none. A symlink of that name is
/// replaced, not followed.
pub fn write_file(target: &Path, bytes: &[u8], mode: FileMode) -> Result<(), WriteError> {
    FileDraft::beside(target, bytes, mode)?.put_in_place()
}

/// Makes `target`, never touching anything that has that name, a dangling symlink included.
pub fn create_file(
    target: &Path,
    bytes: &[u8],
    mode: FileMode,
) -> Result<DraftPlacement, WriteError> {
    if std::fs::symlink_metadata(target).is_ok() {
        return Ok(DraftPlacement::Changed);
    }
    FileDraft::beside(target, bytes, mode)?.put_if(ExpectedContent::Absent)
}

impl FileDraft {
    /// Writes `bytes` beside `target`, in a folder that is made if there is none.
    pub fn beside(target: &Path, bytes: &[u8], mode: FileMode) -> Result<Self, WriteError> {
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let failed = |what, path: &Path, source| WriteError {
            what,
            path: path.to_owned(),
            source,
        };
        let Some(name) = target.file_name() else {
            let source = io::ErrorKind::InvalidInput.into();
            return Err(failed("write", target, source));
        };
        let made = match mode {
            FileMode::KeepOrUsual | FileMode::KeepOrOwnersToChange => {
                std::fs::create_dir_all(parent)
            }
            FileMode::Private | FileMode::KeepOrPrivate => create_private_folder(parent),
        };
        made.map_err(|source| failed("create the folder", parent, source))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, parent, flags, Mode::empty())
            .map_err(|errno| failed("open the folder", parent, errno.into()))?;
        Self::write(folder, name, bytes, mode, target.to_owned())
    }

    /// Writes `bytes` beside the file `name` of a folder that is held open.
    pub fn in_folder(
        folder: BorrowedFd<'_>,
        name: &OsStr,
        bytes: &[u8],
        mode: FileMode,
    ) -> Result<Self, WriteError> {
        let target = PathBuf::from(name);
        match folder.try_clone_to_owned() {
            Ok(folder) => Self::write(folder, name, bytes, mode, target),
            Err(source) => Err(WriteError {
                what: "open the folder of",
                path: target,
                source,
            }),
        }
    }

    fn write(
        folder: OwnedFd,
        name: &OsStr,
        bytes: &[u8],
        mode: FileMode,
        target: PathBuf,
    ) -> Result<Self, WriteError> {
        let failed = |source: io::Error| WriteError {
            what: "write",
            path: target.clone(),
            source,
        };
        let (fd, draft) = create_draft(&folder, mode).map_err(|errno| failed(errno.into()))?;
        let written = Self {
            target: target.clone(),
            name: name.to_owned(),
            folder,
            draft,
            gone: false,
        };
        let mut file = File::from(fd);
        written
            .keep_rights(&file, mode)
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        Ok(written)
    }

    /// Where the draft lies until it is put in place.
    pub fn path(&self) -> PathBuf {
        self.target.with_file_name(&self.draft)
    }

    /// Gives it the mode and owner of another file.
    pub fn take_rights_of(&self, model: &Path) -> Result<(), WriteError> {
        let copy = || {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(openat(&self.folder, &self.draft, flags, Mode::empty())?);
            let model = std::fs::metadata(model)?;
            copy_rights(&file, (model.mode(), model.uid(), model.gid()))
        };
        copy().map_err(|source| self.failed("write", source))
    }

    /// The folder may be held only as a place to name files in, and such a handle cannot be synced.
    fn sync_folder(&self) -> rustix::io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        fsync(openat(&self.folder, ".", flags, Mode::empty())?)
    }

    /// Replaces whatever is there.
    pub fn put_in_place(self) -> Result<(), WriteError> {
        self.put_if(ExpectedContent::Anything).map(drop)
    }

    /// Puts it in place if what is there is what was expected, looked at as late as the system
    /// allows: where two files can trade places, after the trade, so that nothing slips between.
    /// Writers that know of each other take a lock besides ([`crate::PathLocks`]): this is for
    /// those who do not, such as an editor.
    pub fn put_if(mut self, expected: ExpectedContent<'_>) -> Result<DraftPlacement, WriteError> {
        let placed = match expected {
            ExpectedContent::Anything => self.rename_over().map(|()| DraftPlacement::Placed),
            ExpectedContent::Absent => self.link_into_place(),
            ExpectedContent::Bytes(bytes) => self.trade_places(bytes),
        };
        let placed = placed.map_err(|errno| self.failed("replace", errno.into()))?;
        if placed == DraftPlacement::Placed {
            // The rename has happened; a folder that cannot be synced makes it no less real.
            ok_or_warn!(
                self.sync_folder(),
                "a changed file may come back as it was after a power cut",
                path = %self.target.display()
            );
        }
        Ok(placed)
    }

    fn rename_over(&mut self) -> Result<(), Errno> {
        renameat(&self.folder, &self.draft, &self.folder, &self.name)?;
        self.gone = true;
        Ok(())
    }

    /// A link to a name that is taken fails, where a rename would not.
    fn link_into_place(&mut self) -> Result<DraftPlacement, Errno> {
        match linkat(
            &self.folder,
            &self.draft,
            &self.folder,
            &self.name,
            AtFlags::empty(),
        ) {
            Ok(()) => Ok(DraftPlacement::Placed),
            Err(Errno::EXIST) => Ok(DraftPlacement::Changed),
            // Some file systems have no links: the second best is to look first.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => self.rename_over().map(|()| DraftPlacement::Placed),
                    Ok(_) => Ok(DraftPlacement::Changed),
                    Err(errno) => Err(errno),
                }
            }
            Err(errno) => Err(errno),
        }
    }

    fn trade_places(&mut self, expected: &[u8]) -> Result<DraftPlacement, Errno> {
        if !holds(&self.folder, &self.name, expected) {
            return Ok(DraftPlacement::Changed);
        }
        let own = self.draft_number()?;
        match exchange(&self.folder, &self.draft, &self.name) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return self.rename_over().map(|()| DraftPlacement::Placed);
            }
            Err(Errno::NOENT) => return Ok(DraftPlacement::Changed),
            Err(errno) => return Err(errno),
        }
        if holds(&self.folder, &self.draft, expected) {
            return Ok(DraftPlacement::Placed);
        }
        self.give_back(own)
    }

    /// Somebody saved between the look and the trade: their file goes back where it was. Should
    /// they have saved once more meanwhile, that newer file comes out, and goes back in turn.
    fn give_back(&mut self, own: u64) -> Result<DraftPlacement, Errno> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            match exchange(&self.folder, &self.draft, &self.name) {
                Ok(()) => {}
                // They took the new file away; theirs must not go with the draft.
                Err(Errno::NOENT) => return self.rename_over().map(|()| DraftPlacement::Changed),
                Err(errno) => {
                    self.gone = true;
                    return Err(errno);
                }
            }
            if self.draft_number()? == own {
                return Ok(DraftPlacement::Changed);
            }
        }
        self.gone = true;
        Err(Errno::BUSY)
    }

    /// What the system knows the file by that has the draft's name now.
    fn draft_number(&self) -> Result<u64, Errno> {
        statat(&self.folder, &self.draft, AtFlags::SYMLINK_NOFOLLOW).map(|found| found.st_ino)
    }

    fn keep_rights(&self, draft: &File, mode: FileMode) -> io::Result<()> {
        if mode == FileMode::Private {
            return Ok(());
        }
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(old) if FileType::from_raw_mode(old.st_mode) == FileType::RegularFile => {
                copy_rights(draft, (old.st_mode, old.st_uid, old.st_gid))
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> WriteError {
        WriteError {
            what,
            path: self.target.clone(),
            source,
        }
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        if !self.gone {
            // A leftover is found by its name and swept another day.
            let gone = unlinkat(&self.folder, &self.draft, AtFlags::empty());
            ok_or_debug!(gone, "a draft is left behind", path = %self.target.display());
        }
    }
}

fn create_draft(folder: &OwnedFd, mode: FileMode) -> Result<(OwnedFd, OsString), Errno> {
    const TRIES: u32 = 16;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let rights = Mode::from_raw_mode(match mode {
        FileMode::KeepOrUsual => 0o666,
        FileMode::KeepOrOwnersToChange => 0o644,
        FileMode::Private | FileMode::KeepOrPrivate => 0o600,
    });
    for _ in 0..TRIES {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Each of these is seeded anew, so no other process makes the same name.
        let name = draft_name(RandomState::new().hash_one(count), count);
        match openat(folder, &name, flags, rights) {
            Ok(fd) => return Ok((fd, name)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// Mode, user and group of another file.
fn copy_rights(file: &File, (mode, user, group): (impl Into<u32>, u32, u32)) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (user, group) {
        // Only root may give files away; everybody else keeps what they create.
        let given = std::os::unix::fs::fchown(file, Some(user), Some(group));
        ok_or_debug!(given, "a file changes its owner with its text", user, group);
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode.into() & 0o777))
}

/// Whether a plain file of exactly these bytes has that name.
fn holds(folder: &OwnedFd, name: &OsStr, expected: &[u8]) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(fd) = openat(folder, name, flags, Mode::empty()) else {
        return false;
    };
    let file = File::from(fd);
    let is_plain = file.metadata().is_ok_and(|found| found.is_file());
    let mut found = Vec::with_capacity(expected.len());
    is_plain
        && file
            .take(expected.len() as u64 + 1)
            .read_to_end(&mut found)
            .is_ok()
        && found == expected
}

/// Two names of a folder trade what they name.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn exchange(folder: &OwnedFd, one: &OsStr, other: &OsStr) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE)
}

/// Elsewhere the look before the rename has to do.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn exchange(_: &OwnedFd, _: &OsStr, _: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests;
