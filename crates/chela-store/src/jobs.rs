//! The seam for jobs: what is to be done at certain times, and every time it was.
//!
//! What a schedule means is the caller's business: a store knows when a job is next due and which
//! occurrences it has, each by job and planned moment. Whatever is decided about a job - the
//! message of an occurrence, its end, when the next one is - is one [`JobAdvance`] and one
//! transaction, and counts only if the job is as whoever decided had read it. So a planned moment
//! is worked on once, however many processes look at it and whenever one of them dies.

use crate::StoreFuture;
use crate::inbox::{MessageOutcome, NewMessage};

/// Keeps jobs and their occurrences. Times are those of whoever calls. Reading changes nothing.
pub trait JobStore: std::fmt::Debug + Send + Sync {
    /// Makes a job, or replaces the one of this id if it is still as the caller read it.
    fn put(&self, job: JobPlan, known: KnownRevision) -> StoreFuture<'_, JobChanged>;

    /// Takes a job out; its occurrences stay. What waits in the inbox for it and was never begun
    /// ends with `withdrawn`. Says whether there was one.
    fn remove(&self, id: &str, withdrawn: MessageOutcome) -> StoreFuture<'_, bool>;

    fn job(&self, id: &str) -> StoreFuture<'_, Option<JobRecord>>;

    /// All of them, by id.
    fn list(&self) -> StoreFuture<'_, Vec<JobRecord>>;

    /// Those that are due and enabled, the one that waits for longest first.
    fn due(&self, now: u64) -> StoreFuture<'_, Vec<JobRecord>>;

    /// The first moment at which a job or a further try of an occurrence is due.
    fn next_due(&self) -> StoreFuture<'_, Option<u64>>;

    /// Moves a job on, with everything that belongs together.
    fn advance(&self, advance: JobAdvance) -> StoreFuture<'_, JobChanged>;

    /// The occurrences that are not over, each with what came of its message so far.
    fn open_occurrences(&self) -> StoreFuture<'_, Vec<OpenOccurrence>>;

    /// The newest occurrences, of one job or of all.
    fn occurrences(&self, query: OccurrenceQuery) -> StoreFuture<'_, Vec<OccurrenceRecord>>;

    /// Forgets occurrences that ended before a moment, and of each job all but the newest; gives
    /// how many went.
    fn forget_occurrences(&self, limit: OccurrenceLimit) -> StoreFuture<'_, usize>;
}

/// A job as somebody wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlan {
    /// Never given to another job, so that its occurrences are its own.
    pub id: String,
    /// What is to be done and when, in the caller's own form.
    pub spec: String,
    /// When it is due, in milliseconds since 1970; `None`: never.
    pub next: Option<u64>,
    /// A job that is not enabled is never due.
    pub enabled: bool,
    /// What the caller keeps with it.
    pub state: String,
}

/// A job on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    pub plan: JobPlan,
    /// Another one after every change.
    pub revision: u64,
}

/// What whoever changes a job knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownRevision {
    /// There is none of this id.
    New,
    At(u64),
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobChanged {
    Changed,
    /// The job is not, or no longer, as the caller read it. Nothing was written.
    Outdated,
}

/// What happens to a job and its occurrences in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAdvance {
    pub id: String,
    /// The job as it was read.
    pub revision: u64,
    pub next: Option<u64>,
    pub enabled: bool,
    pub state: String,
    pub steps: Vec<OccurrenceStep>,
}

/// What happens to one occurrence. One that is over stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceStep {
    /// The moment it was planned for: with the job, what it is known by.
    pub planned: u64,
    pub at: u64,
    pub change: OccurrenceChange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OccurrenceChange {
    /// A try begins: its message is accepted into the inbox.
    Send { message: NewMessage, note: String },
    /// It failed, and is tried again.
    Again { due: u64, note: String },
    /// It is over: done, given up, or left out.
    End { note: String },
}

/// An occurrence on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceRecord {
    pub job: String,
    pub planned: u64,
    /// How often it was sent.
    pub tries: u64,
    /// The id of the message of the newest try.
    pub message: Option<String>,
    /// When the next try is due.
    pub due: Option<u64>,
    pub begun: u64,
    pub ended: Option<u64>,
    /// In the caller's own form.
    pub note: String,
}

/// An occurrence that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOccurrence {
    pub record: OccurrenceRecord,
    pub message: MessageStanding,
}

/// How it stands with the message of an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageStanding {
    /// None is on its way: a further try is due later.
    None,
    Waits,
    Finished(MessageOutcome),
    /// The inbox does not know it any more.
    Forgotten,
}

/// Which occurrences are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceQuery {
    pub job: Option<String>,
    pub limit: usize,
}

/// What is kept of occurrences that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OccurrenceLimit {
    /// What ended before goes.
    pub before: u64,
    /// The most of one job.
    pub most: usize,
}
