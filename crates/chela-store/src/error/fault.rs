//! What is behind an error of SQLite.

use std::path::Path;

use chela_files::{DiskBar, disk_bar};
use rusqlite::{ErrorCode, ffi};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineFault {
    Damaged,
    Busy,
    DiskFull,
    ReadOnly,
    Other,
}

impl EngineFault {
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
            // The side file that is shared between processes found no room.
            Some(ErrorCode::SystemIoFailure) if extended(error) == ffi::SQLITE_IOERR_SHMSIZE => {
                Self::DiskFull
            }
            _ => Self::Other,
        }
    }

    /// The same with a look at the disk: most failed writes do not say that it is full.
    pub(crate) fn of_file(error: &rusqlite::Error, path: &Path) -> Self {
        let wrote = [
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_SHMOPEN,
            ffi::SQLITE_IOERR_SHMMAP,
        ];
        match Self::of(error) {
            Self::Other
                if wrote.contains(&extended(error)) && disk_bar(path) == Some(DiskBar::Full) =>
            {
                Self::DiskFull
            }
            fault => fault,
        }
    }
}

fn extended(error: &rusqlite::Error) -> std::ffi::c_int {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
        _ => 0,
    }
}
