//! The files of one workspace under watch: judging what is there, noting who wrote what.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use chela_core::{ContentHash, Host, Trust, ok_or_warn};

use super::book::TrustBook;
use super::entry::{Found, Suspicion};
use super::judgement::{
    Act, Case, Ground, Judgement, OnChange, Policies, State, judge, judge_absent,
};
use super::versions::Versions;
use crate::core_file::{CoreFile, file_name};
use crate::decode::decode;
use crate::read::{Bytes, Look, look, read};
use crate::record::{Beginning, WorkspaceRecord, has_core_files};
use crate::seed::template;
use crate::source::Source;

/// Looks through a text for instructions that somebody slipped in.
pub trait Scanner: Send + Sync {
    fn scan(&self, text: &str) -> Option<Found>;
}

/// Whose files are watched, and how.
pub struct CustodySettings<'a> {
    pub host: &'a Host,
    /// The workspace, as the config names it.
    pub dir: &'a Path,
    pub policies: Policies,
    pub scanner: Arc<dyn Scanner>,
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
    pub(super) host: Host,
    root: PathBuf,
    /// Where Chela keeps its own, links resolved.
    state: PathBuf,
    policies: Policies,
    pub(super) scanner: Arc<dyn Scanner>,
    /// What Chela wrote when it set the workspace up.
    seeded: BTreeMap<String, ContentHash>,
    /// Whose folder it is, unless the owner took it for their own.
    ground: Ground,
    book: Mutex<Option<(BookStamp, Arc<TrustBook>)>>,
    scans: Mutex<HashMap<ContentHash, Option<Found>>>,
}

/// A version on disk, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub judgement: Judgement,
    pub hash: ContentHash,
    pub ground: Ground,
    pub found: Option<Found>,
    /// Nobody known wrote it, and the policy lets that pass in silence.
    pub is_allowed: bool,
}

/// A file that is on record and not there, and where that stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absent {
    pub judgement: Judgement,
    pub ground: Ground,
    /// Nobody known deleted it, and the policy lets that pass in silence.
    pub is_allowed: bool,
}

