//! `state/trust.json`, as far as it speaks of files. The skills keep their lock in the same
//! document; whatever others wrote there stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, Trust};
use chela_files::announce_write;
use chela_store::{HeldDocument, StoreError, WaitHere as _, document_at};
use serde_json::{Map, Value};

use super::entry::{FileEntry, FileVersion, RootEntry, ScanFinding, VersionWriter};
use super::versions::VersionCopies;
use crate::disk::DiskError;

/// The record as it was when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRecords {
    /// By path.
    pub(crate) files: BTreeMap<String, FileEntry>,
    /// Folders the owner took for their own, by path.
    pub(crate) roots: BTreeMap<String, RootEntry>,
    /// Why the document cannot be read. Then nothing in it counts, and nothing is written over it.
    pub broken: Option<String>,
}

/// A version that somebody Chela knows wrote.
#[derive(Debug, Clone, Copy)]
pub struct WrittenVersion<'a> {
    /// Where it lies, links resolved.
    pub path: &'a Path,
    pub bytes: &'a [u8],
    pub writer: &'a VersionWriter,
    pub how: &'a str,
    pub trust: Trust,
}

/// Why the record could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(
        "{} cannot be read ({why}); `chela trust approve` moves it aside and starts a new one", path.display()
    )]
    Broken { path: PathBuf, why: String },
}

impl TrustRecords {
    pub fn path(host: &Host) -> PathBuf {
        host.state_dir().join("state").join("trust.json")
    }

