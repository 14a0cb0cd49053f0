//! What goes wrong with records, and what to do.

mod fault;

use std::path::PathBuf;

pub use fault::EngineFault;

/// What an engine said; which engine is nobody's business.
pub(crate) type EngineCause = Box<dyn std::error::Error + Send + Sync>;

impl From<StoreError> for std::io::Error {
    /// For callers that say themselves which file it was.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Folder { source, .. } | StoreError::File { source, .. } => source,
            error => Self::other(error),
        }
    }
}

/// Why records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{name} {} is damaged: {what}; {next}", path.display())]
    Damaged {
        name: &'static str,
        path: PathBuf,
        what: String,
        next: &'static str,
    },
    #[error(
        "{name} {} was written by a newer Chela (format {found}, this one knows {known}); update Chela to read it",
        path.display()
    )]
    Newer {
        name: &'static str,
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "{name} {} was written by an older Chela (format {found}) and cannot be upgraded to \
            format {known} on a read-only disk; copy it to a writable disk and read it there",
        path.display()
    )]
    Older {
        name: &'static str,
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("another process is writing {name} {}; try again in a moment", path.display())]
    Busy {
        name: &'static str,
        path: PathBuf,
        source: EngineCause,
    },
    #[error("the disk is full: nothing more can be saved in {}; free some space", path.display())]
    DiskFull { path: PathBuf, source: EngineCause },
    #[error("{name} {} cannot be written; check its owner and permissions", path.display())]
    ReadOnly {
        name: &'static str,
        path: PathBuf,
        source: EngineCause,
    },
    #[error(
        "{name} {} cannot be written: its disk is mounted read-only; remount it, or copy the home to another disk",
        path.display()
    )]
    ReadOnlyDisk {
        name: &'static str,
        path: PathBuf,
        source: EngineCause,
    },
    #[error(
        "{name} {} cannot be used because of {} beside it; check the owner and permissions of that file, or delete it while no Chela runs if it ends in -shm",
        path.display(),
        side.display()
    )]
    SideFile {
        name: &'static str,
        path: PathBuf,
        side: PathBuf,
        source: EngineCause,
    },
    #[error(
        "the path of {name} is too long: {} has {} bytes, at most {most} are possible; choose a \
            shorter home",
        path.display(),
        path.as_os_str().len()
    )]
    PathTooLong {
        name: &'static str,
        path: PathBuf,
        most: usize,
    },
    #[error(
        "{name} {} was deleted or replaced while it was open: nothing more can be saved in it; \
            restart to use the file that is there now",
        path.display()
    )]
    Replaced { name: &'static str, path: PathBuf },
    #[error("the folder {} cannot be created", path.display())]
    Folder {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} cannot be used: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("no answer came from the records: the process is ending")]
    Unanswered,
    #[error("a record cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{name} {} failed: {source}", path.display())]
    Other {
        name: &'static str,
        path: PathBuf,
        source: EngineCause,
    },
}
