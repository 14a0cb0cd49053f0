//! Whether a file is there, and whole.

use std::path::Path;

use rusqlite::Connection;

/// What lies where a file of records belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Nothing: it was never made, or somebody took it away.
    Absent,
    /// A file without records in it, as one that is being made for the first time.
    Empty,
    Present,
}

impl FileState {
    pub fn of(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(file) if file.len() > 0 || file.is_dir() => Self::Present,
            Ok(_) => Self::Empty,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Absent,
            // It is there, whoever may look at it.
            Err(_) => Self::Present,
        }
    }
}

/// What a look at the structure of a file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSoundness {
    Sound,
    /// What is wrong, in the engine's words.
    Damaged(Vec<String>),
}

/// As many complaints as anybody reads.
const MOST_COMPLAINTS: u32 = 20;

/// Reads the whole file and checks how its pages hang together.
pub(crate) fn check_quickly(connection: &Connection) -> rusqlite::Result<FileSoundness> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({MOST_COMPLAINTS})"))?;
    let complaints: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(match complaints.as_slice() {
        [only] if only == "ok" => FileSoundness::Sound,
        _ => FileSoundness::Damaged(complaints),
    })
}
