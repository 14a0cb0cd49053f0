//! The program inside an archive, and the files that go with it.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;

/// Larger than any Chela, with all its symbols.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
/// Larger than any page or completion script.
const MOST_SHARED_BYTES: u64 = 16 * 1024 * 1024;

/// What an archive installs.
#[derive(Debug)]
pub struct UnpackedArchive {
    pub program: Vec<u8>,
    /// Completions and pages, by their path under the prefix: `share/…`.
    pub shared: Vec<(PathBuf, Vec<u8>)>,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("the archive has no bin/chela")]
    NoProgram,
    #[error("a file in the archive is too large")]
    TooLarge,
}

/// Takes `NAME/bin/chela` and `NAME/share/…` out. Nothing is written yet, and what has another kind
/// of path is passed over, so nothing in it can lead elsewhere.
pub fn unpack(archive: &[u8]) -> Result<UnpackedArchive, ArchiveError> {
    let mut tar = tar::Archive::new(GzDecoder::new(archive));
    let mut program = None;
    let mut shared = Vec::new();
    for entry in tar.entries()? {
        let entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let Some(path) = path_below(&entry.path()?) else {
            continue;
        };
        if path == Path::new("bin/chela") {
            program = Some(read(entry, MOST_BYTES)?);
        } else if path.starts_with("share") {
            shared.push((path, read(entry, MOST_SHARED_BYTES)?));
        }
    }
    let program = program.ok_or(ArchiveError::NoProgram)?;
    Ok(UnpackedArchive { program, shared })
}

fn read(entry: impl Read, most: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    entry.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(ArchiveError::TooLarge),
        false => Ok(bytes),
    }
}

/// The path without the one folder everything is in; `None` where a part of it is no plain name.
fn path_below(path: &Path) -> Option<PathBuf> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let mut parts = path.components();
    let inside = parts.next().is_some_and(plain) && parts.clone().all(plain);
    inside.then(|| parts.as_path().to_owned())
}
