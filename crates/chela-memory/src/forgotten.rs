//! The list of what was forgotten in transcripts. It survives the index.

use std::collections::HashSet;
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use chela_core::ContentHash;

pub(crate) fn list_file(index: &Path) -> PathBuf {
    index.with_extension("forgotten")
}

/// The hashes of units that are not to be indexed.
pub(crate) fn list(index: &Path) -> Result<HashSet<ContentHash>> {
    read(&list_file(index))
}

/// The hashes of a file that may not be there.
pub(crate) fn read(path: &Path) -> Result<HashSet<ContentHash>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let hashes = text.lines().map(|line| ContentHash::from_hex(line.trim()));
    Ok(hashes.flatten().collect())
}

pub(crate) fn append(path: &Path, hashes: &[ContentHash]) -> Result<()> {
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path)?;
    for hash in hashes {
        writeln!(file, "{hash}")?;
    }
    file.sync_data()
}
