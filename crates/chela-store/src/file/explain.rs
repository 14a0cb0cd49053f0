//! From what SQLite said to what happened and what to do.

use std::path::{Path, PathBuf};

use chela_files::{DiskBar, disk_bar};

use super::{FileFormat, LONGEST_PATH, side_file};
use crate::error::{EngineCause, EngineFault, StoreError};

impl FileFormat {
    /// Names the trouble behind an error of SQLite.
    pub fn explain(&self, path: &Path, source: rusqlite::Error) -> StoreError {
        let fault = EngineFault::of_file(&source, path);
        self.explain_fault(path, fault, Box::new(source))
    }

    pub(crate) fn explain_fault(
        &self,
        path: &Path,
        fault: EngineFault,
        source: EngineCause,
    ) -> StoreError {
        let (name, path) = (self.name, path.to_owned());
        match fault {
            EngineFault::Damaged => self.damaged(&path, source.to_string()),
            EngineFault::Busy => StoreError::Busy { name, path, source },
            EngineFault::DiskFull => StoreError::DiskFull { path, source },
            EngineFault::ReadOnly => self.read_only(path, source),
            EngineFault::Other => StoreError::Other { name, path, source },
        }
    }

    /// Which of the files it is that cannot be written, or whether the whole disk is in the way.
    fn read_only(&self, path: PathBuf, source: EngineCause) -> StoreError {
        let name = self.name;
        let most = LONGEST_PATH;
        if path.as_os_str().len() > most {
            return StoreError::PathTooLong { name, path, most };
        }
        match disk_bar(&path) {
            Some(DiskBar::Full) => return StoreError::DiskFull { path, source },
            Some(DiskBar::MountedReadOnly) => {
                return StoreError::ReadOnlyDisk { name, path, source };
            }
            None => {}
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
