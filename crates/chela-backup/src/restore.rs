//! Laying an archive out again.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use chela_files::{create_link, restrict_to_owner, set_permission_bits};
use flate2::read::MultiGzDecoder;

use crate::BackupError;
use crate::choose_files::plain_path;
use crate::manifest::{BackupManifest, HOME};
use crate::verify::verify;

/// What is wanted.
#[derive(Debug, Clone)]
pub struct RestoreAsk {
    pub file: PathBuf,
    /// The folder that becomes the home.
    pub home: PathBuf,
    /// Milliseconds since 1970.
    pub now: u64,
    /// A home that is there is moved aside.
    pub replace: bool,
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    pub home: PathBuf,
    pub manifest: BackupManifest,
    /// Where the home went that was there before.
    pub moved_aside: Option<PathBuf>,
}

/// Restores a checked archive. It is laid out beside the home first; a home that is there is moved
/// aside and never written into.
pub fn restore(ask: &RestoreAsk) -> Result<RestoreReport, BackupError> {
    let check = verify(&ask.file)?;
    if !check.damage.is_empty() {
        return Err(BackupError::Damaged {
            path: ask.file.clone(),
            found: check.damage,
        });
    }
    let is_taken = std::fs::read_dir(&ask.home).is_ok_and(|mut inside| inside.next().is_some())
        || ask.home.is_file();
    if is_taken && !ask.replace {
        return Err(BackupError::Exists(ask.home.clone()));
    }
    let parent = match ask.home.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    std::fs::create_dir_all(&parent).map_err(BackupError::file(&parent))?;
    let scratch = tempfile::Builder::new()
        .prefix(".chela-restore-")
        .tempdir_in(&parent);
    let scratch = scratch.map_err(BackupError::file(&parent))?;
    let laid_out = scratch.path().join("home");
    lay_out(&ask.file, &laid_out)?;
    let moved_aside = match is_taken {
        false => None,
        true => Some(move_aside(&ask.home, ask.now)?),
    };
    if !is_taken && ask.home.is_dir() {
        std::fs::remove_dir(&ask.home).map_err(BackupError::file(&ask.home))?;
    }
    std::fs::rename(&laid_out, &ask.home).map_err(BackupError::file(&ask.home))?;
    Ok(RestoreReport {
        home: ask.home.clone(),
        manifest: check.manifest,
        moved_aside,
    })
}

fn move_aside(home: &Path, now: u64) -> Result<PathBuf, BackupError> {
    let mut name = home.file_name().unwrap_or_default().to_owned();
    name.push(format!(".before-restore-{}", now / 1_000));
    let aside = home.with_file_name(name);
    if aside.exists() {
        return Err(BackupError::Exists(aside));
    }
    std::fs::rename(home, &aside).map_err(BackupError::file(home))?;
    Ok(aside)
}

/// Files first and links last: nothing is ever written through a link.
fn lay_out(archive: &Path, home: &Path) -> Result<(), BackupError> {
    let failed = BackupError::file(archive);
    std::fs::create_dir(home).map_err(BackupError::file(home))?;
    set_permission_bits(home, 0o700).map_err(BackupError::file(home))?;
    let file = File::open(archive).map_err(&failed)?;
    let mut archive = tar::Archive::new(MultiGzDecoder::new(file));
    let (mut links, mut folders) = (Vec::new(), Vec::new());
    for entry in archive.entries().map_err(&failed)? {
        let mut entry = entry.map_err(&failed)?;
        let place = entry.path().map_err(&failed)?.into_owned();
        let Some(below) = place.strip_prefix(HOME).ok().and_then(plain_path) else {
            continue;
        };
        let path = home.join(below);
        let mode = entry.header().mode().map_err(&failed)? & 0o777;
        match entry.header().entry_type() {
            tar::EntryType::Directory => {
                std::fs::create_dir_all(&path).map_err(BackupError::file(&path))?;
                folders.push((path, mode));
            }
            tar::EntryType::Symlink => {
                let target = entry.link_name().map_err(&failed)?;
                links.push((path, target.unwrap_or_default().into_owned()));
            }
            _ => {
                let modified = entry.header().mtime().map_err(&failed)?;
                write_file(&path, mode, modified, &mut entry).map_err(BackupError::file(&path))?;
            }
        }
    }
    for (path, target) in links {
        create_link(&target, &path).map_err(BackupError::file(&path))?;
    }
    for (path, mode) in folders {
        set_permission_bits(&path, mode).map_err(BackupError::file(&path))?;
    }
    Ok(())
}

fn write_file(path: &Path, mode: u32, modified: u64, data: &mut impl io::Read) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = restrict_to_owner(&mut options).open(path)?;
    io::copy(data, &mut file)?;
    set_permission_bits(path, mode)?;
    // Who changed a file is judged by when it was changed.
    file.set_modified(UNIX_EPOCH + Duration::from_secs(modified))?;
    file.sync_all()
}
