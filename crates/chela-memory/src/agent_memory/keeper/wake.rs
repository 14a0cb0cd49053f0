//! Why the keeper's thread wakes, and what it tells of its work.
//!
//! Reasons are flags, not a queue: ten thousand events are one change.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chela_core::lock;

use super::{KeeperState, VectorWork, problems};
use crate::index::{SyncOutcome, SyncReport};
use crate::store::StoreError;
use crate::vectors::FillOutcome;

/// However busy a folder is, a change is looked at after so many quiet times at the latest.
const MOST_WAITS: u32 = 10;
/// Another process is indexing: it is looked at again after this.
const AFTER_BUSY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeReason {
    /// By a session or a question: look at once.
    Asked,
    /// By the file system: look when it is quiet.
    Changed,
}

#[derive(Debug, Default)]
pub struct KeeperWake {
    inner: Mutex<Inner>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    asked: bool,
    /// When the first and the last of the changes came that were not looked at yet.
    changed: Option<(Instant, Instant)>,
    retry_at: Option<Instant>,
    stop: bool,
    state: KeeperState,
}

impl KeeperWake {
    pub fn call(&self, reason: WakeReason) {
        let mut inner = self.lock();
        match reason {
            WakeReason::Asked => inner.asked = true,
            WakeReason::Changed => {
                let now = Instant::now();
                let first = inner.changed.map_or(now, |(first, _)| first);
                inner.changed = Some((first, now));
            }
        }
        self.news.notify_all();
    }

    pub fn stop(&self) {
        self.lock().stop = true;
        self.news.notify_all();
    }

    /// For a sync: `Break` once it should stop.
    pub fn go_on(&self) -> ControlFlow<()> {
        match self.lock().stop {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Waits for a reason to work. `Break` means stop.
    pub fn wait(&self, quiet: Duration, interval: Option<Duration>) -> ControlFlow<()> {
        let start = Instant::now();
        let mut inner = self.lock();
        loop {
            if inner.stop {
                return ControlFlow::Break(());
            }
            let settled = inner
                .changed
                .map(|(first, last)| (last + quiet).min(first + quiet * MOST_WAITS));
            let due = interval.map(|interval| start + interval);
            let next = [settled, due, inner.retry_at].into_iter().flatten().min();
            let now = Instant::now();
            if inner.asked || next.is_some_and(|next| next <= now) {
                (inner.asked, inner.changed, inner.retry_at) = (false, None, None);
                inner.state.at_work = true;
                return ControlFlow::Continue(());
            }
            inner = match next {
                Some(next) => {
                    let waited = self.news.wait_timeout(inner, next - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .news
                    .wait(inner)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Notes what a sync did.
    pub fn done(&self, result: Result<SyncReport, StoreError>) {
        let mut inner = self.lock();
        inner.state.at_work = false;
        inner.state.syncs += 1;
        match result {
            Ok(report) => {
                if report.outcome == SyncOutcome::Busy {
                    inner.retry_at = Some(Instant::now() + AFTER_BUSY);
                }
                inner.state.problems = problems(&report);
                inner.state.last = Some(report);
            }
            Err(error) => inner.state.problems = vec![error.to_string()],
        }
        self.news.notify_all();
    }

    /// For making vectors: notes how far it is, and breaks off for what is more urgent.
    pub fn making(&self, done: usize, of: usize) -> ControlFlow<()> {
        let mut inner = self.lock();
        inner.state.vectors = VectorWork::Making { done, of };
        self.news.notify_all();
        match inner.stop || inner.asked || inner.changed.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Notes how making vectors ended.
    pub fn made(&self, result: Result<FillOutcome, StoreError>) {
        let mut inner = self.lock();
        let problem = match result {
            Ok(FillOutcome::Complete) => {
                inner.state.vectors = VectorWork::Complete;
                None
            }
            // It goes on after the sync it made way for.
            Ok(FillOutcome::Stopped | FillOutcome::Waiting { .. }) => None,
            Ok(FillOutcome::Failed { problem }) => Some(problem.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            inner.state.vectors = VectorWork::Failed;
            if !inner.state.problems.contains(&problem) {
                inner.state.problems.push(problem);
            }
        }
        self.news.notify_all();
    }

    pub fn note_problem(&self, problem: String) {
        self.lock().state.problems.push(problem);
    }

    pub fn state(&self) -> KeeperState {
        self.lock().state.clone()
    }

    pub fn wait_for(&self, syncs: u64, longest: Duration) -> bool {
        self.wait_while(longest, |inner| {
            let pending = inner.asked || inner.changed.is_some() || inner.state.at_work;
            inner.state.syncs < syncs || pending
        })
    }

    pub fn wait_until(&self, longest: Duration, is: impl Fn(&KeeperState) -> bool) -> bool {
        self.wait_while(longest, |inner| !is(&inner.state))
    }

    /// `false` when it takes longer.
    fn wait_while(&self, longest: Duration, not_yet: impl Fn(&Inner) -> bool) -> bool {
        let end = Instant::now() + longest;
        let mut inner = self.lock();
        loop {
            if !not_yet(&inner) {
                return true;
            }
            let now = Instant::now();
            if now >= end {
                return false;
            }
            let waited = self.news.wait_timeout(inner, end - now);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}
