//! What goes wrong with records, and what to do.

mod fault;

use std::path::{Path, PathBuf};

use crate::file::{Format, LONGEST_PATH, side_file};

pub use fault::Fault;

/// What an engine said; which engine is nobody's business.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

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
        "{name} {} was written by an older Chela (format {found}) and cannot be brought up to format {known} where nothing can be written; copy it to a disk that can be written and read it there",
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
        source: Cause,
    },
    #[error("the disk is full: nothing more can be kept in {}; free some space", path.display())]
    DiskFull { path: PathBuf, source: Cause },
    #[error("{name} {} cannot be written; check its owner and permissions", path.display())]
    ReadOnly {
        name: &'static str,
        path: PathBuf,
        source: Cause,
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
        source: Cause,
    },
    #[error(
        "the path of {name} is too long: {} has {} bytes and {most} can be used; choose a shorter home",
        path.display(),
        path.as_os_str().len()
    )]
    PathTooLong {
        name: &'static str,
        path: PathBuf,
        most: usize,
    },
    #[error(
        "{name} {} was deleted or replaced while it was open: nothing more can be kept in it; start again to go on with the file that is there",
        path.display()
    )]
    Replaced { name: &'static str, path: PathBuf },
    #[error("the folder {} cannot be made", path.display())]
    Folder {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} cannot be used: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{name} {} failed: {source}", path.display())]
    Other {
        name: &'static str,
        path: PathBuf,
        source: Cause,
    },
}

impl Format {
    /// Names the trouble behind an error of SQLite.
    pub fn explain(&self, path: &Path, source: rusqlite::Error) -> StoreError {
        let fault = Fault::of_file(&source, path);
        self.explain_fault(path, fault, Box::new(source))
    }

    pub(crate) fn explain_fault(&self, path: &Path, fault: Fault, source: Cause) -> StoreError {
        let (name, path) = (self.name, path.to_owned());
        match fault {
            Fault::Damaged => self.damaged(&path, source.to_string()),
            Fault::Busy => StoreError::Busy { name, path, source },
            Fault::DiskFull => StoreError::DiskFull { path, source },
            Fault::ReadOnly => self.read_only(path, source),
            Fault::Other => StoreError::Other { name, path, source },
        }
    }

    /// Which of the files it is that cannot be written.
    fn read_only(&self, path: PathBuf, source: Cause) -> StoreError {
        let name = self.name;
        let most = LONGEST_PATH;
        if path.as_os_str().len() > most {
            return StoreError::PathTooLong { name, path, most };
        }
        let unusable = |file: &Path| {
            file.symlink_metadata().is_ok()
                && std::fs::OpenOptions::new().write(true).open(file).is_err()
        };
        let side = ["-wal", "-shm"]
            .map(|suffix| side_file(&path, suffix))
            .into_iter()
            .find(|side| unusable(side));
        match side {
            Some(side) if !unusable(&path) => StoreError::SideFile {
                name,
                path,
                side,
                source,
            },
            _ => StoreError::ReadOnly { name, path, source },
        }
    }

    /// The rows of a file do not say what they ought to.
    pub fn damaged(&self, path: &Path, what: String) -> StoreError {
        StoreError::Damaged {
            name: self.name,
            path: path.to_owned(),
            what,
            next: self.if_damaged,
        }
    }
}
