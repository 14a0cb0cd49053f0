//! How is a home copied? One archive of everything that cannot be made again, taken while the home
//! is in use, checked to the last bit, and restored to a folder of its own.
//!
//! - [`create`] copies databases by the engine's own means, so that what is half written is not in
//!   them, and files as they are; what is secret stays behind unless it is asked for.
//! - [`verify`] finds every bit that is not as it was written, and says which file it is in.
//! - [`restore`] lays a checked archive out beside the home and moves it into place.
//!
//! An archive is a `.tar.gz`: `tar` opens it, too.

mod choose_files;
mod create;
mod manifest;
mod restore;
mod seal;
mod verify;

pub use create::{BackupAsk, BackupReport, create};
pub use manifest::{BackupEntry, BackupManifest, BlankedKey, EntryKind, LeftOut};
pub use restore::{ForeignArchive, RestoreAsk, RestoreReport, restore};
pub use seal::ArchiveProver;
pub use verify::{BackupCheck, verify};

use std::path::PathBuf;

/// Why a backup is not made, not trusted or not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] chela_store::StoreError),
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    #[error("{} lies inside of the home it would be a copy of", .0.display())]
    InsideHome(PathBuf),
    #[error("there is no home at {}", .0.display())]
    NoHome(PathBuf),
    #[error("{} is not a backup of Chela", .0.display())]
    NotABackup(PathBuf),
    #[error("{} was made by a later version (format {format}); update Chela first", path.display())]
    Newer { path: PathBuf, format: u32 },
    #[error("{} is damaged: {}", path.display(), found.join("; "))]
    Damaged { path: PathBuf, found: Vec<String> },
    #[error(
        "{} was not made by this installation, or its key is gone: whoever made it decides what your agents may do, by the config, approvals, jobs and waiting messages in it",
        .0.display()
    )]
    Foreign(PathBuf),
    #[error("the list of files cannot be written: {0}")]
    Manifest(#[from] serde_json::Error),
}

impl BackupError {
    pub(crate) fn file(path: &std::path::Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            path: path.clone(),
            source,
        }
    }
}
