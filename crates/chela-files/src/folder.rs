//! Folders and files that are nobody else's business.

use std::io;
use std::path::Path;

use crate::{FileFacts as _, set_permission_bits};

/// Makes a folder and those above it, for the owner's eyes only. What is there stays as it is.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Takes a file or folder of ours from everybody but its owner. What is not there is no error.
pub fn make_private(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let bits = found.permission_bits();
    // A link has no rights of its own, and what it leads to may be somebody else's.
    if found.is_symlink() || bits & 0o077 == 0 {
        return Ok(());
    }
    set_permission_bits(path, bits & 0o700)
}
