//! What is kept of a file before a tool changes it, so that the change can be taken back.

use std::path::Path;

/// Keeps what changes replace.
pub trait ChangeJournal: Send + Sync {
    /// When this returns, what the change replaces is on the disk. When it fails, nothing could
    /// take the change back, and it is not made.
    fn before(&self, change: &FileChange<'_>) -> Result<ChangeId, String>;

    /// The change came to nothing: the file is as it was.
    fn not_made(&self, change: ChangeId);
}

/// The number of a change in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId(pub i64);

/// A file as it is and as it will be.
#[derive(Debug, Clone, Copy)]
pub struct FileChange<'a> {
    /// Where it really is.
    pub path: &'a Path,
    /// What is there; `None` for nothing.
    pub before: Option<&'a [u8]>,
    /// What will be there; `None` for nothing.
    pub after: Option<&'a [u8]>,
    /// The file whose text lives on in the new one: itself where it is edited, another where it
    /// is moved. `None` where every word is new.
    pub keeps: Option<&'a Path>,
    pub tool: &'a str,
    pub call: &'a str,
}
