//! Telling whether files are still those that were read, without reading them.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use chela_files::{FileStamp, HeldFolder};

/// Whether a second change could carry the same time as the one that was read: file systems tick
/// in milliseconds, so a file written just before it was read is not to be trusted.
fn is_fresh(stamp: &FileStamp, now: SystemTime) -> bool {
    const TICK: i128 = 30_000_000;
    let now = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    stamp.changed + TICK >= i128::try_from(now).unwrap_or(i128::MAX)
}

/// Everything below one folder that a reading depended on.
#[derive(Debug, Clone)]
pub(crate) struct FolderStamps {
    dir: PathBuf,
    /// Paths relative to `dir`; an empty one is the folder itself.
    paths: Vec<(PathBuf, FileStamp)>,
    /// Something was written so shortly before it was read that only reading tells.
    fresh: bool,
}

impl FolderStamps {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            paths: Vec::new(),
            fresh: false,
        }
    }

    /// Remembers a path below the folder; what lies elsewhere is not this folder's matter.
    pub(crate) fn note(&mut self, path: &Path, stamp: FileStamp, now: SystemTime) {
        if let Ok(relative) = path.strip_prefix(&self.dir) {
            self.fresh |= is_fresh(&stamp, now);
            self.paths.push((relative.to_owned(), stamp));
        }
    }

    /// Takes over what was noted about a folder below this one, so that all is asked in one go.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let Ok(below) = other.dir.strip_prefix(&self.dir) else {
            return;
        };
        self.fresh |= other.fresh;
        let paths = other.paths.iter();
        self.paths.extend(paths.map(|(path, stamp)| {
            let path = match path.as_os_str().is_empty() {
                true => below.to_owned(),
                false => below.join(path),
            };
            (path, *stamp)
        }));
    }

    /// Whether everything is as it was; asks the file system and reads nothing.
    pub(crate) fn hold(&self) -> bool {
        if self.fresh {
            return false;
        }
        let Ok(dir) = HeldFolder::open(&self.dir) else {
            return self.paths.is_empty();
        };
        // A folder that was not there and is now.
        if self.paths.is_empty() {
            return false;
        }
        self.paths
            .iter()
            .all(|(path, stamp)| dir.stamp_of(path).is_ok_and(|now| now == *stamp))
    }
}
