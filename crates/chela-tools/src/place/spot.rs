//! A place that was found: a folder held open, and one name in it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chela_core::{Entropy, Origin, Trust, ok_or_debug};
use chela_files::{
    DraftPlacement, ExpectedContent, FileDraft, FileMode, FolderEntryKind, HeldFolder, ReadVersion,
    read_version,
};
use chela_guard::{ExternalSource, LabelledText};

use super::{PlaceError, TrustOf};

/// What stands at a [`OpenPlace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// A device, a pipe, a socket.
    Other,
    /// Nothing yet.
    Absent,
}

impl From<FolderEntryKind> for EntryKind {
    fn from(kind: FolderEntryKind) -> Self {
        match kind {
            FolderEntryKind::File => Self::File,
            FolderEntryKind::Folder => Self::Folder,
            FolderEntryKind::Link => Self::Link,
            FolderEntryKind::Other => Self::Other,
        }
    }
}

/// To which root a folder belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderOwner {
    Root(usize),
    Protected,
    Nobody,
}

/// A place that was found and may be used as asked.
pub struct OpenPlace {
    pub(super) dir: Arc<HeldFolder>,
    /// `.` for the folder itself.
    pub(super) name: OsString,
    pub(super) kind: EntryKind,
    pub(super) path: PathBuf,
    pub(super) shown: String,
    /// `None` outside all roots.
    pub(super) trust: Option<TrustOf>,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceEntry {
    pub name: OsString,
    pub kind: EntryKind,
    pub size: u64,
    pub modified: SystemTime,
}

impl std::fmt::Debug for OpenPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spot")
            .field("path", &self.path)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl OpenPlace {
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Where it really is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As shown to the model: relative to the workspace where it lies in it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// As named in a sentence.
    pub(crate) fn named(&self) -> &str {
        match self.shown.as_str() {
            "." => "the workspace",
            shown => shown,
        }
    }

    /// As it is now. What was read of it is judged by `trust_of_read`.
    pub fn trust(&self) -> Trust {
        self.trust_of(&self.path)
    }

    /// How far something below this place is trusted, by its real path.
    pub(crate) fn trust_of(&self, path: &Path) -> Trust {
        let trust = self.trust.as_ref();
        trust.map_or(Trust::External, |trust| trust(path, None))
    }

    /// How far the version of a file is trusted that was read: another one may lie there by now.
    pub(crate) fn trust_of_read(&self, path: &Path, read: &ReadVersion) -> Trust {
        let trust = self.trust.as_ref();
        trust.map_or(Trust::External, |trust| trust(path, Some(read)))
    }

    /// How far a listing is trusted that names these: names are text, too, and somebody chose
    /// them.
    pub(crate) fn trust_of_names(&self, paths: impl IntoIterator<Item = PathBuf>) -> Trust {
        let mut lowest = Trust::Agent;
        for path in paths {
            lowest = lowest.join(self.trust_of(&path));
            if lowest == Trust::External {
                break;
            }
        }
        lowest
    }

    /// Text of this file as the model may read it: foreign text is wrapped.
    pub(crate) fn label(
        &self,
        text: String,
        read: &ReadVersion,
        entropy: &dyn Entropy,
    ) -> LabelledText {
        self.label_as(text, self.trust_of_read(&self.path, read), entropy)
    }

    /// Text from this place, trusted so far.
    pub(crate) fn label_as(
        &self,
        text: String,
        trust: Trust,
        entropy: &dyn Entropy,
    ) -> LabelledText {
        let origin = Origin::file(&self.shown, &text);
        match trust {
            Trust::External => {
                let source = ExternalSource::File {
                    path: self.shown.clone(),
                };
                LabelledText::external(&text, &source, origin, entropy)
            }
            trust => LabelledText::local(text, trust, origin),
        }
    }

    /// Opens the file for reading. Never waits, never follows a link, never opens a device.
    pub fn open(&self) -> Result<File, PlaceError> {
        match self.kind {
            EntryKind::Folder => return Err(PlaceError::IsFolder { path: self.said() }),
            EntryKind::Other => return Err(PlaceError::NotFile { path: self.said() }),
            EntryKind::Absent => return Err(PlaceError::Missing { path: self.said() }),
            EntryKind::File | EntryKind::Link => {}
        }
        self.dir.open_plain(&self.name).map_err(|error| {
            // Something else stands there by now, which the system says in words of its own.
            match self.dir.look(&self.name).map(|found| found.kind) {
                Ok(FolderEntryKind::Link) => PlaceError::Changed { path: self.said() },
                Ok(FolderEntryKind::Folder) => PlaceError::IsFolder { path: self.said() },
                Ok(FolderEntryKind::Other) => PlaceError::NotFile { path: self.said() },
                Ok(FolderEntryKind::File) | Err(_) => self.io(error),
            }
        })
    }

    /// All bytes of the file, when there are at most `most`; else how many there are.
    pub fn read(&self, most: u64) -> Result<Result<Vec<u8>, u64>, PlaceError> {
        let read = self.read_version(most)?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// The same, and which version of the file these bytes are.
    pub(crate) fn read_version(
        &self,
        most: u64,
    ) -> Result<Result<(Vec<u8>, ReadVersion), u64>, PlaceError> {
        let file = self.open()?;
        let size = file.metadata().map_err(|error| self.io(error))?.len();
        if size > most {
            return Ok(Err(size));
        }
        // Some files have no size, and some grow.
        let read = read_version(&file, most + 1).map_err(|error| self.io(error))?;
        match read.0.len() as u64 > most {
            true => Ok(Err(read.0.len() as u64)),
            false => Ok(Ok(read)),
        }
    }

    /// Puts these bytes in place of the file, all at once: another reader sees the old file or
    /// the new one. The rights of an old file are kept. When something else stands there than was
    /// expected, it is left alone.
    pub fn replace(
        &self,
        bytes: &[u8],
        expected: ExpectedContent<'_>,
    ) -> Result<DraftPlacement, PlaceError> {
        match self.kind {
            EntryKind::Folder => return Err(PlaceError::IsFolder { path: self.said() }),
            EntryKind::Other => return Err(PlaceError::NotFile { path: self.said() }),
            EntryKind::File | EntryKind::Link | EntryKind::Absent => {}
        }
        let folder = Arc::clone(&self.dir);
        FileDraft::in_folder(folder, &self.name, bytes, FileMode::KeepOrUsual)
            .and_then(|draft| draft.put_if(expected))
            .map_err(|error| self.io(error.source))
    }

    /// Removes the file, if it still holds these bytes.
    pub fn remove_if(&self, expected: &[u8]) -> Result<DraftPlacement, PlaceError> {
        match self.read(expected.len() as u64) {
            Ok(Ok(now)) if now == expected => self.remove().map(|()| DraftPlacement::Placed),
            Ok(_) | Err(PlaceError::Missing { .. } | PlaceError::Changed { .. }) => {
                Ok(DraftPlacement::Changed)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the file.
    pub fn remove(&self) -> Result<(), PlaceError> {
        match self.kind {
            EntryKind::Folder => Err(PlaceError::IsFolder { path: self.said() }),
            EntryKind::Absent => Err(PlaceError::Missing { path: self.said() }),
            _ => {
                self.dir
                    .remove_file(&self.name)
                    .map_err(|error| self.io(error))?;
                // It is gone; a folder that cannot be synced makes it no less so.
                ok_or_debug!(
                    self.dir.sync(),
                    "the folder of a removed file is not synced"
                );
                Ok(())
            }
        }
    }

    /// The entries of the folder, by name, and how many there are: at most `most` come back.
    pub fn entries(&self, most: usize) -> Result<(Vec<PlaceEntry>, usize), PlaceError> {
        if self.kind != EntryKind::Folder {
            return Err(match self.kind {
                EntryKind::Absent => PlaceError::Missing { path: self.said() },
                _ => PlaceError::NotFolder { path: self.said() },
            });
        }
        list(&self.dir, most).map_err(|error| self.io(error))
    }

    /// The folder itself, held open.
    pub(crate) fn folder(&self) -> &HeldFolder {
        &self.dir
    }

    fn said(&self) -> String {
        self.shown.clone()
    }

    fn io(&self, source: std::io::Error) -> PlaceError {
        PlaceError::io(&self.shown, source)
    }
}

/// The entries of a folder, by name.
pub(crate) fn list(dir: &HeldFolder, most: usize) -> std::io::Result<(Vec<PlaceEntry>, usize)> {
    let entries = dir.entries()?;
    let mut names: Vec<OsString> = entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    let total = names.len();
    let entries = names.into_iter().take(most).filter_map(|name| {
        let found = dir.look(&name).ok()?;
        Some(PlaceEntry {
            kind: found.kind.into(),
            size: found.size,
            modified: found.modified,
            name,
        })
    });
    Ok((entries.collect(), total))
}
