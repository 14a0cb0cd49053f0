//! Writing files so that a crash leaves the old or the new one, never half of one.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chela_core::ok_or_debug;

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct DiskError {
    /// `create`, `write` and so on.
    pub action: &'static str,
    pub path: PathBuf,
    pub source: std::io::Error,
}

impl DiskError {
    pub(crate) fn new(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// Replaces `path` in one step, keeping the permissions of what was there.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    write(path, bytes, Readers::AsUsual)
}

/// The same for what only the owner may read. The folder is made so, too.
pub(crate) fn write_privately(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    write(path, bytes, Readers::Owner)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    AsUsual,
    Owner,
}

fn write(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), DiskError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut make = std::fs::DirBuilder::new();
    make.recursive(true);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    make.create(folder)
        .map_err(DiskError::new("create folder", folder))?;
    let temporary = temporary_beside(path);
    let written = (|| {
        let mut file = options.open(&temporary)?;
        file.write_all(bytes)?;
        if let Ok(metadata) = std::fs::metadata(path) {
            file.set_permissions(metadata.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    })();
    written.map_err(|source| {
        ok_or_debug!(std::fs::remove_file(&temporary), "a draft stays behind");
        DiskError {
            action: "write",
            path: path.to_owned(),
            source,
        }
    })
}

/// Whether a new file was made, or something was already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    Created,
    AlreadyThere,
}

/// Creates `path`, never touching anything that has that name, a dangling symlink included.
pub(crate) fn create_new(path: &Path, text: &str) -> Result<Creation, DiskError> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Ok(Creation::AlreadyThere);
        }
        Err(source) => return Err(DiskError::new("create", path)(source)),
    };
    file.write_all(text.as_bytes()).map_err(|source| {
        ok_or_debug!(std::fs::remove_file(path), "half a file stays behind");
        DiskError::new("write", path)(source)
    })?;
    Ok(Creation::Created)
}

fn temporary_beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{number}.tmp", std::process::id()));
    path.with_file_name(name)
}
