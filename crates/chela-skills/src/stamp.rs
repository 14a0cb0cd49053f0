//! Telling whether a file is still the one that was read, without reading it.

use std::ffi::CString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags};

/// What the file system says about one version of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathStamp {
    inode: u64,
    bytes: u64,
    modified: i128,
    /// Cannot be set back by whoever wrote the file, unlike the time of modification.
    changed: i128,
}

const NANOS: i128 = 1_000_000_000;

impl PathStamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: i128::from(metadata.mtime()) * NANOS + i128::from(metadata.mtime_nsec()),
            changed: i128::from(metadata.ctime()) * NANOS + i128::from(metadata.ctime_nsec()),
        }
    }

    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "widths differ by platform"
    )]
    pub(crate) fn of_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            inode: stat.st_ino as u64,
            bytes: stat.st_size as u64,
            modified: i128::from(stat.st_mtime) * NANOS + stat.st_mtime_nsec as i128,
            changed: i128::from(stat.st_ctime) * NANOS + stat.st_ctime_nsec as i128,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Seconds since 1970 of the last modification.
    pub(crate) fn modified_seconds(&self) -> u64 {
        u64::try_from(self.modified / NANOS).unwrap_or(0)
    }

    /// Whether a second change could carry the same time as the one that was read: file systems
    /// tick in milliseconds, so a file written just before it was read is not to be trusted.
    fn is_fresh(&self, now: SystemTime) -> bool {
        const TICK: i128 = 30_000_000;
        let now = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        self.changed + TICK >= i128::try_from(now).unwrap_or(i128::MAX)
    }
}

/// Everything below one folder that a reading depended on.
#[derive(Debug, Clone)]
pub(crate) struct FolderStamps {
    dir: PathBuf,
    /// Paths relative to `dir`; an empty one is the folder itself.
    paths: Vec<(CString, PathStamp)>,
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
    pub(crate) fn note(&mut self, path: &Path, stamp: PathStamp, now: SystemTime) {
        let Ok(relative) = path.strip_prefix(&self.dir) else {
            return;
        };
        let Ok(relative) = CString::new(relative.as_os_str().as_bytes()) else {
            return;
        };
        self.fresh |= stamp.is_fresh(now);
        self.paths.push((relative, stamp));
    }

    /// Takes over what was noted about a folder below this one, so that all is asked in one go.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let Ok(below) = other.dir.strip_prefix(&self.dir) else {
            return;
        };
        let below = below.as_os_str().as_bytes();
        self.fresh |= other.fresh;
        for (path, stamp) in &other.paths {
            let joint: &[u8] = if below.is_empty() || path.is_empty() {
                b""
            } else {
                b"/"
            };
            // Neither part holds a NUL, so neither does the whole.
            if let Ok(path) = CString::new([below, joint, path.as_bytes()].concat()) {
                self.paths.push((path, *stamp));
            }
        }
    }

    /// Whether everything is as it was; asks the file system and reads nothing.
    pub(crate) fn hold(&self) -> bool {
        if self.fresh {
            return false;
        }
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let Ok(dir) = rustix::fs::open(&self.dir, flags, Mode::empty()) else {
            return self.paths.is_empty();
        };
        // A folder that was not there and is now.
        if self.paths.is_empty() {
            return false;
        }
        self.paths.iter().all(|(path, stamp)| {
            let stat = if path.is_empty() {
                rustix::fs::fstat(&dir)
            } else {
                rustix::fs::statat(&dir, path, AtFlags::empty())
            };
            stat.is_ok_and(|stat| PathStamp::of_stat(&stat) == *stamp)
        })
    }
}
