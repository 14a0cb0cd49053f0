//! The files of one workspace under watch: judging what is there, noting who wrote what.

mod noting;
mod watched;

use chela_core::lock;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chela_core::{ContentHash, Host, Trust, ok_or_warn};
use chela_files::FileStamp;

use crate::core_file::{CoreFile, file_name};
use crate::decode::decode;
use crate::read::{FileBytes, PathLook, look, read};
use crate::record::{WorkspaceBeginning, WorkspaceRecord, has_core_files};
use crate::source::ReadFile;
use crate::trust::{
    AbsentFile, FolderGround, JudgedVersion, OnChange, ScanFinding, SuspicionLevel, TrustAct,
    TrustPolicies, TrustRecords, TrustStanding, VersionCase, VersionCopies, judge, judge_absent,
};

pub use noting::WritingTurn;
pub use watched::{WatchedFile, WatchedKind};

/// Looks through a text for instructions that somebody slipped in.
pub trait TextScanner: Send + Sync {
    fn scan(&self, text: &str) -> Option<ScanFinding>;
}

/// Whose files are watched, and how.
pub struct CustodySettings<'a> {
    pub host: &'a Host,
    /// The workspace, as the config names it.
    pub dir: &'a Path,
    pub policies: TrustPolicies,
    pub scanner: Arc<dyn TextScanner>,
}

impl std::fmt::Debug for CustodySettings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CustodySettings")
            .field("dir", &self.dir)
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}

/// The files of one workspace under watch. Keep it between turns: it remembers what it has read.
pub struct Custody {
    host: Host,
    root: PathBuf,
    /// Where Chela keeps its own, links resolved.
    state: PathBuf,
    policies: TrustPolicies,
    scanner: Arc<dyn TextScanner>,
    /// What Chela wrote when it set the workspace up.
    seeded: BTreeMap<String, ContentHash>,
    /// Whose folder it is, unless the owner took it for their own.
    ground: FolderGround,
    records: Mutex<Option<(RecordStamp, Arc<TrustRecords>)>>,
    scans: Mutex<HashMap<ContentHash, Option<ScanFinding>>>,
}

/// What a session reads of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRuling {
    pub(crate) judged: JudgedVersion,
    pub(crate) reads: ReadVersion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadVersion {
    /// The file as it is.
    File,
    /// The last version that was trusted.
    Trusted {
        hash: ContentHash,
        text: Arc<str>,
    },
    Nothing,
}

/// Changes whenever the document does: it is replaced as a whole.
type RecordStamp = Option<FileStamp>;

impl Custody {
    pub fn open(settings: CustodySettings<'_>) -> Self {
        let host = settings.host;
        let dir = host.cwd.join(settings.dir);
        let record = WorkspaceRecord::read(host, &dir);
        let root = std::fs::canonicalize(&dir).unwrap_or(dir);
        let state = host.state_dir();
        let state = std::fs::canonicalize(&state).unwrap_or(state);
        let ground = match &record {
            _ if root.starts_with(&state) => FolderGround::Own,
            Some(record) if record.beginning == WorkspaceBeginning::Made => FolderGround::Own,
            Some(_) => FolderGround::Foreign,
            None if has_core_files(&root) => FolderGround::Foreign,
            None => FolderGround::Own,
        };
        Self {
            host: host.clone(),
            root,
            state,
            policies: settings.policies,
            scanner: settings.scanner,
            seeded: record.map(|record| record.seeded).unwrap_or_default(),
            ground,
            records: Mutex::default(),
            scans: Mutex::default(),
        }
    }

    /// The workspace, links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The folder of hooks that hold for every agent.
    pub fn shared_hooks(&self) -> PathBuf {
        self.state.join("hooks")
    }

    pub fn policies(&self) -> TrustPolicies {
        self.policies
    }

    /// The record as it is now.
    pub fn records(&self) -> Arc<TrustRecords> {
        let stamp = stamp_of(&TrustRecords::path(&self.host));
        let mut kept = lock(&self.records);
        if let Some((known, records)) = &*kept
            && *known == stamp
        {
            return Arc::clone(records);
        }
        let records = Arc::new(TrustRecords::read(&self.host));
        *kept = Some((stamp, Arc::clone(&records)));
        records
    }

    /// Where a file on disk stands; `None` when there is none that can be read. Also the bytes.
    pub fn look(&self, path: &Path) -> Option<(JudgedVersion, Vec<u8>)> {
        let (bytes, resolved) = self.present(path)?;
        let hash = ContentHash::of(&bytes.bytes);
        let ground = self.ground_of(&self.records(), &resolved);
        let judged = self.judged(&resolved, hash, ground, || decode(&bytes).text.into());
        Some((judged, bytes.bytes))
    }

