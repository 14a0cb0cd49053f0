//! `state/trust.json`: what was trusted, by hash, with everything others keep in that file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, ok_or_warn};
use chela_files::{FileMode, announce_write, read_if_there, write_file};
use chela_store::{StoreError, WaitHere as _, document_at};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ScanReport, ScanVerdict, SkillContents, SkillLook, SkillScanner, TrustPolicy, TrustState, judge,
};
use crate::disk;
use crate::inspect::RULES_VERSION;
use crate::origin::SkillOrigin;
use crate::settings::OnChange;
use crate::skill::Skill;

/// The record of the owner's trust in skills and project folders.
#[derive(Debug, Clone)]
pub struct TrustLock {
    state_dir: PathBuf,
    /// By the folder of the skill.
    pub(super) skills: BTreeMap<String, LockEntry>,
    /// Project folders whose skills count as the owner's own.
    folders: BTreeMap<String, FolderEntry>,
    /// Set when the file was there and could not be read: nothing may be written over it.
    pub broken: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockEntry {
    pub name: String,
    pub tree: ContentHash,
    pub files: BTreeMap<String, ContentHash>,
    /// Seconds since 1970.
    pub since: u64,
    pub by: TrustedBy,
    /// Why it is not used, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<String>,
    /// Where it was fetched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The same, as it is asked for again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SkillOrigin>,
    /// The turn in which the agent wrote it, or what is held of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The question the owner was asked about that, by its id in the audit chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The changed version the owner was last told about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<ContentHash>,
    /// What the scanner saw last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<LookRecord>,
    /// The calls of `allowed-tools` that the owner granted when trusting this version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// The version its author gave it, when it was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A version the scanner looked into, and with which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookRecord {
    pub tree: ContentHash,
    pub rules: u32,
}

impl LockEntry {
    pub(super) fn was_looked_into(&self, skill: &Skill) -> bool {
        let now = LookRecord {
            tree: skill.tree,
            rules: RULES_VERSION,
        };
        self.looked == Some(now)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustedBy {
    FirstSight,
    Owner,
    /// The agent, in a turn that had read nothing foreign or with the owner's yes.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FolderEntry {
    since: u64,
}

/// Why the lock could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("cannot write {}: {source}; check that the folder is writable", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} cannot be read ({why}); fix it or move it away, then trust your skills again", path.display())]
    Broken { path: PathBuf, why: String },
}

/// What the owner should hear about, each thing once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrustNotice {
    pub skill: String,
    pub state: TrustState,
    pub message: String,
}

impl TrustLock {
    /// Reads the lock; a missing file is an empty one.
    pub fn open(state_dir: &Path) -> Self {
        let mut lock = Self {
            state_dir: state_dir.to_owned(),
            skills: BTreeMap::new(),
            folders: BTreeMap::new(),
            broken: None,
        };
        if let Err(why) = lock.load() {
            lock.broken = Some(why);
        }
        lock
    }

    pub fn path(&self) -> PathBuf {
        self.state_dir.join("state").join("trust.json")
    }

    pub fn entry(&self, skill: &Skill) -> Option<&LockEntry> {
        self.skills.get(&key(&skill.folder))
    }

    /// Whether the owner trusts the project folder this skill lies in.
    pub fn trusts_folder_of(&self, skill: &Skill) -> bool {
        // A project root is `<folder>/.agents/skills` or one of its like: two steps up.
        let folder = skill.root.parent().and_then(Path::parent);
        folder.is_some_and(|folder| self.folders.contains_key(&key(folder)))
    }

    /// The owner trusts this version of a skill, and grants these of the calls it asks for.
    pub fn trust(&mut self, skill: &Skill, granted: &[String], host: &Host) {
        self.put(skill, host, TrustedBy::Owner, None);
        self.keep_copies(skill);
        if let Some(entry) = self.skills.get_mut(&key(&skill.folder)) {
            entry.granted = granted.to_vec();
        }
    }

    /// What the owner granted to this very version.
    pub fn granted(&self, skill: &Skill) -> &[String] {
        let entry = self.entry(skill).filter(|entry| {
            entry.tree == skill.tree && entry.by == TrustedBy::Owner && entry.quarantined.is_none()
        });
        entry.map_or(&[], |entry| &entry.granted)
    }

    /// The owner no longer trusts a skill, wherever it lies. What was trusted stays on record, to
    /// compare with.
    pub fn untrust(&mut self, skill: &Skill, host: &Host) {
        let why = Some("you revoked your trust".to_owned());
        match self.skills.get_mut(&key(&skill.folder)) {
            Some(entry) if !entry.files.is_empty() => {
                entry.quarantined = why;
                entry.by = TrustedBy::Owner;
                entry.since = host.unix_time();
                (entry.turn, entry.question) = (None, None);
                entry.granted.clear();
            }
            _ => self.put(skill, host, TrustedBy::Owner, why),
        }
    }

    /// What is known of a skill goes with it to another folder.
    pub(crate) fn move_entry(&mut self, from: &Path, to: &Path) {
        if let Some(entry) = self.skills.remove(&key(from)) {
            self.skills.insert(key(to), entry);
        }
    }