/// What a session reads of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ruling {
    pub(crate) judged: Judged,
    pub(crate) reads: Reads,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reads {
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
type BookStamp = Option<(u64, u64, Option<SystemTime>)>;

impl Custody {
    pub fn open(settings: CustodySettings<'_>) -> Self {
        let host = settings.host;
        let dir = host.cwd.join(settings.dir);
        let record = WorkspaceRecord::read(host, &dir);
        let root = std::fs::canonicalize(&dir).unwrap_or(dir);
        let state = host.state_dir();
        let state = std::fs::canonicalize(&state).unwrap_or(state);
        let ground = match &record {
            _ if root.starts_with(&state) => Ground::Own,
            Some(record) if record.beginning == Beginning::Made => Ground::Own,
            Some(_) => Ground::Foreign,
            None if has_core_files(&root) => Ground::Foreign,
            None => Ground::Own,
        };
        Self {
            host: host.clone(),
            root,
            state,
            policies: settings.policies,
            scanner: settings.scanner,
            seeded: record.map(|record| record.seeded).unwrap_or_default(),
            ground,
            book: Mutex::default(),
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

    pub fn policies(&self) -> Policies {
        self.policies
    }

    /// The record as it is now.
    pub fn book(&self) -> Arc<TrustBook> {
        let stamp = stamp_of(&TrustBook::path(&self.host));
        let mut kept = lock(&self.book);
        if let Some((known, book)) = &*kept
            && *known == stamp
        {
            return Arc::clone(book);
        }
        let book = Arc::new(TrustBook::read(&self.host));
        *kept = Some((stamp, Arc::clone(&book)));
        book
    }

    /// Where a file on disk stands; `None` when there is none that can be read. Also the bytes.
    pub fn look(&self, path: &Path) -> Option<(Judged, Vec<u8>)> {
        let (bytes, resolved) = self.present(path)?;
        let hash = ContentHash::of(&bytes.bytes);
        let ground = self.ground_of(&self.book(), &resolved);
        let judged = self.judged(&resolved, hash, ground, || decode(&bytes).text.into());
        Some((judged, bytes.bytes))
    }

    /// Where a text of the config stands that shapes the agent. It is known by its key.
    pub fn look_at_setting(&self, key: &str, text: &str) -> Judged {
        let hash = ContentHash::of(text);
        self.judged(Path::new(key), hash, Ground::Own, || text.into())
    }

    /// What a session reads in place of such a text; `None` for the text itself, and for
    /// [`Act::Withhold`], when nothing can stand in.
    pub fn stand_in(&self, judged: &Judged) -> Option<String> {
        match judged.judgement.act {
            Act::UseTrusted(hash) => Versions::of(&self.host).bytes(hash).map(text_of),
            Act::Use | Act::Withhold => None,
        }
    }

    /// The most a file may be trusted by whoever reads it; `None` where its record has no say.
    pub fn ceiling(&self, path: &Path) -> Option<Trust> {
        let book = self.book();
        let shapes_the_agent = CoreFile::of(&file_name(path)).is_some();
        if book.entry(path).is_none() && !shapes_the_agent {
            let is_own = self.ground == Ground::Own || book.root(&self.root).is_some();
            let lies_here = path.starts_with(&self.root);
            return (lies_here && !is_own).then_some(Trust::External);
        }
        let (judged, _) = self.look(path)?;
        Some(match (judged.judgement.act, judged.ground) {
            (Act::Use, Ground::Foreign) if judged.judgement.waits() => Trust::External,
            (Act::Use, _) => judged.judgement.trust,
            // What is set aside may be read, but not believed.
            (Act::UseTrusted(_) | Act::Withhold, _) => Trust::External,
        })
    }

    /// What a session reads of a file that was found.
    pub(crate) fn rule(&self, resolved: &Path, source: &Source) -> Ruling {
        let ground = self.ground_of(&self.book(), resolved);
        let mut judged = self.judged(resolved, source.hash, ground, || source.text());
        let reads = match judged.judgement.act {
            Act::Use => Reads::File,
            Act::Withhold => Reads::Nothing,
            Act::UseTrusted(hash) => match Versions::of(&self.host).bytes(hash) {
                Some(bytes) => Reads::Trusted {
                    hash,
                    text: text_of(bytes).into(),
                },
                None => Reads::Nothing,
            },
        };
        if reads == Reads::Nothing {
            judged.judgement.act = Act::Withhold;
        }
        if judged.is_allowed {
            self.let_pass(resolved);
        }
        Ruling { judged, reads }
    }

    /// Where a file that is on record and not there stands. A first conversation ends with
    /// BOOTSTRAP.md being deleted: that is no news.
    pub fn missed(&self, path: &Path) -> Option<Absent> {
        if self.present(path).is_some() {
            return None;
        }
        let book = self.book();
        let ground = self.ground_of(&book, path);
        let policy = self.policies.on(ground);
        let mut judgement = judge_absent(book.entry(path)?, policy)?;
        let is_the_first_talk = CoreFile::of(&file_name(path)) == Some(CoreFile::Bootstrap);
        if judgement.state == State::Gone && is_the_first_talk {
            judgement.state = State::Deleted;
            judgement.act = Act::Use;
        }
        Some(Absent {
            is_allowed: judgement.state == State::Gone && policy == OnChange::Allow,
            judgement,
            ground,
        })
    }

    /// What a session reads of a file that is not there, and where that stands.
    pub(crate) fn rule_absent(&self, path: &Path) -> Option<(Absent, Reads)> {
        let absent = self.missed(path)?;
        if absent.is_allowed {
            self.let_go(path);
        }
        let reads = match absent.judgement.act {
            Act::UseTrusted(hash) => match Versions::of(&self.host).bytes(hash) {
                Some(bytes) => Reads::Trusted {
                    hash,
                    text: text_of(bytes).into(),
                },
                None => Reads::Nothing,
            },
            Act::Use | Act::Withhold => Reads::File,
        };
        Some((absent, reads))
    }

    /// The foreign folder a file came with, while the owner has not taken it for their own.
    pub fn foreign_root(&self, book: &TrustBook, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.state) && !path.starts_with(&self.root) {
            return None;
        }
        let Ok(inside) = path.strip_prefix(&self.root) else {
            let dir = path.parent()?;
            return (book.root(dir).is_none()).then(|| dir.to_owned());
        };
        // A repository inside of the workspace is somebody else's.
        let mut dir = self.root.clone();
        for part in inside.parent().into_iter().flat_map(Path::components) {
            dir.push(part);
            if dir.join(".git").exists() {
                return (book.root(&dir).is_none()).then_some(dir);
            }
        }
        let is_foreign = self.ground == Ground::Foreign && book.root(&self.root).is_none();
        is_foreign.then(|| self.root.clone())
    }

    /// Where a file lies, links resolved.
    pub fn resolved(&self, path: &Path) -> PathBuf {
        match look(&self.root, path) {
            Look::Found(located) => located.resolved,
            _ => path.to_owned(),
        }
    }

    pub(super) fn present(&self, path: &Path) -> Option<(Bytes, PathBuf)> {
        let confines = match path.starts_with(&self.root) {
            true => self.root.as_path(),
            false => path.parent()?,
        };
        let Look::Found(located) = look(confines, path) else {
            return None;
        };
        let (bytes, _) = ok_or_warn!(read(&located), "a file under custody cannot be read")?;
        Some((bytes, located.resolved))
    }

    fn ground_of(&self, book: &TrustBook, path: &Path) -> Ground {
        match self.foreign_root(book, path) {
            Some(_) => Ground::Foreign,
            None => Ground::Own,
        }
    }

    fn judged(
        &self,
        resolved: &Path,
        hash: ContentHash,
        ground: Ground,
        text: impl FnOnce() -> Arc<str>,
    ) -> Judged {
        let book = self.book();
        let entry = book.entry(resolved);
        let case = Case {
            entry,
            hash,
            pristine: book.broken.is_none() && self.is_pristine(resolved, hash),
            ground,
            found: None,
        };
        let judgement = judge(&case, self.policies);
        if judgement.state == State::Trusted {
            let known = entry.and_then(|entry| entry.trusted.as_ref());
            return Judged {
                judgement,
                hash,
                ground,
                found: known.and_then(|version| version.found.clone()),
                is_allowed: false,
            };
        }
        let found = self.scanned(hash, text);
        let severity: Option<Suspicion> = found.as_ref().map(|found| found.severity);
        let judgement = judge(
            &Case {
                found: severity,
                ..case
            },
            self.policies,
        );
        let policy = self.policies.on(ground);
        Judged {
            is_allowed: judgement.act == Act::Use && policy == OnChange::Allow,
            judgement,
            hash,
            ground,
            found,
        }
    }

    fn scanned(&self, hash: ContentHash, text: impl FnOnce() -> Arc<str>) -> Option<Found> {
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
                .and_then(template)
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
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    decode(&Bytes { bytes, left_out: 0 }).text
}

fn stamp_of(path: &Path) -> BookStamp {
    let facts = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let identity = std::os::unix::fs::MetadataExt::ino(&facts);
    #[cfg(not(unix))]
    let identity = 0;
    Some((identity, facts.len(), facts.modified().ok()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
