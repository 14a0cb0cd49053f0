//! The one way a file is replaced: a draft beside it, synced, renamed into place.
//!
//! All steps go through a folder that is held open, so that a folder swapped for a link meanwhile
//! leads nowhere; the name itself is never followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chela_core::{ok_or_debug, ok_or_warn};

use crate::facts::FileRights;
use crate::held::holds;
use crate::leftovers::draft_name;
use crate::{FileIdentity, HeldFolder, create_private_folder};

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
    folder: Arc<HeldFolder>,
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
            let source = ErrorKind::InvalidInput.into();
            return Err(failed("write", target, source));
        };
        let made = match mode {
            FileMode::KeepOrUsual | FileMode::KeepOrOwnersToChange => {
                std::fs::create_dir_all(parent)
            }
            FileMode::Private | FileMode::KeepOrPrivate => create_private_folder(parent),
        };
        made.map_err(|source| failed("create the folder", parent, source))?;
        let folder =
            HeldFolder::open(parent).map_err(|source| failed("open the folder", parent, source))?;
        Self::write(Arc::new(folder), name, bytes, mode, target.to_owned())
    }

    /// Writes `bytes` beside the file `name` of a folder that is held open.
    pub fn in_folder(
        folder: Arc<HeldFolder>,
        name: &OsStr,
        bytes: &[u8],
        mode: FileMode,
    ) -> Result<Self, WriteError> {
        Self::write(folder, name, bytes, mode, PathBuf::from(name))
    }

    fn write(
        folder: Arc<HeldFolder>,
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
        let (mut file, draft) = create_draft(&folder, mode).map_err(failed)?;
        let written = Self {
            target: target.clone(),
            name: name.to_owned(),
            folder,
            draft,
            gone: false,
        };
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
            let file = self.folder.open_plain(&self.draft)?;
            FileRights::of(&std::fs::metadata(model)?).give_to(&file)
        };
        copy().map_err(|source| self.failed("write", source))
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
        let placed = placed.map_err(|source| self.failed("replace", source))?;
        if placed == DraftPlacement::Placed {
            // The rename has happened; a folder that cannot be synced makes it no less real.
            ok_or_warn!(
                self.folder.sync(),
                "a changed file may come back as it was after a power cut",
                path = %self.target.display()
            );
        }
        Ok(placed)
    }

    fn rename_over(&mut self) -> io::Result<()> {
        self.folder.rename(&self.draft, &self.name)?;
        self.gone = true;
        Ok(())
    }

    /// A link to a name that is taken fails, where a rename would not.
    fn link_into_place(&mut self) -> io::Result<DraftPlacement> {
        match self.folder.link(&self.draft, &self.name) {
            Ok(()) => Ok(DraftPlacement::Placed),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(DraftPlacement::Changed),
            // Some file systems have no links: the second best is to look first.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                match self.folder.look(&self.name) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {
                        self.rename_over().map(|()| DraftPlacement::Placed)
                    }
                    Ok(_) => Ok(DraftPlacement::Changed),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn trade_places(&mut self, expected: &[u8]) -> io::Result<DraftPlacement> {
        if !self.holds(&self.name, expected) {
            return Ok(DraftPlacement::Changed);
        }
        let own = self.draft_identity()?;
        match self.folder.exchange(&self.draft, &self.name) {
            Ok(()) => {}
            // The look before the rename has to do.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return self.rename_over().map(|()| DraftPlacement::Placed);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(DraftPlacement::Changed);
            }
            Err(error) => return Err(error),
        }
        if self.holds(&self.draft, expected) {
            return Ok(DraftPlacement::Placed);
        }
        self.give_back(own)
    }

    /// Whether a plain file of exactly these bytes has that name.
    fn holds(&self, name: &OsStr, expected: &[u8]) -> bool {
        let file = self.folder.open_plain(name);
        file.is_ok_and(|file| holds(file, expected))
    }

    /// Somebody saved between the look and the trade: their file goes back where it was. Should
    /// they have saved once more meanwhile, that newer file comes out, and goes back in turn.
    fn give_back(&mut self, own: FileIdentity) -> io::Result<DraftPlacement> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            match self.folder.exchange(&self.draft, &self.name) {
                Ok(()) => {}
                // They took the new file away; theirs must not go with the draft.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return self.rename_over().map(|()| DraftPlacement::Changed);
                }
                Err(error) => {
                    self.gone = true;
                    return Err(error);
                }
            }
            if self.draft_identity()? == own {
                return Ok(DraftPlacement::Changed);
            }
        }
        self.gone = true;
        Err(ErrorKind::ResourceBusy.into())
    }

    /// What the system knows the file by that has the draft's name now.
    fn draft_identity(&self) -> io::Result<FileIdentity> {
        self.folder.look(&self.draft).map(|found| found.identity)
    }

    fn keep_rights(&self, draft: &File, mode: FileMode) -> io::Result<()> {
        if mode == FileMode::Private {
            return Ok(());
        }
        match self.folder.rights_of(&self.name) {
            Some(rights) => rights.give_to(draft),
            None => Ok(()),
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
            let gone = self.folder.remove_file(&self.draft);
            ok_or_debug!(gone, "a draft is left behind", path = %self.target.display());
        }
    }
}

fn create_draft(folder: &HeldFolder, mode: FileMode) -> io::Result<(File, OsString)> {
    const TRIES: u32 = 16;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let bits = match mode {
        FileMode::KeepOrUsual => 0o666,
        FileMode::KeepOrOwnersToChange => 0o644,
        FileMode::Private | FileMode::KeepOrPrivate => 0o600,
    };
    for _ in 0..TRIES {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Each of these is seeded anew, so no other process makes the same name.
        let name = draft_name(RandomState::new().hash_one(count), count);
        match folder.create_new(&name, bits) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests;