    /// The skills that were fetched from somewhere, by their folders.
    pub fn fetched_skills(&self) -> impl Iterator<Item = (&Path, &LockEntry)> {
        let entries = self.skills.iter();
        entries
            .filter(|(_, entry)| entry.from.is_some())
            .map(|(folder, entry)| (Path::new(folder.as_str()), entry))
    }

    /// Whether the owner looked at this skill and no longer wants it.
    pub(super) fn is_withdrawn(&self, skill: &Skill) -> bool {
        let entry = self.entry(skill);
        entry.is_some_and(|entry| {
            entry.quarantined.is_some() && entry.by == TrustedBy::Owner && !entry.files.is_empty()
        })
    }

    /// Whether the owner trusted this very version after looking at it.
    pub(super) fn is_owners_word(&self, skill: &Skill) -> bool {
        let entry = self.entry(skill);
        entry.is_some_and(|entry| {
            entry.quarantined.is_none() && entry.by == TrustedBy::Owner && entry.tree == skill.tree
        })
    }

    /// Remembers where a skill was fetched from; it stays quarantined.
    pub(crate) fn note_fetched(&mut self, folder: &Path, fetched: LockEntry) {
        self.skills.insert(key(folder), fetched);
    }

    pub fn trust_folder(&mut self, folder: &Path, host: &Host) {
        self.folders.insert(
            key(folder),
            FolderEntry {
                since: host.unix_time(),
            },
        );
    }

    pub fn untrust_folder(&mut self, folder: &Path) {
        self.folders.remove(&key(folder));
    }

    pub fn forget(&mut self, folder: &Path) {
        self.skills.remove(&key(folder));
    }

    /// Takes note of what is new and what changed: new skills of the owner's are locked at first
    /// sight. With a scanner what it has not seen is looked into, and blocked where that is
    /// dangerous. Returns what the owner has not been told yet.
    pub fn settle<'a>(
        &mut self,
        skills: impl IntoIterator<Item = &'a Skill>,
        policy: &TrustPolicy<'_>,
        scanner: Option<&dyn SkillScanner>,
        host: &Host,
    ) -> Vec<TrustNotice> {
        let mut notices = Vec::new();
        for skill in skills {
            let trusting = judge(skill, self, policy);
            let is_new = trusting.state == TrustState::New;
            if is_new {
                self.put(skill, host, TrustedBy::FirstSight, None);
            }
            let Some(entry) = self.skills.get_mut(&key(&skill.folder)) else {
                continue;
            };
            let is_told = trusting.state != TrustState::Changed || entry.told == Some(skill.tree);
            if trusting.state == TrustState::Changed {
                entry.told = Some(skill.tree);
            }
            let looks = scanner.filter(|_| trusting.look == SkillLook::Waiting);
            let report = looks.map(|scanner| {
                scanner.scan(&match is_new {
                    true => SkillContents::of(skill),
                    false => SkillContents::in_use(skill),
                })
            });
            if let Some(report) = &report {
                entry.looked = Some(LookRecord {
                    tree: skill.tree,
                    rules: RULES_VERSION,
                });
                if report.verdict == ScanVerdict::Dangerous {
                    entry.quarantined = Some(report.summary());
                }
            }
            let blocked = entry.quarantined.clone();
            let is_blocked = report.is_some() && blocked.is_some();
            let is_quiet = policy.on_change == OnChange::Allow && !is_new;
            if is_blocked || is_new || (!is_told && !is_quiet) {
                let (state, message) = match blocked {
                    Some(why) => (TrustState::Quarantined, why),
                    None => (
                        trusting.state,
                        worth_a_look(trusting.reason, report.as_ref()),
                    ),
                };
                notices.push(TrustNotice {
                    skill: skill.name.clone(),
                    state,
                    message,
                });
            }
            if report.is_some() {
                self.keep_copies(skill);
            }
        }
        notices
    }

    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.skills != other.skills || self.folders != other.folders
    }

    /// Writes the lock; whatever else is in the file stays.
    pub fn save(&self) -> Result<(), LockError> {
        let path = self.path();
        if let Some(why) = &self.broken {
            return Err(LockError::Broken {
                path,
                why: why.clone(),
            });
        }
        let failed = |source| LockError::Write {
            path: path.clone(),
            source,
        };
        // Two commands at once must not undo each other's keys.
        let store = document_at(&path);
        let mut held = store.hold().wait().map_err(|error| failed(error.into()))?;
        let mut document = parse(held.read().wait()).map_err(|why| LockError::Broken {
            path: path.clone(),
            why,
        })?;
        document.insert("version".to_owned(), Value::from(1));
        let value =
            |result: Result<Value, serde_json::Error>| result.map_err(|error| failed(error.into()));
        document.insert(
            "skills".to_owned(),
            value(serde_json::to_value(&self.skills))?,
        );
        document.insert(
            "folders".to_owned(),
            value(serde_json::to_value(&self.folders))?,
        );
        let mut text =
            serde_json::to_string_pretty(&document).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let announced = announce_write(&self.state_dir, &path);
        held.replace(&text)
            .wait()
            .map_err(|error| failed(error.into()))?;
        announced.finish(text.as_bytes());
        Ok(())
    }

    /// The text of a file as it was when it was locked, if a copy was kept.
    pub fn kept_text(&self, hash: ContentHash) -> Option<String> {
        let copy = read_if_there(&self.copies().join(hash.to_string()));
        ok_or_warn!(copy, "the copy of a locked file cannot be read").flatten()
    }

    fn copies(&self) -> PathBuf {
        self.state_dir.join("state").join("skill-versions")
    }

    fn load(&mut self) -> Result<(), String> {
        let mut document = parse(document_at(&self.path()).read().wait())?;
        if let Some(skills) = document.remove("skills") {
            self.skills =
                serde_json::from_value(skills).map_err(|error| format!("skills: {error}"))?;
        }
        if let Some(folders) = document.remove("folders") {
            self.folders =
                serde_json::from_value(folders).map_err(|error| format!("folders: {error}"))?;
        }
        Ok(())
    }

    pub(super) fn put(
        &mut self,
        skill: &Skill,
        host: &Host,
        by: TrustedBy,
        quarantined: Option<String>,
    ) {
        let before = self.entry(skill);
        let origin = before.and_then(|entry| entry.origin.clone());
        let from = before.and_then(|entry| entry.from.clone());
        let version = before.and_then(|entry| entry.version.clone());
        let files = skill
            .files
            .iter()
            .map(|file| (file.path.clone(), file.hash))
            .collect();
        let entry = LockEntry {
            name: skill.name.clone(),
            tree: skill.tree,
            files,
            since: host.unix_time(),
            by,
            quarantined,
            origin,
            from,
            turn: None,
            question: None,
            told: None,
            looked: None,
            granted: Vec::new(),
            version: version.or_else(|| skill.front.version.clone()),
        };
        self.skills.insert(key(&skill.folder), entry);
    }

    /// Keeps the small files of a locked skill, so that a later change can be shown line by line.
    /// Copies are a convenience: failing to make one is no failure.
    pub(super) fn keep_copies(&self, skill: &Skill) {
        const MAX_COPY_BYTES: u64 = 64 * 1024;
        let copies = self.copies();
        if ok_or_warn!(
            disk::create_dir(&copies),
            "no copy of a trusted skill is kept"
        )
        .is_none()
        {
            return;
        }
        for file in skill
            .files
            .iter()
            .filter(|file| file.bytes <= MAX_COPY_BYTES)
        {
            let copy = copies.join(file.hash.to_string());
            if copy.exists() {
                continue;
            }
            let content = crate::tree::read_file(&skill.folder.join(&file.path), MAX_COPY_BYTES);
            if let Some(content) = ok_or_warn!(content, "no copy is kept", file = file.path)
                && ContentHash::of(&content.bytes) == file.hash
                && std::str::from_utf8(&content.bytes).is_ok()
            {
                ok_or_warn!(
                    write_file(&copy, &content.bytes, FileMode::Private),
                    "no copy of a file is kept",
                    file = file.path
                );
            }
        }
    }
}

