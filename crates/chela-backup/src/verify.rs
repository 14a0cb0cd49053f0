//! Whether an archive is as it was made, to the last bit.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use chela_core::ContentHash;
use flate2::read::MultiGzDecoder;

use crate::BackupError;
use crate::choose_files::plain_path;
use crate::manifest::{BackupManifest, EntryKind, FORMAT, HOME, MANIFEST};
use crate::seal::{ArchiveProver, HashReader, check_seal};

/// The list of a hundred thousand files is smaller than this.
const MOST_MANIFEST: u64 = 64 * 1024 * 1024;

/// What a look at an archive found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupCheck {
    pub manifest: BackupManifest,
    /// What is wrong; nothing in one that is whole.
    pub damage: Vec<String>,
    /// Whether this very installation made it. Anybody can make an archive that is whole.
    pub is_own: bool,
}

/// Reads a whole archive and compares every bit with what was written.
pub fn verify(path: &Path, prover: Option<&ArchiveProver>) -> Result<BackupCheck, BackupError> {
    let mut file = File::open(path).map_err(BackupError::file(path))?;
    let seal = check_seal(&mut file, prover).map_err(BackupError::file(path))?;
    let is_sealed = seal.is_sealed;
    let mut damage = Vec::new();
    let found = read_entries(path);
    let (found, manifest) = match (found, is_sealed) {
        (Ok(read), _) => read,
        // Something else: a picture, another archive.
        (Err(_), false) if !begins_as_gzip(path) => {
            return Err(BackupError::NotABackup(path.to_owned()));
        }
        (Err(error), _) => {
            return Err(BackupError::Damaged {
                path: path.to_owned(),
                found: vec![format!("it cannot be unpacked ({error})")],
            });
        }
    };
    let Some(manifest) = manifest else {
        return Err(BackupError::NotABackup(path.to_owned()));
    };
    let manifest: BackupManifest =
        serde_json::from_slice(&manifest).map_err(|error| BackupError::Damaged {
            path: path.to_owned(),
            found: vec![format!("its list of files cannot be read ({error})")],
        })?;
    if manifest.format > FORMAT {
        return Err(BackupError::Newer {
            path: path.to_owned(),
            format: manifest.format,
        });
    }
    compare(&manifest, found, &mut damage);
    if !is_sealed {
        damage.push("its seal does not fit: it was changed or cut off".to_owned());
    }
    Ok(BackupCheck {
        manifest,
        damage,
        is_own: seal.is_own,
    })
}

type FoundEntries = BTreeMap<String, (EntryKind, ContentHash)>;

fn read_entries(path: &Path) -> io::Result<(FoundEntries, Option<Vec<u8>>)> {
    let mut archive = tar::Archive::new(MultiGzDecoder::new(File::open(path)?));
    let (mut found, mut manifest) = (FoundEntries::new(), None);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let place = entry.path()?.into_owned();
        if place == Path::new(MANIFEST) {
            let mut text = Vec::new();
            Read::by_ref(&mut entry)
                .take(MOST_MANIFEST)
                .read_to_end(&mut text)?;
            manifest = Some(text);
            continue;
        }
        let below = place.strip_prefix(HOME).ok().and_then(plain_path);
        let Some(below) = below else {
            // Named so that it fits nothing in the list.
            found.insert(
                format!("../{}", place.display()),
                (EntryKind::File, ContentHash::of("")),
            );
            continue;
        };
        let read = match entry.header().entry_type() {
            tar::EntryType::Directory => (EntryKind::Folder, ContentHash::of("")),
            tar::EntryType::Symlink => {
                let target = entry.link_name()?.unwrap_or_default();
                (
                    EntryKind::Link,
                    ContentHash::of(target.to_string_lossy().as_bytes()),
                )
            }
            _ => {
                let mut hashing = HashReader::new(&mut entry);
                io::copy(&mut hashing, &mut io::sink())?;
                (EntryKind::File, hashing.finish())
            }
        };
        found.insert(below, read);
    }
    Ok((found, manifest))
}

fn compare(manifest: &BackupManifest, mut found: FoundEntries, damage: &mut Vec<String>) {
    // What lies behind a link would be laid out where that leads.
    let is_link = |path: &Path| {
        let entry = path.to_str().and_then(|path| found.get(path));
        entry.is_some_and(|(kind, _)| *kind == EntryKind::Link)
    };
    for path in found.keys() {
        if Path::new(path).ancestors().skip(1).any(is_link) {
            damage.push(format!("{path} lies behind a link"));
        }
    }
    for entry in &manifest.entries {
        let kind = match entry.kind {
            EntryKind::Database => EntryKind::File,
            kind => kind,
        };
        match found.remove(&entry.path) {
            None => damage.push(format!("{} is missing", entry.path)),
            Some(read) if read == (kind, entry.sha256) => {}
            Some(_) => damage.push(format!("{} is not as it was", entry.path)),
        }
    }
    for path in found.keys() {
        damage.push(format!("{path} is in it and not in its list"));
    }
}

fn begins_as_gzip(path: &Path) -> bool {
    let mut first = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == [0x1f, 0x8b]
}
