//! Where the config file really is, and whether it may be replaced.

use std::path::{Path, PathBuf};

use chela_files::{FileDraft, FileFacts as _, FileMode, WriteError, may_write};

use super::StoreError;
use crate::sources::ReadProblem;

/// A new version of a config file, on the disk under another name. Config files hold secrets: a
/// new one is for its owner only.
pub(super) fn prepare(target: &Path, text: &str) -> Result<FileDraft, StoreError> {
    Ok(FileDraft::beside(
        target,
        text.as_bytes(),
        FileMode::KeepOrPrivate,
    )?)
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> Self {
        let WriteError { what, path, source } = error;
        Self::Io { what, path, source }
    }
}

/// Where a file really is: what a symlink points to, even if nothing is there yet.
pub(super) fn real_target(named: &Path) -> Result<PathBuf, StoreError> {
    const MAX_LINKS: usize = 40;
    let mut path = named.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    let (words, hint) = ReadProblem::LinkLoop.words();
    Err(StoreError::Unreadable {
        path: named.to_owned(),
        words,
        hint,
    })
}

pub(super) fn make_folder_of(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    chela_files::create_private_folder(folder).map_err(|source| StoreError::Io {
        what: "create the folder",
        path: folder.to_owned(),
        source,
    })
}

/// A file nobody may write is meant to stay as it is, even where the folder would allow to
/// replace it, and even for root.
pub(super) fn is_write_protected(path: &Path) -> bool {
    let no_bits = std::fs::metadata(path).is_ok_and(|data| data.permission_bits() & 0o222 == 0);
    no_bits || !may_write(path)
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
