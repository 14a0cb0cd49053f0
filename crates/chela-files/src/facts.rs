//! What the system says of a file besides its length, in words that hold on every system.
//!
//! Windows has no permission bits, and says which file is which only of one that is open. Where a
//! question has no answer there, the answer says so, or errs on the side of asking once more.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

#[cfg_attr(not(unix), path = "facts/windows.rs")]
mod unix;

#[cfg(windows)]
pub(crate) use unix::{BACKUP_SEMANTICS, OPEN_REPARSE_POINT};
pub use unix::{
    FileRights, create_link, is_link_loop, may_read, may_write, name_of_bytes, restrict_to_owner,
    set_permission_bits, this_user,
};

/// What the system knows a file by: two names of the same identity are one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    pub device: u64,
    pub number: u64,
}

impl FileIdentity {
    /// Of what a path leads to.
    pub fn at(path: &Path) -> io::Result<Self> {
        unix::identity_at(path)
    }

    /// Of an opened file or folder.
    pub fn of(file: &File) -> io::Result<Self> {
        unix::identity_of(file)
    }
}

/// Which version of a file this is, as far as it can be told without reading it. Times are in
/// nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Which file it is. Where the system says that of open files alone, when it was made.
    pub identity: FileIdentity,
    pub bytes: u64,
    pub modified: i128,
    /// Cannot be set back by whoever wrote the file, unlike the time of modification. Where the
    /// system has no such time it is that of the modification.
    pub changed: i128,
}

/// What can be asked of any file's metadata.
pub trait FileFacts {
    fn stamp(&self) -> FileStamp;

    /// `rwxrwxrwx` and the three bits above, as numbers have it on Unix.
    fn permission_bits(&self) -> u32;

    /// Whether its owner, or anybody, may run it.
    fn is_executable(&self) -> bool;

    /// The user and the group it belongs to, by their numbers; `None` where they have none.
    fn owner(&self) -> Option<FileOwner>;

    /// How many names it has.
    fn name_count(&self) -> u64;
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOwner {
    pub user: u32,
    pub group: u32,
}

impl FileStamp {
    pub fn of(facts: &Metadata) -> Self {
        facts.stamp()
    }

    /// Whether it was last written when it was last changed: what is unpacked or copied with its
    /// times has older ones.
    pub fn was_saved_here(&self) -> bool {
        const SAME_MOMENT: i128 = 5_000_000_000;
        (self.changed - self.modified).abs() < SAME_MOMENT
    }

    /// Seconds since 1970 of the last modification.
    pub fn modified_seconds(&self) -> u64 {
        u64::try_from(self.modified / 1_000_000_000).unwrap_or(0)
    }
}

/// As records have it. Which device it is on is not said: devices get other numbers.
impl std::fmt::Display for FileStamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.identity.number;
        write!(
            f,
            "{number}.{}.{}.{}",
            self.bytes, self.modified, self.changed
        )
    }
}
