//! Figures of a run, for whoever asked for them.
//!
//! A test says what it saw as a [`TallyRow`]; `cargo xtask guard-bench` names a file in
//! [`TALLY`] and makes a table of the rows in it, as does `cargo xtask kills`. Without that file nothing is written.

use std::fs::OpenOptions;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

/// Names the file that rows are added to.
pub const TALLY: &str = "CHELA_TALLY";

/// One measured thing. What does not apply is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallyRow {
    /// What it belongs to: rows of one part are added up.
    pub part: String,
    pub name: String,
    pub tasks: usize,
    /// Of these tasks, at their end.
    pub done: usize,
    /// How often the owner was asked.
    pub questions: usize,
    /// What went out, or was done for good, that nobody allowed.
    pub outward: usize,
}

impl TallyRow {
    pub fn new(part: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            part: part.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds the row to the file that was named, if one was.
    pub fn note(&self) -> io::Result<()> {
        note_row(self)
    }
}

/// What became of processes that were killed, for `cargo xtask kills`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillRow {
    /// What they were at.
    pub kind: String,
    pub kills: usize,
    /// Of these, still running when they were killed.
    pub running: usize,
    /// Accepted, and gone afterwards.
    pub lost: usize,
    /// Done, told or paid again.
    pub twice: usize,
    /// What `audit verify` counted, or what it found broken.
    pub audit: String,
    /// What was there in the end.
    pub found: String,
}

/// Adds a row to the file that [`TALLY`] names, if one is named.
pub fn note_row(row: &impl Serialize) -> io::Result<()> {
    let Some(path) = std::env::var_os(TALLY) else {
        return Ok(());
    };
    let mut line = serde_json::to_string(row)?;
    line.push('\n');
    // One write: several processes add to it.
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(line.as_bytes())
}
