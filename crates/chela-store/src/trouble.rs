//! What goes wrong with a file of records, and what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::Format;

/// Why a file of records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
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
    #[error("another process is writing {name} {}; try again in a moment", path.display())]
    Busy {
        name: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the disk is full: nothing more can be kept in {}; free some space", path.display())]
    DiskFull {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("{name} {} cannot be written; check its owner and permissions", path.display())]
    ReadOnly {
        name: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the folder {} cannot be made", path.display())]
    Folder {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{name} {} failed", path.display())]
    Other {
        name: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
}

/// What is behind an error of SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Damaged,
    Busy,
    DiskFull,
    ReadOnly,
    Other,
}

impl Fault {
    pub fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged,
            // A table that ought to be there is missing: something else wrote this file.
            Some(ErrorCode::Unknown) if error.to_string().contains("no such") => Self::Damaged,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly
            }
            _ => Self::Other,
        }
    }
}

impl Format {
    /// Names the trouble behind an error of SQLite.
    pub fn explain(&self, path: &Path, source: rusqlite::Error) -> FileError {
        let (name, path) = (self.name, path.to_owned());
        match Fault::of(&source) {
            Fault::Damaged => self.damaged(&path, source.to_string()),
            Fault::Busy => FileError::Busy { name, path, source },
            Fault::DiskFull => FileError::DiskFull { path, source },
            Fault::ReadOnly => FileError::ReadOnly { name, path, source },
            Fault::Other => FileError::Other { name, path, source },
        }
    }

    /// The rows of a file do not say what they ought to.
    pub fn damaged(&self, path: &Path, what: String) -> FileError {
        FileError::Damaged {
            name: self.name,
            path: path.to_owned(),
            what,
            next: self.if_damaged,
        }
    }
}
