//! Which file a command would run, and what is in it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use chela_core::{ContentHash, lock, ok_or_debug};
use chela_files::{FileFacts as _, FileStamp};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A script larger than this is not read before it runs.
const LARGEST_SCRIPT: u64 = 64 << 20;

/// Folders only the system's owner writes to: programs in them change with updates.
const SYSTEM_FOLDERS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/lib",
    "/lib64",
    "/opt",
    "/nix/store",
    "/System",
];

/// A file that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgramFile {
    /// Where it was found, before links are followed.
    pub found: PathBuf,
    /// The file itself.
    pub real: PathBuf,
    pub hash: ContentHash,
}

/// Why there is nothing to run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("`{0}` was not found on PATH")]
    NotOnPath(String),
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} cannot be run", .0.display())]
    NotExecutable(PathBuf),
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf),
}

impl ProgramFile {
    /// Finds a program as the system would: a name on PATH, a path from `folder` on. Relative
    /// folders on PATH are passed over.
    pub fn find(name: &str, folder: &Path, path: &str) -> Result<Self, ProgramError> {
        let found = if name.contains('/') {
            folder.join(name)
        } else {
            std::env::split_paths(path)
                .filter(|folder| folder.is_absolute())
                .map(|folder| folder.join(name))
                .find(|file| is_executable(file))
                .ok_or_else(|| ProgramError::NotOnPath(name.to_owned()))?
        };
        let real = found
            .canonicalize()
            .map_err(|_| ProgramError::Missing(found.clone()))?;
        if !is_executable(&real) {
            return Err(ProgramError::NotExecutable(real));
        }
        let hash = hash(&real).ok_or_else(|| ProgramError::Unreadable(real.clone()))?;
        Ok(Self { found, real, hash })
    }

    /// A file named among the arguments that the program would read as its script: the first
    /// argument that is no option and names a file.
    pub fn script(arguments: &[impl AsRef<str>], folder: &Path) -> Option<Self> {
        let file = arguments
            .iter()
            .map(AsRef::as_ref)
            .filter(|argument| !argument.starts_with('-') && !argument.is_empty())
            .map(|argument| folder.join(argument))
            .find(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
        let small = file
            .metadata()
            .is_ok_and(|found| found.len() <= LARGEST_SCRIPT);
        let real = file.canonicalize().ok()?;
        let hash = small.then(|| hash(&real))??;
        Some(Self {
            found: file,
            real,
            hash,
        })
    }

    /// Whether only the system's owner can change it.
    pub fn is_of_the_system(&self) -> bool {
        SYSTEM_FOLDERS
            .iter()
            .any(|folder| self.real.starts_with(folder))
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.is_executable())
}

/// The hash of a file. Large programs are hashed again only when the system says they changed:
/// the change time cannot be set back by whoever owns the file.
fn hash(file: &Path) -> Option<ContentHash> {
    static KNOWN: LazyLock<Mutex<HashMap<FileStamp, ContentHash>>> = LazyLock::new(Mutex::default);
    const MOST_KNOWN: usize = 512;
    let mut file =
        ok_or_debug!(File::open(file), "a program cannot be read", file = %file.display())?;
    let found = file.metadata().ok()?;
    let version = FileStamp::of(&found);
    // Small files are read each time: clocks are coarse, and a script may change twice in a tick.
    let is_large = found.len() > 256 * 1024;
    let known = || lock(&KNOWN);
    if is_large && let Some(hash) = known().get(&version) {
        return Some(*hash);
    }
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            length => digest.update(buffer.get(..length)?),
        }
    }
    let hash = ContentHash::from_hex(&format!("{:x}", digest.finalize()))?;
    let mut known = known();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(version, hash);
    Some(hash)
}
