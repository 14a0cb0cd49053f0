//! Files of the workspace and its record, and what is said when they cannot be written.

use std::path::{Path, PathBuf};

use chela_files::{FileMode, WriteError, write_file};
use serde::Serialize;

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

/// Replaces `path` in one step, keeping the permissions of what was there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    Ok(write_file(path, bytes, FileMode::KeepOrOwnersToChange)?)
}

/// Writes a document that only the owner may read. What cannot be said in JSON leaves the former
/// one as it is.
pub(crate) fn write_document(path: &Path, document: &impl Serialize) -> Result<(), DiskError> {
    let text = serde_json::to_string_pretty(document);
    let mut text = text.map_err(|error| DiskError::new("write", path)(error.into()))?;
    text.push('\n');
    write_privately(path, text.as_bytes())
}

/// Replaces `path` for the owner's eyes alone. The folder is made so, too.
pub(crate) fn write_privately(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    Ok(write_file(path, bytes, FileMode::KeepOrPrivate)?)
}