    /// Where a text of the config stands that shapes the agent. It is known by its key.
    pub fn look_at_setting(&self, key: &str, text: &str) -> JudgedVersion {
        let hash = ContentHash::of(text);
        self.judged(Path::new(key), hash, FolderGround::Own, || text.into())
    }

    /// What a session reads in place of such a text; `None` for the text itself, and for
    /// [`TrustAct::Withhold`], when nothing can stand in.
    pub fn stand_in(&self, judged: &JudgedVersion) -> Option<String> {
        match judged.judgement.act {
            TrustAct::UseTrusted(hash) => VersionCopies::of(&self.host).bytes(hash).map(text_of),
            TrustAct::Use | TrustAct::Withhold => None,
        }
    }

    /// The most a file may be trusted by whoever reads it; `None` where its record has no say.
    pub fn ceiling(&self, path: &Path) -> Option<Trust> {
        self.ceiling_of_version(path, None)
    }

    /// The same of the version that was read, where one was: if another lies there by now, it is
    /// not believed.
    pub fn ceiling_of_version(&self, path: &Path, read: Option<ContentHash>) -> Option<Trust> {
        let records = self.records();
        let shapes_the_agent = CoreFile::of(&file_name(path)).is_some();
        if records.entry(path).is_none() && !shapes_the_agent {
            let is_own = self.ground == FolderGround::Own || records.root(&self.root).is_some();
            let lies_here = path.starts_with(&self.root);
            return (lies_here && !is_own).then_some(Trust::External);
        }
        let Some((judged, _)) = self.look(path) else {
            return read.map(|_| Trust::External);
        };
        if read.is_some_and(|read| read != judged.hash) {
            return Some(Trust::External);
        }
        Some(match (judged.judgement.act, judged.ground) {
            (TrustAct::Use, FolderGround::Foreign) if judged.judgement.waits() => Trust::External,
            (TrustAct::Use, _) => judged.judgement.trust,
            // What is set aside may be read, but not believed.
            (TrustAct::UseTrusted(_) | TrustAct::Withhold, _) => Trust::External,
        })
    }

    /// Whether a file is one of those that shape an agent, by its name.
    pub fn is_persona(&self, path: &Path) -> bool {
        CoreFile::of(&file_name(path)).is_some()
    }

    /// Whether the policy takes whatever anybody writes there for the agent's own.
    pub fn takes_anything(&self, path: &Path) -> bool {
        self.policies.on(self.ground_of(&self.records(), path)) == OnChange::Allow
    }

    /// Whose folder the workspace is: the owner's, or one that was there with its files before
    /// Chela was and that the owner did not take for their own.
    pub fn workspace_ground(&self) -> FolderGround {
        match self.ground {
            FolderGround::Foreign if self.records().root(&self.root).is_none() => {
                FolderGround::Foreign
            }
            _ => FolderGround::Own,
        }
    }

    /// What a session reads of a file that was found.
    pub(crate) fn rule(&self, resolved: &Path, source: &ReadFile) -> FileRuling {
        let ground = self.ground_of(&self.records(), resolved);
        let mut judged = self.judged(resolved, source.hash, ground, || source.text());
        let reads = match judged.judgement.act {
            TrustAct::Use => ReadVersion::File,
            TrustAct::Withhold => ReadVersion::Nothing,
            TrustAct::UseTrusted(hash) => match VersionCopies::of(&self.host).bytes(hash) {
                Some(bytes) => ReadVersion::Trusted {
                    hash,
                    text: text_of(bytes).into(),
                },
                None => ReadVersion::Nothing,
            },
        };
        if reads == ReadVersion::Nothing {
            judged.judgement.act = TrustAct::Withhold;
        }
        if judged.is_allowed {
            self.let_pass(resolved);
        }
        FileRuling { judged, reads }
    }

    /// Where a file that is on record and not there stands. A first conversation ends with
    /// BOOTSTRAP.md being deleted: that is no news.
    pub fn missed(&self, path: &Path) -> Option<AbsentFile> {
        if self.present(path).is_some() {
            return None;
        }
        let records = self.records();
        let ground = self.ground_of(&records, path);
        let policy = self.policies.on(ground);
        let mut judgement = judge_absent(records.entry(path)?, policy)?;
        let is_the_first_talk = CoreFile::of(&file_name(path)) == Some(CoreFile::Bootstrap);
        if judgement.state == TrustStanding::Gone && is_the_first_talk {
            judgement.state = TrustStanding::Deleted;
            judgement.act = TrustAct::Use;
        }
        Some(AbsentFile {
            is_allowed: judgement.state == TrustStanding::Gone && policy == OnChange::Allow,
            judgement,
            ground,
        })
    }

