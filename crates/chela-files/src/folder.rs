//! Folders and files that are nobody else's business.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::Path;

/// Makes a folder and those above it, for the owner's eyes only. What is there stays as it is.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Takes a file or folder of ours from everybody but its owner. What is not there is no error.
pub fn make_private(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mode = found.permissions().mode();
    // A link has no rights of its own, and what it leads to may be somebody else's.
    if found.is_symlink() || mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode & 0o700))
}
