//! Files and folders of skills, for their owner alone.

use std::io;
use std::path::Path;

use chela_files::{FileMode, write_file};

pub(crate) use chela_files::create_private_folder as create_dir;

/// Replaces a file as a whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Ok(write_file(path, bytes, FileMode::Private)?)
}
