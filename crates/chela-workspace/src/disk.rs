//! Files of the workspace and its record, and what is said when they cannot be written.

use std::path::{Path, PathBuf};

use chela_files::{FileMode, LockError, WriteError, write_file};


/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct DiskError {
    /// `create`, `write` and so on.
    pub action: &'static str,
    pub path: PathBuf,
    pub source: std::io::Error,
}

impl DiskError {
    pub(crate) fn new(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

impl From<WriteError> for DiskError {
    fn from(error: WriteError) -> Self {
        Self {
            action: error.what,
            path: error.path,
            source: error.source,
        }
    }
}

impl From<LockError> for DiskError {
    fn from(error: LockError) -> Self {
        let path = match &error {
            LockError::Busy { path, .. } | LockError::Io { path, .. } => path.clone(),
        };
        Self::new("lock", &path)(error.into())
    }
}

/// Replaces `path` in one step, keeping the permissions of what was there.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    Ok(write_file(path, bytes, FileMode::KeepOrUsual)?)
}

/// The same for what only the owner may read. The folder is made so, too.
pub(crate) fn write_privately(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    Ok(write_file(path, bytes, FileMode::KeepOrPrivate)?)
}
