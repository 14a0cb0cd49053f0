//! Which rows of the queue this program knows the origin of.
//!
//! A row of the inbox may speak as the owner, a job may, and a delivery leaves the machine: whoever
//! writes the file speaks for Chela. Every process of Chela's notes what it is about to write, for
//! itself and, over a socket, for the others of the home that guard the file: the kernel tells
//! those which process speaks. A row nobody noted was put there past Chela.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use chela_core::{ContentHash, lock};
use chela_files::{MayWrite, WriteWitness, announce_elsewhere};

use crate::inbox::NewMessage;
use crate::jobs::JobPlan;
use crate::outbox::NewDelivery;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    Message,
    Delivery,
    Job,
}

/// A row, by everything in it that says who speaks, what, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowMark {
    kind: RowKind,
    id: String,
    hash: ContentHash,
}

impl RowMark {
    fn new(kind: RowKind, id: &str, parts: [&str; 2]) -> Self {
        let mut bytes = vec![kind as u8];
        for part in [id].into_iter().chain(parts) {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        Self {
            kind,
            id: id.to_owned(),
            hash: ContentHash::of(bytes),
        }
    }

    pub(crate) fn kind(&self) -> RowKind {
        self.kind
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn message(id: &str, lane: &str, body: &str) -> Self {
        Self::new(RowKind::Message, id, [lane, body])
    }

    pub(crate) fn delivery(id: &str, body: &str) -> Self {
        Self::new(RowKind::Delivery, id, [body, ""])
    }

    pub(crate) fn job(id: &str, spec: &str) -> Self {
        Self::new(RowKind::Job, id, [spec, ""])
    }
}

/// What is known of the rows of one file.
#[derive(Debug, Default)]
pub(crate) struct RowOrigins {
    /// The file; `None` for one that leaves no trace.
    file: Option<PathBuf>,
    state: Mutex<OriginState>,
}

#[derive(Debug, Default)]
struct OriginState {
    known: BTreeMap<(RowKind, String), ContentHash>,
    /// Jobs as they are to be.
    jobs: BTreeMap<String, JobPlan>,
    /// Who looks after the file.
    guards: usize,
    /// Hears what others write.
    witness: Option<Arc<WriteWitness>>,
}

impl RowOrigins {
    /// The same for everybody in this process who has the file open.
    pub(crate) fn of(file: Option<&Path>) -> Arc<Self> {
        static ALL: LazyLock<Mutex<BTreeMap<PathBuf, Arc<RowOrigins>>>> =
            LazyLock::new(Mutex::default);
        let Some(file) = file else {
            return Arc::default();
        };
        let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
        let file = match (folder, file.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => file.to_owned(),
        };
        let mut all = lock(&ALL);
        let origins = all.entry(file.clone()).or_insert_with(|| {
            Arc::new(Self {
                file: Some(file),
                state: Mutex::default(),
            })
        });
        Arc::clone(origins)
    }

    pub(crate) fn note_message(&self, message: &NewMessage) {
        self.note(RowMark::message(&message.id, &message.lane, &message.body));
    }

    pub(crate) fn note_delivery(&self, delivery: &NewDelivery) {
        self.note(RowMark::delivery(&delivery.id, &delivery.body));
    }

    pub(crate) fn note_job(&self, job: &JobPlan) {
        self.note(RowMark::job(&job.id, &job.spec));
        lock(&self.state).jobs.insert(job.id.clone(), job.clone());
    }

    /// This process is about to write it. Before it is written, so that nobody who guards the file
    /// sees it unannounced.
    pub(crate) fn note(&self, mark: RowMark) {
        if let Some(file) = &self.file
            && let Some(home) = file.parent().and_then(Path::parent)
        {
            announce_elsewhere(home, &announced_as(file, &mark)).finish(&[]);
        }
        let mut state = lock(&self.state);
        state.known.insert((mark.kind, mark.id), mark.hash);
    }

    /// Whether somebody looks after the file in this process.
    pub(crate) fn are_guarded(&self) -> bool {
        lock(&self.state).guards > 0
    }

    /// Looks after the file from now on. Says whether nobody did before.
    pub(crate) fn begin_guard(&self, may_write: Box<MayWrite>) -> bool {
        let mut state = lock(&self.state);
        state.guards += 1;
        if state.guards == 1
            && let Some(file) = &self.file
            && let Some(home) = file.parent().and_then(Path::parent)
        {
            let witness = WriteWitness::listen(home, vec![file.clone()], may_write);
            state.witness = witness.map(Arc::new);
        }
        state.guards == 1
    }

    pub(crate) fn end_guard(&self) {
        let mut state = lock(&self.state);
        state.guards = state.guards.saturating_sub(1);
        if state.guards == 0 {
            state.witness = None;
        }
    }

    /// What is there is taken as it is.
    pub(crate) fn take_as_known(&self, marks: Vec<RowMark>, jobs: Vec<JobPlan>) {
        let mut state = lock(&self.state);
        for mark in marks {
            state.known.insert((mark.kind, mark.id), mark.hash);
        }
        for job in jobs {
            state.jobs.insert(job.id.clone(), job);
        }
    }

    /// Whether a row is one that some process of Chela's wrote as it is.
    pub(crate) fn knows(&self, mark: &RowMark) -> bool {
        let witness = {
            let state = lock(&self.state);
            let key = (mark.kind, mark.id.clone());
            if state.known.get(&key) == Some(&mark.hash) {
                return true;
            }
            state.witness.clone()
        };
        let heard = self.file.as_deref().zip(witness);
        heard.is_some_and(|(file, witness)| witness.has_heard(&announced_as(file, mark)))
    }

    /// A job as it was before somebody else changed it.
    pub(crate) fn known_job(&self, id: &str) -> Option<JobPlan> {
        lock(&self.state).jobs.get(id).cloned()
    }

    /// Forgets rows that are over.
    pub(crate) fn forget(&self, over: &HashSet<(RowKind, String)>) {
        lock(&self.state).known.retain(|row, _| !over.contains(row));
    }
}

/// Under which name a row is announced: nobody can announce another one's text by it.
fn announced_as(file: &Path, mark: &RowMark) -> PathBuf {
    file.join(mark.hash.to_string())
}
