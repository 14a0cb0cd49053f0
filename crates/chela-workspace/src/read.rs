//! Reading one file of a folder that others may write to: no link leads out, no pipe blocks,
//! no size surprises.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chela_files::{FileStamp, is_link_loop, name_of_kind, open_plain};

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

/// File times are coarse: a file that changed just before it was read can change again without
/// showing it. Such a stamp is not to be relied on later.
pub(crate) fn is_fresh_at(stamp: &FileStamp, now: SystemTime) -> bool {
    let latest = stamp.modified.max(stamp.changed);
    let latest = u64::try_from(latest).map_or(UNIX_EPOCH, |nanoseconds| {
        UNIX_EPOCH + Duration::from_nanos(nanoseconds)
    });
    now.duration_since(latest)
        .is_ok_and(|age| age < Duration::from_millis(50))
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
        Err(error) if is_link_loop(&error) => PathLook::Refused(FileStatus::Unreadable {
            why: "its symlinks form a loop".to_owned(),
        }),
        Err(error) if is_absent(&error) => PathLook::Refused(FileStatus::Unreadable {
            why: "it is a symlink to something that does not exist".to_owned(),
        }),
        Err(error) => PathLook::Refused(unreadable(&error)),
    }
}

/// Reads a located file. The file is checked again once it is open, so swapping it for a pipe
/// or a link in between gains nothing.
pub(crate) fn read(located: &LocatedFile) -> Result<(FileBytes, FileStamp), FileStatus> {
    let path = &located.resolved;
    let file = open_plain(path, OpenOptions::new().read(true)).map_err(|error| {
        match path.symlink_metadata() {
            Ok(found) if !found.is_file() => FileStatus::NotAFile {
                kind: name_of_kind(found.file_type()),
            },
            _ => unreadable(&error),
        }
    })?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    let bytes = read_bounded(file, metadata.len()).map_err(|error| unreadable(&error))?;
    Ok((bytes, FileStamp::of(&metadata)))
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
            stamp: FileStamp::of(metadata),
        })
    } else {
        PathLook::Refused(FileStatus::NotAFile {
            kind: name_of_kind(metadata.file_type()),
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
        _ if is_link_loop(error) => "its symlinks form a loop".to_owned(),
        _ => error.to_string(),
    };
    FileStatus::Unreadable { why }
}
