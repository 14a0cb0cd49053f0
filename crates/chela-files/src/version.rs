//! A file as it was read.
//!
//! Who answers for a file answers for one version of it. A second look at its path may find another
//! one there: what is judged has to be what was read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use chela_core::ContentHash;

use crate::FileStamp;

/// What is known of the version of a file that was read.
#[derive(Debug, Clone)]
pub struct ReadVersion {
    /// Of all it held; `None` where only a part was read.
    pub hash: Option<ContentHash>,
    /// What the opened file said of itself, if it said the same before and after the reading.
    pub facts: Option<Metadata>,
}

impl ReadVersion {
    /// Of a file of which nothing is known but what it held.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            hash: Some(ContentHash::of(bytes)),
            facts: None,
        }
    }

    /// Of an opened file that was read, in parts or as a whole, since it had these facts.
    pub fn of_read(file: &File, before: Metadata, whole: Option<&[u8]>) -> Self {
        let same = |now: &Metadata| FileStamp::of(now) == FileStamp::of(&before);
        Self {
            facts: file.metadata().ok().filter(same),
            hash: whole.map(ContentHash::of),
        }
    }
}

/// The bytes of an opened file, and which version of it they are. More than `most` bytes are not
/// read, and make no whole.
pub fn read_version(file: &File, most: u64) -> io::Result<(Vec<u8>, ReadVersion)> {
    let before = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let is_whole = (bytes.len() as u64) < most || file.metadata()?.len() <= most;
    let version = ReadVersion::of_read(file, before, is_whole.then_some(bytes.as_slice()));
    Ok((bytes, version))
}

/// [`read_version`] of the file a path leads to now.
pub fn read_version_at(path: &Path, most: u64) -> io::Result<(Vec<u8>, ReadVersion)> {
    let real = path.canonicalize()?;
    let file = crate::open_plain(&real, OpenOptions::new().read(true))?;
    read_version(&file, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_under_the_reading_is_known_by_its_bytes_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "one").unwrap();
        let (bytes, version) = read_version_at(&path, 100).unwrap();
        assert_eq!(version.hash, Some(ContentHash::of(&bytes)));
        assert!(version.facts.is_some());
        let file = File::open(&path).unwrap();
        let before = file.metadata().unwrap();
        std::fs::write(&path, "another").unwrap();
        let version = ReadVersion::of_read(&file, before, Some(b"one"));
        assert!(version.facts.is_none());
        let (_, part) = read_version_at(&path, 3).unwrap();
        assert_eq!(part.hash, None);
    }
}
