//! `state/trust.json`, as far as it speaks of files. The skills keep their lock in the same
//! document; whatever others wrote there stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{ContentHash, Host};
use chela_files::LockFile;
use serde_json::{Map, Value};

use super::entry::{FileEntry, RootEntry};
use super::versions::Versions;
use crate::disk::{DiskError, write_privately};

/// The record as it was when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustBook {
    /// By path.
    pub(super) files: BTreeMap<String, FileEntry>,
    /// Folders the owner took for their own, by path.
    pub(super) roots: BTreeMap<String, RootEntry>,
    /// Why the document cannot be read. Then nothing in it counts, and nothing is written over it.
    pub broken: Option<String>,
}

/// Why the record could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(
        "{} cannot be read ({why}); `chela trust approve` moves it aside and begins a new one", path.display()
    )]
    Broken { path: PathBuf, why: String },
}

impl TrustBook {
    pub fn path(host: &Host) -> PathBuf {
        host.state_dir().join("state").join("trust.json")
    }

    /// Never fails: of a document that cannot be read nothing counts.
    pub fn read(host: &Host) -> Self {
        read_document(&Self::path(host))
            .and_then(|document| Self::of(&document))
            .unwrap_or_else(|why| Self {
                broken: Some(why),
                ..Self::default()
            })
    }

    pub fn entry(&self, path: &Path) -> Option<&FileEntry> {
        self.files.get(&key(path))
    }

    pub fn files(&self) -> impl Iterator<Item = (&Path, &FileEntry)> {
        self.files
            .iter()
            .map(|(path, entry)| (Path::new(path), entry))
    }

    pub fn root(&self, dir: &Path) -> Option<&RootEntry> {
        self.roots.get(&key(dir))
    }

    /// Changes the record under its lock, from what is on disk at that moment.
    pub fn change<R>(host: &Host, change: impl FnOnce(&mut Self) -> R) -> Result<R, TrustError> {
        let path = Self::path(host);
        let _lock = lock(&path)?;
        let broken = |why| TrustError::Broken {
            path: path.clone(),
            why,
        };
        let mut document = read_document(&path).map_err(broken)?;
        let before = Self::of(&document).map_err(broken)?;
        let mut after = before.clone();
        let outcome = change(&mut after);
        after.drop_old_proposals(host.unix_time());
        if after == before {
            return Ok(outcome);
        }
        document.entry("version").or_insert(Value::from(1));
        document.insert("files".to_owned(), to_value(&after.files));
        document.insert("roots".to_owned(), to_value(&after.roots));
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        write_privately(&path, text.as_bytes())?;
        let versions = Versions::of(host);
        for hash in before.hashes().difference(&after.hashes()) {
            versions.forget(*hash);
        }
        Ok(outcome)
    }

    /// Moves a document that cannot be read out of the way; says where it went. Nothing of it
    /// counts any more, so everything waits for the owner.
    pub fn move_aside(host: &Host) -> Result<Option<PathBuf>, TrustError> {
        let path = Self::path(host);
        let _lock = lock(&path)?;
        if read_document(&path)
            .and_then(|document| Self::of(&document))
            .is_ok()
        {
            return Ok(None);
        }
        let aside = path.with_extension(format!("json.broken-{}", host.unix_time()));
        std::fs::rename(&path, &aside).map_err(DiskError::new("move", &path))?;
        Ok(Some(aside))
    }

    fn of(document: &Map<String, Value>) -> Result<Self, String> {
        Ok(Self {
            files: part(document, "files")?,
            roots: part(document, "roots")?,
            broken: None,
        })
    }

    fn hashes(&self) -> BTreeSet<ContentHash> {
        self.files.values().flat_map(FileEntry::kept).collect()
    }

    /// What nobody decided about for long enough is not kept for ever.
    fn drop_old_proposals(&mut self, now: u64) {
        let oldest = now.saturating_sub(PROPOSAL_LASTS);
        let mut times: Vec<u64> = self
            .files
            .values()
            .filter_map(|entry| entry.proposed.as_ref().map(|proposed| proposed.at))
            .collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        let oldest = oldest.max(times.get(MOST_PROPOSALS).map_or(0, |at| at + 1));
        for entry in self.files.values_mut() {
            entry.proposed.take_if(|proposed| proposed.at < oldest);
        }
        self.files.retain(|_, entry| *entry != FileEntry::default());
    }
}

/// Thirty days.
const PROPOSAL_LASTS: u64 = 30 * 86_400;
/// Those before the newest so many are dropped.
const MOST_PROPOSALS: usize = 64;

fn part<T: serde::de::DeserializeOwned + Default>(
    document: &Map<String, Value>,
    name: &str,
) -> Result<T, String> {
    document.get(name).map_or_else(
        || Ok(T::default()),
        |value| T::deserialize(value).map_err(|error| format!("{name}: {error}")),
    )
}

fn to_value(part: &impl serde::Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

/// Two commands at once must not undo each other's lines; the skills' lock is the same one.
fn lock(path: &Path) -> Result<LockFile, DiskError> {
    const PATIENCE: Duration = Duration::from_secs(10);
    Ok(LockFile::take(&path.with_extension("json.lock"), PATIENCE)?)
}

fn read_document(path: &Path) -> Result<Map<String, Value>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => Err("it is empty".to_owned()),
        Ok(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(error.to_string()),
    }
}

/// Files are known by the path they are reached by.
pub(super) fn key(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests;