/// The reason for a state, and what a scan would have its owner know.
fn worth_a_look(reason: String, report: Option<&ScanReport>) -> String {
    match report {
        Some(report) if report.verdict == ScanVerdict::Suspicious => {
            format!("{reason}; worth a look: {}", report.summary())
        }
        _ => reason,
    }
}

fn parse(text: Result<Option<String>, StoreError>) -> Result<Map<String, Value>, String> {
    match text.map_err(io::Error::from) {
        Ok(Some(text)) if !text.trim().is_empty() => {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        }
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(error.to_string()),
    }
}

/// Folders are known by the path they were reached by: resolving links for every skill at every
/// look would cost more than all the rest, and a skill reached by a new path is rightly new.
pub(super) fn key(folder: &Path) -> String {
    folder.display().to_string()
}

/// How one file differs from the version that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    pub path: String,
    pub kind: FileChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    Added,
    Removed,
    Changed,
}

impl std::fmt::Display for FileChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            FileChangeKind::Added => "added",
            FileChangeKind::Removed => "removed",
            FileChangeKind::Changed => "changed",
        };
        write!(f, "{} {what}", self.path)
    }
}

/// The files of a skill that are not as they were locked.
pub fn changes(entry: &LockEntry, skill: &Skill) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for file in &skill.files {
        let kind = match entry.files.get(&file.path) {
            None => FileChangeKind::Added,
            Some(hash) if *hash != file.hash => FileChangeKind::Changed,
            Some(_) => continue,
        };
        changes.push(FileChange {
            path: file.path.clone(),
            kind,
        });
    }
    for path in entry.files.keys() {
        if !skill.files.iter().any(|file| file.path == *path) {
            changes.push(FileChange {
                path: path.clone(),
                kind: FileChangeKind::Removed,
            });
        }
    }
    // Only a mode differs: the hash of the whole says so, no file does.
    if changes.is_empty() && entry.tree != skill.tree {
        changes.push(FileChange {
            path: "file permissions".to_owned(),
            kind: FileChangeKind::Changed,
        });
    }
    changes
}
