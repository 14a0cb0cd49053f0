//! Windows: who may use a file is a matter of access lists, which nothing here reads or sets. What
//! is made below the user's folder is theirs alone by what it inherits.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::{FileFacts, FileIdentity, FileOwner, FileStamp};

/// Between 1601, from which Windows counts, and 1970, in its steps of 100 nanoseconds.
const TO_1970: i128 = 116_444_736_000_000_000;
/// Folders can be opened, too.
pub(crate) const BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// A link is opened itself.
pub(crate) const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

impl FileFacts for Metadata {
    fn stamp(&self) -> FileStamp {
        let modified = (i128::from(self.last_write_time()) - TO_1970) * 100;
        FileStamp {
            // The next best: what was put in place of a file was made at another time.
            identity: FileIdentity {
                device: 0,
                number: self.creation_time(),
            },
            bytes: self.file_size(),
            modified,
            changed: modified,
        }
    }

    fn permission_bits(&self) -> u32 {
        match (self.permissions().readonly(), self.is_dir()) {
            (true, false) => 0o400,
            (false, false) => 0o600,
            (_, true) => 0o700,
        }
    }

    /// Any file may be run; what is, goes by its name.
    fn is_executable(&self) -> bool {
        self.is_file()
    }

    fn owner(&self) -> Option<FileOwner> {
        None
    }

    fn name_count(&self) -> u64 {
        1
    }
}

pub(super) fn identity_at(path: &Path) -> io::Result<FileIdentity> {
    let file = OpenOptions::new()
        .access_mode(0)
        .custom_flags(BACKUP_SEMANTICS)
        .open(path)?;
    identity_of(&file)
}

pub(super) fn identity_of(file: &File) -> io::Result<FileIdentity> {
    let found = winapi_util::file::information(file)?;
    Ok(FileIdentity {
        device: found.volume_serial_number(),
        number: found.file_index(),
    })
}

/// Who may use a file: all that is known is whether it may be changed.
#[derive(Debug, Clone, Copy)]
pub struct FileRights {
    is_read_only: bool,
}

impl FileRights {
    pub fn of(facts: &Metadata) -> Self {
        Self {
            is_read_only: facts.permissions().readonly(),
        }
    }

    /// Gives an opened file the same.
    pub fn give_to(self, file: &File) -> io::Result<()> {
        let mut rights = file.metadata()?.permissions();
        rights.set_readonly(self.is_read_only);
        file.set_permissions(rights)
    }
}

/// A file that is made by opening it has the rights of its folder.
pub fn restrict_to_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Of the bits only the one counts by which the owner may change the file.
pub fn set_permission_bits(path: &Path, bits: u32) -> io::Result<()> {
    let mut rights = std::fs::metadata(path)?.permissions();
    rights.set_readonly(bits & 0o200 == 0);
    std::fs::set_permissions(path, rights)
}

/// Makes a link that leads to `target`; where there is nothing, to a file.
pub fn create_link(target: &Path, link: &Path) -> io::Result<()> {
    let from = link.parent().unwrap_or(Path::new(""));
    match from.join(target).is_dir() {
        true => std::os::windows::fs::symlink_dir(target, link),
        false => std::os::windows::fs::symlink_file(target, link),
    }
}

/// Whether a file can be opened for reading.
pub fn may_read(path: &Path) -> bool {
    File::open(path).is_ok()
}

/// Whether a file may be written, as far as it says so itself; access lists are not read.
pub fn may_write(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| !facts.permissions().readonly())
}

/// Whether links lead back to themselves.
pub fn is_link_loop(error: &io::Error) -> bool {
    const CANNOT_RESOLVE: i32 = 1921;
    error.raw_os_error() == Some(CANNOT_RESOLVE)
}

/// A name of these bytes; what is no text in them is replaced.
pub fn name_of_bytes(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Users have no numbers here.
pub fn this_user() -> Option<FileOwner> {
    None
}
