//! Putting a file in place whole, and keeping what it was like otherwise.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_debug};

use super::StoreError;
use crate::sources::ReadProblem;

/// Config files hold secrets: a new one is for its owner only.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;

/// A new version of a file, complete and on disk under another name. Dropped, it goes away.
#[derive(Debug)]
pub(super) struct Prepared {
    temporary: PathBuf,
    target: PathBuf,
    placed: bool,
}

impl Prepared {
    /// Writes `text` beside `target`, with the mode and owner `target` has.
    pub(super) fn new(host: &Host, target: &Path, text: &str) -> Result<Self, StoreError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.{}.tmp", unique(host)));
        let failed = |source| StoreError::Io {
            what: "write",
            path: temporary.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(PRIVATE_FILE)
            .open(&temporary)
            .map_err(failed)?;
        let prepared = Self {
            temporary: temporary.clone(),
            target: target.to_owned(),
            placed: false,
        };
        if let Ok(old) = std::fs::metadata(target) {
            keep_attributes(&file, &old).map_err(failed)?;
        }
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        Ok(prepared)
    }

    /// Gives it the mode and owner of another file.
    pub(super) fn like(&mut self, model: &Path) -> Result<(), StoreError> {
        let copy = || keep_attributes(&File::open(&self.temporary)?, &std::fs::metadata(model)?);
        copy().map_err(|source| StoreError::Io {
            what: "write",
            path: self.temporary.clone(),
            source,
        })
    }

    pub(super) fn put_in_place(mut self) -> Result<(), StoreError> {
        std::fs::rename(&self.temporary, &self.target).map_err(|source| StoreError::Io {
            what: "replace",
            path: self.target.clone(),
            source,
        })?;
        self.placed = true;
        // The rename has happened; a folder that cannot be synced makes it no less real.
        let folder = self
            .target
            .parent()
            .and_then(|folder| File::open(folder).ok());
        let synced = folder.map_or(Ok(()), |folder| folder.sync_all());
        ok_or_debug!(synced, "the folder of the config is not synced");
        Ok(())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if !self.placed {
            let removed = std::fs::remove_file(&self.temporary);
            ok_or_debug!(removed, "a draft of the config stays behind");
        }
    }
}

fn keep_attributes(file: &File, old: &std::fs::Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give files away; everybody else keeps what they create.
        let given = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
        ok_or_debug!(given, "the config has another owner than before");
    }
    file.set_permissions(std::fs::Permissions::from_mode(old.mode() & 0o777))
}

/// A name no other thread, process or leftover uses.
fn unique(host: &Host) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", host.random_hex(6), std::process::id())
}

/// Where a file really is: what a symlink points to, even if nothing is there yet.
pub(super) fn real_target(named: &Path) -> Result<PathBuf, StoreError> {
    const MAX_LINKS: usize = 40;
    let mut path = named.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    let (words, hint) = ReadProblem::Failed(rustix::io::Errno::LOOP).words();
    Err(StoreError::Unreadable {
        path: named.to_owned(),
        words,
        hint,
    })
}

pub(super) fn make_folder_of(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    else {
        return Ok(());
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_FOLDER)
        .create(folder)
        .map_err(|source| StoreError::Io {
            what: "create the folder",
            path: folder.to_owned(),
            source,
        })
}

/// A file nobody may write is meant to stay as it is, even where the folder would allow to
/// replace it, and even for root.
pub(super) fn is_write_protected(path: &Path) -> bool {
    let no_bits = std::fs::metadata(path).is_ok_and(|data| data.mode() & 0o222 == 0);
    no_bits || rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err()
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
