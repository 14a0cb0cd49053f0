//! A piece of work on its way through the threads of a file.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::WriteDurability;

/// What goes wrong with a piece of work, before the file is named. Everybody in a group that
/// fails is told the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JobError {
    #[error("{0}")]
    Engine(Arc<rusqlite::Error>),
    /// A row does not say what it ought to.
    #[error("{0}")]
    Damaged(String),
    #[error("{} cannot be used: {source}", path.display())]
    File {
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    /// Whoever asked for the work wants nothing of it kept.
    #[error("the work was rolled back")]
    TakenBack,
    #[error("nothing can be written there")]
    ReadOnly,
    #[error("the file was deleted or replaced")]
    Replaced,
    #[error("another process has held {} for too long", path.display())]
    Locked { path: PathBuf },
    #[error("the work failed because of a bug: {0}")]
    Panicked(String),
    #[error("the thread of the file has ended")]
    ThreadEnded,
    #[error("no thread can be started: {0}")]
    NoThread(Arc<std::io::Error>),
}

impl From<rusqlite::Error> for JobError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(Arc::new(error))
    }
}

impl From<serde_json::Error> for JobError {
    /// What is read from a row was written by us: if it reads wrong, it was changed.
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

pub(super) type JobAnswer<T> = oneshot::Receiver<Result<T, JobError>>;

/// How a piece of work wants to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    /// Together with others, in one transaction.
    Grouped(WriteDurability),
    /// By itself, outside of any transaction of the engine's.
    Bare,
}

/// Work that is done once and answered once.
pub(super) trait StoreJob: Send {
    fn kind(&self) -> JobKind;

    /// Does the work and keeps what came of it.
    fn run(&mut self, connection: &Connection) -> Result<(), JobError>;

    /// Gives the answer. What was done counts only if the group it was done in did not fail.
    fn answer(self: Box<Self>, group: Result<(), JobError>);
}

struct PendingJob<T, F> {
    kind: JobKind,
    work: Option<F>,
    done: Option<Result<T, JobError>>,
    answer: oneshot::Sender<Result<T, JobError>>,
}

pub(super) fn group_job<T, F>(
    durability: WriteDurability,
    work: F,
) -> (Box<dyn StoreJob>, JobAnswer<T>)
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
{
    pending(JobKind::Grouped(durability), work)
}

pub(super) fn bare_job<T, F>(work: F) -> (Box<dyn StoreJob>, JobAnswer<T>)
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
{
    pending(JobKind::Bare, work)
}

fn pending<T, F>(kind: JobKind, work: F) -> (Box<dyn StoreJob>, JobAnswer<T>)
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
{
    let (answer, receiver) = oneshot::channel();
    let job = PendingJob {
        kind,
        work: Some(work),
        done: None,
        answer,
    };
    (Box::new(job), receiver)
}

impl<T, F> StoreJob for PendingJob<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, JobError> + Send,
{
    fn kind(&self) -> JobKind {
        self.kind
    }

    fn run(&mut self, connection: &Connection) -> Result<(), JobError> {
        let Some(work) = self.work.take() else {
            return Ok(());
        };
        let done = or_panicked(|| work(connection));
        let outcome = done.as_ref().map(drop).map_err(JobError::clone);
        self.done = Some(done);
        outcome
    }

    fn answer(self: Box<Self>, group: Result<(), JobError>) {
        let outcome = match (self.done, group) {
            // Its own trouble says more than what became of the others.
            (Some(Err(own)), _) => Err(own),
            (_, Err(group)) => Err(group),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(JobError::ThreadEnded),
        };
        // Nobody may be waiting any more; what was done stays done, and what was not is said.
        if let Err(Err(error)) = self.answer.send(outcome) {
            tracing::warn!(%error, "a record nobody waited for was not written");
        }
    }
}

/// Work that panics has failed, like work that says so: the thread that does it goes on for the
/// others.
pub(super) fn or_panicked<T>(work: impl FnOnce() -> Result<T, JobError>) -> Result<T, JobError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(JobError::Panicked(words_of(panic.as_ref()))))
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
