//! From what SQLite said to what happened and what to do.

use std::path::{Path, PathBuf};

use super::{Format, LONGEST_PATH, side_file};
use crate::error::{Cause, Fault, StoreError};

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
