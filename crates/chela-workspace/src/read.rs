//! Reading one file of a folder that others may write to: no link leads out, no pipe blocks,
//! no size surprises.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::report::FileStatus;

/// Larger files are not read whole.
const WHOLE_LIMIT: u64 = 64 << 20;
/// What is read of the start and of the end of a file that is larger than that.
const HEAD: u64 = 4 << 20;
const TAIL: u64 = 1 << 20;

/// What lies at a path.
#[derive(Debug)]
pub(crate) enum PathLook {
    Absent,
    Found(LocatedFile),
    /// Something that is not read, and why.
    Refused(FileStatus),
}

/// A regular file inside its folder, as it was when last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedFile {
    /// Where the content lies, links resolved.
    pub(crate) resolved: PathBuf,
    pub(crate) stamp: FileStamp,
}

/// Changes whenever the content of a file may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// Device and inode: two paths with the same are the same file.
    pub(crate) identity: (u64, u64),
    pub(crate) size: u64,
    modified: SystemTime,
    changed: (i64, i64),
}

impl FileStamp {
    /// File times are coarse: a file that changed just before it was read can change again
    /// without showing it. Such a stamp is not to be relied on later.
    pub(crate) fn is_fresh_at(&self, now: SystemTime) -> bool {
        let changed = u64::try_from(self.changed.0).map_or(self.modified, |seconds| {
            UNIX_EPOCH + Duration::new(seconds, u32::try_from(self.changed.1).unwrap_or(0))
        });
        let latest = self.modified.max(changed);
        now.duration_since(latest)
            .is_ok_and(|age| age < Duration::from_millis(50))
    }
}

/// Bytes of a file, and how many of them are missing from the middle.
#[derive(Debug)]
pub(crate) struct FileBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) left_out: u64,
}

/// Looks at `path`, which lies in `root`; `root` has its links resolved.
pub(crate) fn look(root: &Path, path: &Path) -> PathLook {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return PathLook::Absent,
        Err(error) => return PathLook::Refused(unreadable(&error)),
    };
    if !metadata.is_symlink() {
        return located(path.to_owned(), &metadata);
    }
    match std::fs::canonicalize(path) {
        Ok(target) if !target.starts_with(root) => {
            PathLook::Refused(FileStatus::OutsideWorkspace { target })
        }
        Ok(target) => match std::fs::symlink_metadata(&target) {
            Ok(metadata) => located(target, &metadata),
            Err(error) => PathLook::Refused(unreadable(&error)),
        },
        Err(error) if error.raw_os_error() == Some(errno_loop()) => {
            PathLook::Refused(FileStatus::Unreadable {
                why: "its symlinks form a loop".to_owned(),
            })
        }
        Err(error) if is_absent(&error) => PathLook::Refused(FileStatus::Unreadable {
            why: "it is a symlink to something that does not exist".to_owned(),
        }),
        Err(error) => PathLook::Refused(unreadable(&error)),
    }
}

/// Reads a located file. The file is checked again once it is open, so swapping it for a pipe
/// or a link in between gains nothing.
pub(crate) fn read(located: &LocatedFile) -> Result<(FileBytes, FileStamp), FileStatus> {
    let file = open_without_waiting(&located.resolved).map_err(|error| unreadable(&error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(FileStatus::NotAFile {
            kind: kind_of(&metadata),
        });
    }
    let bytes = read_bounded(file, metadata.len()).map_err(|error| unreadable(&error))?;
    Ok((bytes, stamp_of(&metadata)))
}

fn read_bounded(mut file: File, size: u64) -> std::io::Result<FileBytes> {
    if size <= WHOLE_LIMIT {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(WHOLE_LIMIT).read_to_end(&mut bytes)?;
        return Ok(FileBytes { bytes, left_out: 0 });
    }
    let mut bytes = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut bytes)?;
    bytes.push(b'\n');
    file.seek(SeekFrom::Start(size - TAIL))?;
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(FileBytes {
        bytes,
        left_out: size - HEAD - TAIL,
    })
}

fn located(resolved: PathBuf, metadata: &Metadata) -> PathLook {
    if metadata.is_file() {
        PathLook::Found(LocatedFile {
            resolved,
            stamp: stamp_of(metadata),
        })
    } else {
        PathLook::Refused(FileStatus::NotAFile {
            kind: kind_of(metadata),
        })
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

fn unreadable(error: &std::io::Error) -> FileStatus {
    let why = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ if error.raw_os_error() == Some(errno_loop()) => "its symlinks form a loop".to_owned(),
        _ => error.to_string(),
    };
    FileStatus::Unreadable { why }
}

#[cfg(unix)]
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(unix)]
fn errno_loop() -> i32 {
    rustix::io::Errno::LOOP.raw_os_error()
}

#[cfg(unix)]
fn stamp_of(metadata: &Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt;
    FileStamp {
        identity: (metadata.dev(), metadata.ino()),
        size: metadata.len(),
        modified: metadata.modified().unwrap_or(UNIX_EPOCH),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(unix)]
fn kind_of(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else {
        "a symlink"
    }
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

#[cfg(not(unix))]
fn errno_loop() -> i32 {
    i32::MIN
}

#[cfg(not(unix))]
fn stamp_of(metadata: &Metadata) -> FileStamp {
    FileStamp {
        identity: (0, 0),
        size: metadata.len(),
        modified: metadata.modified().unwrap_or(UNIX_EPOCH),
        changed: (0, 0),
    }
}

#[cfg(not(unix))]
fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "a folder"
    } else {
        "no regular file"
    }
}