    /// Never fails: of a document that cannot be read nothing counts.
    pub fn read(host: &Host) -> Self {
        parse(document_at(&Self::path(host)).read().wait())
            .and_then(|document| Self::of(&document))
            .unwrap_or_else(|why| {
                tracing::warn!(
                    why,
                    "the record of trusted files cannot be read: nothing counts"
                );
                Self {
                    broken: Some(why),
                    ..Self::default()
                }
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
        let mut held = hold(&path)?;
        let broken = |why| TrustError::Broken {
            path: path.clone(),
            why,
        };
        let mut document = parse(held.read().wait()).map_err(broken)?;
        let before = Self::of(&document).map_err(broken)?;
        let mut after = before.clone();
        let outcome = change(&mut after);
        after.drop_old_proposals(host.unix_time());
        if after == before {
            return Ok(outcome);
        }
        document.entry("version").or_insert(Value::from(1));
        let parts = [
            ("files", serde_json::to_value(&after.files)),
            ("roots", serde_json::to_value(&after.roots)),
        ];
        let unwritten = |error| DiskError::new("write", &path)(error);
        for (name, part) in parts {
            document.insert(
                name.to_owned(),
                part.map_err(|error| unwritten(error.into()))?,
            );
        }
        let text = serde_json::to_string_pretty(&document);
        let text = text.map_err(|error| unwritten(error.into()))? + "\n";
        let announced = announce_write(&host.state_dir(), &path);
        let replaced = held.replace(&text).wait();
        replaced.map_err(|error| unwritten(error.into()))?;
        announced.finish(text.as_bytes());
        before.log_changes(&after);
        let versions = VersionCopies::of(host);
        for hash in before.hashes().difference(&after.hashes()) {
            versions.forget(*hash);
        }
        Ok(outcome)
    }

    /// Notes versions whose writer is known, with what `scan` finds in each, and keeps a copy.
    pub(crate) fn record(
        host: &Host,
        wrote: &[WrittenVersion<'_>],
        scan: impl Fn(&[u8]) -> Option<ScanFinding>,
    ) -> Result<(), TrustError> {
        let copies = VersionCopies::of(host);
        let at = host.unix_time();
        let versions: Vec<(String, FileVersion)> = wrote
            .iter()
            .map(|wrote| {
                copies.keep(wrote.bytes);
                let version = FileVersion {
                    hash: ContentHash::of(wrote.bytes),
                    writer: wrote.writer.clone(),
                    at,
                    how: wrote.how.to_owned(),
                    trust: wrote.trust,
                    found: scan(wrote.bytes),
                };
                (key(wrote.path), version)
            })
            .collect();
        Self::change(host, |records| {
            for (path, version) in versions {
                records.files.entry(path).or_default().trust(version);
            }
        })
    }

    /// Forgets the earlier versions of files that hold one of these texts, and their copies: the
    /// owner wants them gone. What is there now stays on record. Says how many went.
    pub fn forget_texts(host: &Host, forgotten: &[(PathBuf, String)]) -> Result<usize, TrustError> {
        let copies = VersionCopies::of(host);
        let holds = |path: &str, hash: ContentHash| {
            let texts = forgotten.iter().filter(|(file, _)| key(file) == path);
            let bytes = copies.bytes(hash);
            let held = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            held.is_some_and(|held| {
                texts
                    .filter(|(_, text)| !text.trim().is_empty())
                    .any(|(_, text)| text.lines().all(|line| held.contains(line.trim())))
            })
        };
        Self::change(host, |records| {
            let mut gone = 0;
            for (path, entry) in &mut records.files {
                let before = entry.earlier.len() + usize::from(entry.withdrawn.is_some());
                entry.earlier.retain(|version| !holds(path, version.hash));
                entry.withdrawn.take_if(|version| holds(path, version.hash));
                gone += before - entry.earlier.len() - usize::from(entry.withdrawn.is_some());
            }
            gone
        })
    }

    /// Moves a document that cannot be read out of the way; says where it went. Nothing of it
    /// counts any more, so everything waits for the owner.
    pub fn move_aside(host: &Host) -> Result<Option<PathBuf>, TrustError> {
        let path = Self::path(host);
        let mut held = hold(&path)?;
        if parse(held.read().wait())
            .and_then(|document| Self::of(&document))
            .is_ok()
        {
            return Ok(None);
        }
        let moved = held
            .move_aside(&format!("broken-{}", host.unix_time()))
            .wait();
        let aside = moved.map_err(|error| DiskError::new("move", &path)(error.into()))?;
        Ok(Some(aside))
    }

    fn of(document: &Map<String, Value>) -> Result<Self, String> {
        Ok(Self {
            files: part(document, "files")?,
            roots: part(document, "roots")?,
            broken: None,
        })
    }

    /// What is trusted from now on, and what is not, is in the log.
    fn log_changes(&self, after: &Self) {
        for (path, entry) in &after.files {
            if self.files.get(path) != Some(entry) {
                let trusted = entry.trusted.as_ref();
                tracing::info!(
                    path,
                    trusted = trusted.map(|version| version.hash.short()),
                    writer = trusted.map(|version| version.writer.as_str()),
                    held = entry.held.is_some(),
                    proposed = entry.proposed.is_some(),
                    gone = entry.gone.is_some(),
                    revoked = entry.revoked.is_some(),
                    "what is on record about a file has changed"
                );
            }
        }
        for path in self
            .files
            .keys()
            .filter(|path| !after.files.contains_key(*path))
        {
            tracing::info!(path, "nothing is on record about a file any more");
        }
        for dir in after
            .roots
            .keys()
            .filter(|dir| !self.roots.contains_key(*dir))
        {
            tracing::info!(dir, "the owner takes a folder for their own");
        }
        for dir in self
            .roots
            .keys()
            .filter(|dir| !after.roots.contains_key(*dir))
        {
            tracing::info!(dir, "the owner gives a folder up");
        }
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

/// Two commands at once must not undo each other's lines; the skills' lock is the same one.
fn hold(path: &Path) -> Result<Box<dyn HeldDocument>, DiskError> {
    let held = document_at(path).hold().wait();
    held.map_err(|error| DiskError::new("lock", path)(error.into()))
}

fn parse(text: Result<Option<String>, StoreError>) -> Result<Map<String, Value>, String> {
    match text.map_err(std::io::Error::from) {
        Ok(Some(text)) if text.trim().is_empty() => Err("it is empty".to_owned()),
        Ok(Some(text)) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Ok(None) => Ok(Map::new()),
        Err(error) => Err(error.to_string()),
    }
}

/// Files are known by the path they are reached by.
pub(crate) fn key(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests;
