//! Sub-agents: conversations that a conversation starts, and that never have more than it has.
//!
//! A sub-agent is a [`Conversation`] of its own, run as a task beside its parent. What it may
//! have is a [`Grant`], kept with its session. Its start and its end are marked on disk in the
//! parent's session, and the end is told to the parent's model with the next message, or between
//! two steps of a turn that runs. Sub-agents end with the conversation that started them.

mod budget;
mod child;
mod grant;
mod mark;
mod news;
mod relay;
mod send;
mod spawn;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chela_core::SessionKey;
use chela_tools::{Refused, RunRow, Spawner, Which};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::agent::Agents;
use crate::conversation::Conversation;
use crate::turn::Surface;

pub(crate) use budget::job_of;
pub use grant::{Grant, Payer, Share};
pub(crate) use news::{Told, joined};
use relay::Desk;
pub(crate) use spawn::kept_grant;
use spawn::{Nest, paths_of};

/// Ended runs that are still listed.
const LISTED: usize = 20;

/// Tools that are about folders. A sub-agent whose folders are not its parent's has none of them.
const FOLDER_TOOLS: [&str; 12] = [
    "read",
    "write",
    "edit",
    "apply_patch",
    "grep",
    "find",
    "ls",
    "exec",
    "process",
    "memory_search",
    "memory_get",
    "image",
];

/// Tools of those who have sub-agents.
const SPAWNER_TOOLS: [&str; 4] = [
    "sessions_spawn",
    "subagents",
    "sessions_list",
    "sessions_history",
];

/// The sub-agents of one conversation; they end when it is dropped.
pub(crate) struct Children(pub Arc<Runs>);

impl Drop for Children {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Who runs for a conversation. Shared with the tasks that run.
#[derive(Default)]
pub(crate) struct Runs {
    state: Mutex<State>,
    /// An end was marked on disk since the model last heard.
    news: AtomicBool,
    changed: Notify,
    pub desk: Desk,
}

#[derive(Default)]
struct State {
    live: Vec<Run>,
    ended: VecDeque<RunRow>,
    /// Messages to other sessions that are under way.
    sending: Vec<AbortHandle>,
    /// The tools the parent's model was told of.
    offered: BTreeSet<String>,
    /// The parent's turn that runs, or ran last.
    turn: String,
    /// The conversation is gone: nothing starts any more.
    closed: bool,
}

struct Run {
    id: String,
    key: SessionKey,
    label: String,
    began: u64,
    doing: Option<String>,
    talk: Arc<Conversation>,
    kill: Arc<Notify>,
    task: AbortHandle,
}

impl Runs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the parent's model may use now, for what its children may have.
    pub fn offer(&self, tools: impl Iterator<Item = String>) {
        self.state().offered = tools.collect();
    }

    pub fn turn_began(&self, turn: &str) {
        turn.clone_into(&mut self.state().turn);
    }

    fn doing(&self, run: &str, what: String) {
        if let Some(run) = self.state().live.iter_mut().find(|live| live.id == run) {
            run.doing = Some(what);
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
            status: "running".to_owned(),
            seconds: now.saturating_sub(run.began) / 1_000,
            doing: run.doing.clone(),
        });
        live.chain(state.ended.iter().cloned()).collect()
    }

    fn steer(&self, name: &str, text: &str) -> Result<String, Refused> {
        let state = self.state();
        let run = state
            .live
            .iter()
            .find(|run| run.is_called(name))
            .ok_or_else(|| not_running(name))?;
        run.talk.steer(text);
        Ok(run.id.clone())
    }

    fn kill(&self, which: Which<'_>) -> Result<Vec<String>, Refused> {
        let state = self.state();
        let meant = state.live.iter().filter(|run| match which {
            Which::All => true,
            Which::One(name) => run.is_called(name),
        });
        let killed: Vec<String> = meant
            .map(|run| {
                run.kill.notify_one();
                run.id.clone()
            })
            .collect();
        match which {
            Which::One(name) if killed.is_empty() => Err(not_running(name)),
            _ => Ok(killed),
        }
    }

    /// Ends all, in order: each says that it was stopped.
    pub fn stop(&self) {
        let _ = self.kill(Which::All);
    }

    /// Ends all at once: nobody is there to be told.
    fn close(&self) {
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
        // Each holds its conversation, which ends its own sub-agents.
        let gone = (
            std::mem::take(&mut state.live),
            std::mem::take(&mut state.sending),
        );
        drop(state);
        drop(gone);
    }

    /// A message is under way.
    fn sending(&self, task: AbortHandle) {
        let mut state = self.state();
        state.sending.retain(|task| !task.is_finished());
        state.sending.push(task);
    }

    /// A run is over, whatever way.
    fn left(&self, run: &str, row: Option<RunRow>) {
        let mut state = self.state();
        let at = state.live.iter().position(|live| live.id == run);
        let gone = at.map(|at| state.live.remove(at));
        if let Some(row) = row {
            state.ended.push_front(row);
            state.ended.truncate(LISTED);
        }
        drop(state);
        drop(gone);
        self.news.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Whether an end was marked since this was asked last.
    pub fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::SeqCst)
    }

    /// Waits until a run has ended that nobody was told of, or none runs.
    async fn until_news(&self) {
        loop {
            let changed = self.changed.notified();
            if self.news.load(Ordering::SeqCst) || self.running() == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Waits until none runs.
    async fn until_quiet(&self) {
        loop {
            let changed = self.changed.notified();
            if self.running() == 0 {
                return;
            }
            changed.await;
        }
    }
}

impl Run {
    fn is_called(&self, name: &str) -> bool {
        self.id == name || self.label == name || self.key.to_string() == name
    }
}

fn not_running(name: &str) -> Refused {
    Refused(format!(
        "No sub-agent `{name}` runs. `subagents list` shows which there are."
    ))
}

/// A place among those that run in this process, given back when it is dropped.
struct Seat {
    agents: Arc<Agents>,
    runs: Arc<Runs>,
    run: String,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.agents
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.run);
        self.runs.left(&self.run, None);
    }
}

impl Conversation {
    /// What starts sub-agents for this conversation.
    pub(crate) fn nest(&self) -> Arc<dyn Spawner> {
        Arc::new(Nest {
            agents: Arc::clone(&self.agents),
            view: self.view.clone(),
            key: self.key.clone(),
            sessions: Arc::clone(&self.sessions),
            ask: self.ask.clone(),
            grant: self.grant.clone(),
            runs: Arc::clone(&self.children.0),
            seen: Arc::clone(&self.seen),
        })
    }

    /// Whether a tool is within what this session was given.
    pub(crate) fn is_granted(&self, tool: &str) -> bool {
        let paths = paths_of(&self.agents.loaded, &self.view);
        let is_leaf = self.key.is_subagent() && self.grant.levels() == 0;
        self.grant.allows_tool(tool)
            && (!FOLDER_TOOLS.contains(&tool) || self.grant.allows_paths(paths.as_ref()))
            && !(is_leaf && SPAWNER_TOOLS.contains(&tool))
    }

    /// How many sub-agents run for this conversation.
    pub fn subagents_running(&self) -> usize {
        self.children.0.running()
    }

    /// Waits until a sub-agent has ended that the model has not heard of, or until none runs;
    /// `surface` is asked what the sub-agents ask. The next message tells the model.
    pub async fn until_news(&self, surface: &dyn Surface) {
        let runs = &self.children.0;
        tokio::select! {
            biased;
            never = runs.desk.relay(surface) => match never {},
            () = runs.until_news() => {}
        }
    }
}
