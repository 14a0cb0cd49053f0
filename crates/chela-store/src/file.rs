//! One file of records: its format, and how it is opened.

mod copying;
mod document;
mod examine;
mod explain;
mod format;
mod opening;
mod reading;
mod sound;

use std::path::{Path, PathBuf};

pub use copying::copy_database;
pub use document::document_at;
pub use examine::{FileExamination, examine};
pub use format::{FileFormat, FreedRoom};
pub use opening::{open, open_in_memory};
pub use sound::{FileSoundness, FileState};

pub(crate) use opening::{OpenedFile, open_beside, open_file, open_memory};
pub(crate) use reading::open_existing;
pub(crate) use sound::check_quickly;

/// Longer paths SQLite does not open.
pub(crate) const LONGEST_PATH: usize = 511;

/// A file SQLite keeps beside another: `-wal`, `-shm`.
pub(crate) fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
