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
use crate::seal::ArchiveProver;
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
    pub prover: Option<ArchiveProver>,
    pub foreign: ForeignArchive,
}

/// What is done with an archive of which this installation cannot tell that it made it. What such a
/// one brings decides what agents may do: config, approvals, jobs, messages that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignArchive {
    Refused,
    /// The owner says that it is theirs.
    Taken,
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
    let check = verify(&ask.file, ask.prover.as_ref())?;
    if !check.damage.is_empty() {
        return Err(BackupError::Damaged {
            path: ask.file.clone(),
            found: check.damage,
        });
    }
    if !check.is_own && ask.foreign == ForeignArchive::Refused {
        return Err(BackupError::Foreign(ask.file.clone()));
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
        // Nobody else writes in a home.
        let mode = entry.header().mode().map_err(&failed)? & 0o755;
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, GzBuilder};

    use super::*;
    use crate::manifest::{BackupEntry, EntryKind, FORMAT, MANIFEST};
    use crate::seal::{HashWriter, seal_of};

    /// An archive that is whole, of nothing but links, as somebody made it who knows the format.
    fn archive_of_links(path: &Path, links: &[(&str, &str)]) {
        let file = File::create(path).unwrap();
        let gzip = GzBuilder::new().write(HashWriter::new(file), Compression::default());
        let mut packer = tar::Builder::new(gzip);
        let mut entries = Vec::new();
        for (place, target) in links {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            packer
                .append_link(&mut header, format!("{HOME}/{place}"), target)
                .unwrap();
            entries.push(BackupEntry {
                path: (*place).to_owned(),
                kind: EntryKind::Link,
                bytes: 0,
                sha256: chela_core::ContentHash::of(target),
            });
        }
        let manifest = BackupManifest {
            format: FORMAT,
            version: "1".to_owned(),
            made: 1,
            has_secrets: false,
            blanked: Vec::new(),
            entries,
            left_out: Vec::new(),
        };
        let text = serde_json::to_vec(&manifest).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(text.len() as u64);
        packer
            .append_data(&mut header, MANIFEST, text.as_slice())
            .unwrap();
        let (mut file, hash) = packer.into_inner().unwrap().finish().unwrap().finish();
        file.write_all(&seal_of(&hash, None).unwrap()).unwrap();
    }

    #[test]
    fn a_link_leads_nothing_out_of_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let (file, outside) = (
            folder.path().join("a.tar.gz"),
            folder.path().join("outside"),
        );
        std::fs::create_dir(&outside).unwrap();
        let way = outside.display().to_string();
        let ask = RestoreAsk {
            file: file.clone(),
            home: folder.path().join("home"),
            now: 1,
            replace: false,
            prover: None,
            foreign: ForeignArchive::Taken,
        };
        archive_of_links(&file, &[("x", &way), ("x/autostart", "/tmp/evil")]);
        let refused = restore(&ask).unwrap_err().to_string();
        assert!(refused.contains("lies behind a link"), "{refused}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        assert!(!ask.home.exists());
        archive_of_links(&file, &[("x", &way)]);
        restore(&ask).unwrap();
        assert_eq!(std::fs::read_link(ask.home.join("x")).unwrap(), outside);
    }
}
