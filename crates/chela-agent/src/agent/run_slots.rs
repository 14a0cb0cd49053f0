//! Places for sub-agents: at most `maxConcurrent` work at once in a process, the others wait in
//! the order they came.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard};

use chela_core::{SessionForm, SessionKey, lock};
use tokio::sync::Notify;

use super::Agents;

/// Who works and who waits, in this process.
#[derive(Debug, Default)]
pub(crate) struct RunSlots {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Started and not ended.
    alive: BTreeSet<String>,
    seated: BTreeSet<String>,
    /// Those who wait, and how many may work at once as far as each is concerned.
    waiting: VecDeque<(String, usize)>,
}

impl RunSlots {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether a run was started here and has not ended.
    pub fn is_alive(&self, run: &str) -> bool {
        self.state().alive.contains(run)
    }

    pub fn start(&self, run: &str) {
        self.state().alive.insert(run.to_owned());
    }

    /// How many work and how many wait, where one who may work with `most` at once has to wait.
    pub fn has_to_wait(&self, most: usize) -> Option<(usize, usize)> {
        let state = self.state();
        let (working, waiting) = (state.seated.len(), state.waiting.len());
        (waiting > 0 || working >= most).then_some((working, waiting))
    }

    /// Waits for a place.
    pub async fn take(&self, run: &str, most: usize) {
        self.state().waiting.push_back((run.to_owned(), most));
        loop {
            let freed = self.freed.notified();
            {
                let mut state = self.state();
                if state.is_next(run) {
                    state.waiting.retain(|(waits, _)| waits != run);
                    state.seated.insert(run.to_owned());
                    break;
                }
            }
            freed.await;
        }
        // Whoever comes next may find a place too.
        self.freed.notify_waiters();
    }

    /// Gives a place back, or waits for none any more.
    pub fn leave(&self, run: &str) {
        {
            let mut state = self.state();
            state.seated.remove(run);
            state.waiting.retain(|(waits, _)| waits != run);
        }
        self.freed.notify_waiters();
    }

    pub fn end(&self, run: &str) {
        self.state().alive.remove(run);
        self.leave(run);
    }
}

impl State {
    /// Whether the next place is this one's.
    fn is_next(&self, run: &str) -> bool {
        let taken = self.seated.len();
        self.waiting
            .iter()
            .find(|(_, most)| taken < *most)
            .is_some_and(|(first, _)| first == run)
    }
}

impl Agents {
    /// Whether the sub-agent of a session runs in this process.
    pub(super) fn is_running(&self, key: &SessionKey) -> bool {
        match &key.form {
            SessionForm::Subagent { chain, .. } => {
                chain.last().is_some_and(|run| self.seats.is_alive(run))
            }
            _ => false,
        }
    }
}
