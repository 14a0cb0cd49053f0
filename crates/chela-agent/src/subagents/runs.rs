//! Who runs for a conversation, and who ended lately.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use chela_core::{SessionKey, lock};
use chela_tools::{RunRow, SpawnRefused, WhichChildren};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::relay::QuestionRelay;
use crate::turn_control::TurnControl;

/// Ended runs that are still listed.
const LISTED: usize = 20;

/// Who runs for a conversation. Shared with the tasks that run.
#[derive(Default)]
pub(crate) struct RunningChildren {
    state: Mutex<State>,
    /// An end was marked on disk since the model last heard.
    news: AtomicBool,
    changed: Notify,
    pub desk: QuestionRelay,
}

/// Whether the model is to hear of an end as soon as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TellWhen {
    AtOnce,
    /// With whatever is said next: nobody waits for it.
    Later,
}

#[derive(Default)]
struct State {
    live: Vec<RunEntry>,
    ended: VecDeque<RunRow>,
    /// Messages to other sessions that are under way.
    sending: Vec<AbortHandle>,
    /// The tools the parent's model was told of.
    offered: BTreeSet<String>,
    /// The parent's turn that runs, or ran last.
    turn: String,
    /// Ends the model is to hear of at once, for people.
    waking: Vec<String>,
    /// The conversation is gone: nothing starts any more.
    closed: bool,
}

pub(crate) struct RunEntry {
    pub id: String,
    pub key: SessionKey,
    pub label: String,
    pub began: u64,
    /// It works, and does not wait for a place.
    pub seated: bool,
    pub doing: Option<String>,
    pub control: Arc<TurnControl>,
    pub kill: Arc<Notify>,
    pub task: AbortHandle,
}

impl RunningChildren {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// What the parent's model may use now, for what its children may have.
    pub fn offer(&self, tools: impl Iterator<Item = String>) {
        self.state().offered = tools.collect();
    }

    /// The tools the parent's model was told of, and its turn.
    pub fn offered(&self) -> (BTreeSet<String>, String) {
        let state = self.state();
        (state.offered.clone(), state.turn.clone())
    }

    /// Starts a run, unless the conversation is gone. Says whether it did.
    pub fn begin(&self, start: impl FnOnce() -> RunEntry) -> bool {
        let mut state = self.state();
        if !state.closed {
            state.live.push(start());
        }
        !state.closed
    }

    pub fn turn_began(&self, turn: &str) {
        turn.clone_into(&mut self.state().turn);
    }

    pub fn doing(&self, run: &str, what: String) {
        if let Some(run) = self.state().live.iter_mut().find(|live| live.id == run) {
            run.doing = Some(what);
        }
    }

    /// Whether a run works, or waits for a place.
    pub fn seated(&self, run: &str, seated: bool) {
        if let Some(run) = self.state().live.iter_mut().find(|live| live.id == run) {
            run.seated = seated;
        }
    }

    /// How many run now.
    pub fn running(&self) -> usize {
        self.state().live.len()
    }

    pub fn rows(&self, now: u64) -> Vec<RunRow> {
        let state = self.state();
        let live = state.live.iter().map(|run| RunRow {
            run: run.id.clone(),
            session: run.key.clone(),
            label: run.label.clone(),
            status: match run.seated {
                true => "running".to_owned(),
                false => "queued".to_owned(),
            },
            seconds: now.saturating_sub(run.began) / 1_000,
            doing: run.doing.clone(),
        });
        live.chain(state.ended.iter().cloned()).collect()
    }

    pub fn steer(&self, name: &str, text: &str) -> Result<String, SpawnRefused> {
        let state = self.state();
        let run = state
            .live
            .iter()
            .find(|run| run.is_called(name))
            .ok_or_else(|| not_running(name))?;
        run.control.steer(text.into());
        Ok(run.id.clone())
    }

    pub fn kill(&self, which: WhichChildren<'_>) -> Result<Vec<String>, SpawnRefused> {
        let state = self.state();
        let meant = state.live.iter().filter(|run| match which {
            WhichChildren::All => true,
            WhichChildren::One(name) => run.is_called(name),
        });
        let killed: Vec<String> = meant
            .map(|run| {
                run.kill.notify_one();
                run.id.clone()
            })
            .collect();
        match which {
            WhichChildren::One(name) if killed.is_empty() => Err(not_running(name)),
            _ => Ok(killed),
        }
    }

    /// Ends all, in order: each says that it was stopped.
    pub fn stop(&self) {
        // Only one that is named can be missing.
        let _ = self.kill(WhichChildren::All);
    }

    /// Ends all at once: nobody is there to be told.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for task in state
            .live
            .iter()
            .map(|run| &run.task)
            .chain(state.sending.iter())
        {
            task.abort();
        }
        // Their tasks hold the conversations, which end their own sub-agents.
        let gone = (
            std::mem::take(&mut state.live),
            std::mem::take(&mut state.sending),
        );
        drop(state);
        drop(gone);
    }

    /// A message is under way.
    pub fn sending(&self, task: AbortHandle) {
        let mut state = self.state();
        state.sending.retain(|task| !task.is_finished());
        state.sending.push(task);
    }

    /// A run is over, whatever way.
    pub fn note_end(&self, run: &str, ended: Option<(RunRow, TellWhen)>) {
        let mut state = self.state();
        let at = state.live.iter().position(|live| live.id == run);
        let gone = at.map(|at| state.live.remove(at));
        if let Some((row, tell)) = ended {
            if tell == TellWhen::AtOnce {
                let end = format!("sub-agent `{}` has ended ({})", row.label, row.status);
                state.waking.push(end);
            }
            state.ended.push_front(row);
            state.ended.truncate(LISTED);
        }
        drop(state);
        drop(gone);
        self.news.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Ends the model is to hear of at once, for people; none once they are told.
    pub fn waking(&self) -> Vec<String> {
        self.state().waking.clone()
    }

    /// The model has been told.
    pub fn mark_told(&self) {
        self.state().waking.clear();
    }

    /// Waits until the model is to hear of an end at once.
    pub async fn until_waking(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.state().waking.is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Waits until the model is to hear of an end at once, or none runs.
    pub async fn until_waking_or_quiet(&self) {
        tokio::select! {
            () = self.until_waking() => {}
            () = self.until_quiet() => {}
        }
    }

    /// Whether an end was marked since this was asked last.
    pub fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::SeqCst)
    }

    /// Waits until a run has ended that nobody was told of, or none runs.
    pub async fn until_news(&self) {
        loop {
            let changed = self.changed.notified();
            if self.news.load(Ordering::SeqCst) || self.running() == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Waits until none runs.
    pub async fn until_quiet(&self) {
        loop {
            let changed = self.changed.notified();
            if self.running() == 0 {
                return;
            }
            changed.await;
        }
    }
}

impl RunEntry {
    fn is_called(&self, name: &str) -> bool {
        self.id == name || self.label == name || self.key.to_string() == name
    }
}

fn not_running(name: &str) -> SpawnRefused {
    SpawnRefused(format!(
        "No sub-agent `{name}` runs. `subagents list` shows which there are."
    ))
}
