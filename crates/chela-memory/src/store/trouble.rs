//! What can be wrong with an index, and how it is told.

use std::path::{Path, PathBuf};

use chela_store::EngineFault;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the memory index {} is damaged; it is rebuilt from the notes", path.display())]
    Damaged {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the disk is full: the memory index {} keeps its last state; free some space, then run `chela memory index`", path.display())]
    DiskFull {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("another process is writing the memory index {}; try again in a moment", path.display())]
    Busy {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the memory index {} cannot be written", path.display())]
    ReadOnly {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the memory index {} failed", path.display())]
    Other {
        path: PathBuf,
        source: rusqlite::Error,
    },
}

/// Something about the index its owner should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexNotice {
    /// The file was damaged and set aside; a new one is being filled.
    Replaced { aside: PathBuf, why: String },
    /// The file was written by a newer version; this one uses a file of its own.
    Newer { version: i64, using: PathBuf },
    /// Nothing can be written: searches use what is there.
    ReadOnly { why: String },
    /// No file can be used: the index lives in memory for as long as the process.
    InMemory { why: String },
}

impl std::fmt::Display for IndexNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Replaced { aside, why } => write!(
                f,
                "the memory index was damaged ({why}) and is rebuilt from the notes; the old file is {}",
                aside.display()
            ),
            Self::Newer { version, using } => write!(
                f,
                "the memory index was written by a newer Chela (format {version}); this version leaves it alone and uses {}",
                using.display()
            ),
            Self::ReadOnly { why } => {
                write!(
                    f,
                    "the memory index cannot be written ({why}): results may be out of date"
                )
            }
            Self::InMemory { why } => write!(
                f,
                "the memory index cannot be stored on disk ({why}): it is rebuilt in memory each \
                    time"
            ),
        }
    }
}

/// Names the trouble behind an SQLite error.
pub fn explain(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match EngineFault::of(&source) {
        EngineFault::Damaged => StoreError::Damaged { path, source },
        EngineFault::DiskFull => StoreError::DiskFull { path, source },
        EngineFault::Busy => StoreError::Busy { path, source },
        EngineFault::ReadOnly => StoreError::ReadOnly { path, source },
        EngineFault::Other => StoreError::Other { path, source },
    }
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenTrouble {
    #[error("{0}")]
    Sql(#[from] rusqlite::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("format {0} is newer")]
    Newer(i64),
}
