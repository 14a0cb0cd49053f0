//! The seam for jobs: what is to be done at certain times, by name. Nothing in Chela uses it yet.
//!
//! What a schedule means is the caller's business: a store knows only when a job is next due. A
//! job stays due until somebody finishes it, so one whose claimer died is found again.

use crate::StoreFuture;
use crate::claims::{ClaimAsk, ClaimHolder, ClaimState, LeaseTime, WorkClaim};

/// Keeps jobs. Times are those of whoever calls.
pub trait JobStore: std::fmt::Debug + Send + Sync {
    /// Makes a job or replaces the one of this name. Whoever has it in its hands keeps it.
    fn upsert(&self, job: JobPlan) -> StoreFuture<'_, ()>;

    /// Says whether there was one.
    fn remove(&self, name: &str) -> StoreFuture<'_, bool>;

    fn by_name(&self, name: &str) -> StoreFuture<'_, Option<JobRecord>>;

    /// All of them, by name.
    fn list(&self) -> StoreFuture<'_, Vec<JobRecord>>;

    /// The job that has been due for longest and is in nobody's hands.
    fn claim_due(&self, ask: ClaimAsk) -> StoreFuture<'_, Option<ClaimedJob>>;

    /// Holds on to a job for longer.
    fn renew(&self, claim: &WorkClaim, time: LeaseTime) -> StoreFuture<'_, ClaimState>;

    /// Puts a job back: it is due as before.
    fn give_back(&self, claim: &WorkClaim) -> StoreFuture<'_, ClaimState>;

    /// Ends a run and says when the next one is due.
    fn finish(&self, claim: &WorkClaim, next: JobNext) -> StoreFuture<'_, JobFinished>;
}

/// A job as somebody wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlan {
    pub name: String,
    /// In the caller's own form.
    pub schedule: String,
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
    pub holder: Option<ClaimHolder>,
}

/// A job in the hands of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    pub claim: WorkClaim,
    pub plan: JobPlan,
}

/// What a run leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobNext {
    /// When it is due again; `None`: never.
    pub next: Option<u64>,
    pub state: String,
}

/// What became of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobFinished {
    Finished,
    /// The job was replaced while it ran: the run is over, and the job is as whoever replaced it
    /// wants it.
    Replaced,
    /// Somebody else has claimed the job since, or it was given back or removed. Nothing was
    /// changed.
    Lost,
}