    /// What a session reads of a file that is not there, and where that stands.
    pub(crate) fn rule_absent(&self, path: &Path) -> Option<(AbsentFile, ReadVersion)> {
        let absent = self.missed(path)?;
        if absent.is_allowed {
            self.let_go(path);
        }
        let reads = match absent.judgement.act {
            TrustAct::UseTrusted(hash) => match VersionCopies::of(&self.host).bytes(hash) {
                Some(bytes) => ReadVersion::Trusted {
                    hash,
                    text: text_of(bytes).into(),
                },
                None => ReadVersion::Nothing,
            },
            TrustAct::Use | TrustAct::Withhold => ReadVersion::File,
        };
        Some((absent, reads))
    }

    /// The foreign folder a file came with, while the owner has not taken it for their own.
    pub fn foreign_root(&self, records: &TrustRecords, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.state) && !path.starts_with(&self.root) {
            return None;
        }
        let Ok(inside) = path.strip_prefix(&self.root) else {
            let dir = path.parent()?;
            return (records.root(dir).is_none()).then(|| dir.to_owned());
        };
        // A repository inside of the workspace is somebody else's.
        let mut dir = self.root.clone();
        for part in inside.parent().into_iter().flat_map(Path::components) {
            dir.push(part);
            if dir.join(".git").exists() {
                return (records.root(&dir).is_none()).then_some(dir);
            }
        }
        let is_foreign = self.ground == FolderGround::Foreign && records.root(&self.root).is_none();
        is_foreign.then(|| self.root.clone())
    }

    /// Where a file lies, links resolved.
    pub fn resolved(&self, path: &Path) -> PathBuf {
        match look(&self.root, path) {
            PathLook::Found(located) => located.resolved,
            _ => path.to_owned(),
        }
    }

    fn present(&self, path: &Path) -> Option<(FileBytes, PathBuf)> {
        let confines = match path.starts_with(&self.root) {
            true => self.root.as_path(),
            false => path.parent()?,
        };
        let PathLook::Found(located) = look(confines, path) else {
            return None;
        };
        let (bytes, _) = ok_or_warn!(read(&located), "a watched file cannot be read")?;
        Some((bytes, located.resolved))
    }

    fn ground_of(&self, records: &TrustRecords, path: &Path) -> FolderGround {
        match self.foreign_root(records, path) {
            Some(_) => FolderGround::Foreign,
            None => FolderGround::Own,
        }
    }

    fn judged(
        &self,
        resolved: &Path,
        hash: ContentHash,
        ground: FolderGround,
        text: impl FnOnce() -> Arc<str>,
    ) -> JudgedVersion {
        let records = self.records();
        let entry = records.entry(resolved);
        let case = VersionCase {
            entry,
            hash,
            pristine: records.broken.is_none() && self.is_pristine(resolved, hash),
            ground,
            found: None,
        };
        let judgement = judge(&case, self.policies);
        if judgement.state == TrustStanding::Trusted {
            let known = entry.and_then(|entry| entry.trusted.as_ref());
            return JudgedVersion {
                judgement,
                hash,
                ground,
                found: known.and_then(|version| version.found.clone()),
                is_allowed: false,
            };
        }
        let found = self.scanned(hash, text);
        let severity: Option<SuspicionLevel> = found.as_ref().map(|found| found.severity);
        let judgement = judge(
            &VersionCase {
                found: severity,
                ..case
            },
            self.policies,
        );
        let policy = self.policies.on(ground);
        JudgedVersion {
            is_allowed: judgement.act == TrustAct::Use && policy == OnChange::Allow,
            judgement,
            hash,
            ground,
            found,
        }
    }

    fn scanned(&self, hash: ContentHash, text: impl FnOnce() -> Arc<str>) -> Option<ScanFinding> {
        if let Some(known) = lock(&self.scans).get(&hash) {
            return known.clone();
        }
        let found = self.scanner.scan(&text());
        lock(&self.scans).insert(hash, found.clone());
        found
    }

    /// Whether Chela itself wrote this text there.
    fn is_pristine(&self, resolved: &Path, hash: ContentHash) -> bool {
        let Ok(relative) = resolved.strip_prefix(&self.root) else {
            return false;
        };
        let name = relative.to_string_lossy();
        let core = CoreFile::ALL.into_iter().find(|file| file.name() == name);
        self.seeded.get(&*name) == Some(&hash)
            || core
                .and_then(CoreFile::template)
                .is_some_and(|text| ContentHash::of(text) == hash)
    }
}

impl std::fmt::Debug for Custody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Custody")
            .field("root", &self.root)
            .field("ground", &self.ground)
            .finish_non_exhaustive()
    }
}

/// The text of a version as a prompt would have it.
fn text_of(bytes: Vec<u8>) -> String {
    decode(&FileBytes { bytes, left_out: 0 }).text
}

fn stamp_of(path: &Path) -> RecordStamp {
    let facts = std::fs::metadata(path).ok()?;
    Some(FileStamp::of(&facts))
}
