//! Places for sub-agents: at most `maxConcurrent` work at once in a process, the others wait in
//! the order they came.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chela_core::{SessionForm, SessionKey};
use tokio::sync::Notify;

use super::runs::Runs;
use crate::agent::Agents;

/// Who works and who waits, in this process.
#[derive(Debug, Default)]
pub(crate) struct Seats {
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

impl Seats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a run was started here and has not ended.
    pub fn is_alive(&self, run: &str) -> bool {
        self.state().alive.contains(run)
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
    pub(crate) fn is_running(&self, key: &SessionKey) -> bool {
        match &key.form {
            SessionForm::Subagent { chain, .. } => {
                chain.last().is_some_and(|run| self.seats.is_alive(run))
            }
            _ => false,
        }
    }
}

/// A run's place, had or waited for. Given back when it is dropped.
pub(super) struct Seat {
    agents: Arc<Agents>,
    pub runs: Arc<Runs>,
    run: String,
    /// How many may work at once.
    most: usize,
}

impl Seat {
    pub fn new(agents: Arc<Agents>, runs: Arc<Runs>, run: &str, most: usize) -> Self {
        agents.seats.state().alive.insert(run.to_owned());
        Self {
            agents,
            runs,
            run: run.to_owned(),
            most: most.max(1),
        }
    }

    /// What to say about a run that cannot begin at once.
    pub fn has_to_wait(&self) -> Option<String> {
        let state = self.agents.seats.state();
        let ahead = state.waiting.len();
        (ahead > 0 || state.seated.len() >= self.most).then(|| {
            format!(
                "it waits: {} sub-agents run at the moment, which is the most (`maxConcurrent`), and {ahead} wait before it",
                state.seated.len()
            )
        })
    }

    /// Waits for a place.
    pub async fn take(&self) {
        let seats = &self.agents.seats;
        seats
            .state()
            .waiting
            .push_back((self.run.clone(), self.most));
        loop {
            let freed = seats.freed.notified();
            {
                let mut state = seats.state();
                if state.is_next(&self.run) {
                    state.waiting.retain(|(run, _)| *run != self.run);
                    state.seated.insert(self.run.clone());
                    break;
                }
            }
            freed.await;
        }
        // Whoever comes next may find a place too.
        seats.freed.notify_waiters();
        self.runs.seated(&self.run, true);
    }

    /// Lets others work while this one waits for its own sub-agents: they need places too.
    pub fn give_back(&self) {
        self.leave();
        self.runs.seated(&self.run, false);
    }

    fn leave(&self) {
        let seats = &self.agents.seats;
        {
            let mut state = seats.state();
            state.seated.remove(&self.run);
            state.waiting.retain(|(run, _)| *run != self.run);
        }
        seats.freed.notify_waiters();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.agents.seats.state().alive.remove(&self.run);
        self.leave();
        self.runs.left(&self.run, None);
    }
}
