//! Systems with permission bits, owners and numbered files.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use chela_core::ok_or_debug;

use super::{FileFacts, FileIdentity, FileOwner, FileStamp};

impl FileFacts for Metadata {
    fn stamp(&self) -> FileStamp {
        FileStamp {
            identity: identity(self),
            bytes: self.size(),
            modified: nanoseconds(self.mtime(), self.mtime_nsec()),
            changed: nanoseconds(self.ctime(), self.ctime_nsec()),
        }
    }

    fn permission_bits(&self) -> u32 {
        self.mode() & 0o7777
    }

    fn is_executable(&self) -> bool {
        self.mode() & 0o111 != 0
    }

    fn owner(&self) -> Option<FileOwner> {
        Some(FileOwner {
            user: self.uid(),
            group: self.gid(),
        })
    }

    fn name_count(&self) -> u64 {
        self.nlink()
    }
}

pub(super) fn identity_at(path: &Path) -> io::Result<FileIdentity> {
    std::fs::metadata(path).map(|facts| identity(&facts))
}

pub(super) fn identity_of(file: &File) -> io::Result<FileIdentity> {
    file.metadata().map(|facts| identity(&facts))
}

fn identity(facts: &Metadata) -> FileIdentity {
    FileIdentity {
        device: facts.dev(),
        number: facts.ino(),
    }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

/// Who may use a file, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct FileRights {
    pub(crate) bits: u32,
    pub(crate) owner: FileOwner,
}

impl FileRights {
    pub fn of(facts: &Metadata) -> Self {
        Self {
            bits: facts.mode() & 0o777,
            owner: FileOwner {
                user: facts.uid(),
                group: facts.gid(),
            },
        }
    }

    /// Gives an opened file the same.
    pub fn give_to(self, file: &File) -> io::Result<()> {
        let FileOwner { user, group } = self.owner;
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (user, group) {
            // Only root may give files away; everybody else keeps what they create.
            let given = std::os::unix::fs::fchown(file, Some(user), Some(group));
            ok_or_debug!(given, "a file changes its owner with its text", user, group);
        }
        file.set_permissions(Permissions::from_mode(self.bits))
    }
}

/// A file that is made by opening it is for its owner alone.
pub fn restrict_to_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Who may use a file, as numbers have it on Unix.
pub fn set_permission_bits(path: &Path, bits: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(bits))
}

/// Makes a link that leads to `target`, whether or not there is anything.
pub fn create_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Whether the system would let this process read a file.
pub fn may_read(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

/// Whether the system would let this process write a file, or into a folder.
pub fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether links lead back to themselves.
pub fn is_link_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// A name of these bytes.
pub fn name_of_bytes(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Who this process acts as.
pub fn this_user() -> Option<FileOwner> {
    Some(FileOwner {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    })
}
