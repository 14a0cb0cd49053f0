//! `sessions_spawn`, `subagents`, `sessions_send`: work handed to others, over whoever starts
//! them.

mod children;
mod send;
mod spawn;

use std::pin::Pin;
use std::sync::Arc;

use chela_core::{SessionKey, Trust};

use crate::Tool;
use crate::sessions::SessionToolset;

/// Whoever starts sub-agents for one session, and carries messages to other sessions. What a
/// caller may start or reach is its decision; which sessions exist for the caller is the tools'.
pub trait ChildSpawner: Send + Sync {
    /// Starts a sub-agent and returns at once. Called from a thread that may wait.
    fn spawn(&self, ask: SpawnAsk) -> Result<SpawnReceipt, SpawnRefused>;

    /// The sub-agents of this session: those that run, and those that ended lately.
    fn runs(&self) -> Vec<RunRow>;

    /// Says something to a sub-agent that runs.
    fn steer(&self, run: &str, text: &str) -> Result<String, SpawnRefused>;

    /// Ends one sub-agent, or all. Gives the ids of those that ran.
    fn kill(&self, which: WhichChildren<'_>) -> Result<Vec<String>, SpawnRefused>;

    /// Writes to another session.
    fn send(&self, ask: SendAsk) -> SendFuture<'_>;
}

pub type SendFuture<'a> =
    Pin<Box<dyn Future<Output = Result<SendOutcome, SpawnRefused>> + Send + 'a>>;

/// Why nothing was started or sent, written for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpawnRefused(pub String);

/// Which sub-agents are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichChildren<'a> {
    /// By run id, label or session key.
    One(&'a str),
    All,
}

/// A sub-agent that is wanted. What is left open follows from the caller and the config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpawnAsk {
    pub task: String,
    pub label: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<String>,
    pub timeout_seconds: Option<u64>,
    pub context: ChildContext,
    pub cleanup: ChildCleanup,
}

/// What a sub-agent knows of the conversation it comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChildContext {
    /// Its task alone.
    #[default]
    Isolated,
    /// The conversation so far.
    Fork,
}

/// What becomes of the session of a sub-agent that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChildCleanup {
    #[default]
    Keep,
    Delete,
}

/// A sub-agent that was started, and all it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnReceipt {
    pub run: String,
    pub session: SessionKey,
    pub agent: String,
    /// `provider/model`.
    pub model: String,
    pub context: String,
    pub tools: Vec<String>,
    /// Folders its file tools reach.
    pub paths: Vec<String>,
    /// Workspace files in its prompt.
    pub files: Vec<String>,
    pub budget: Vec<String>,
    /// How far what it is told is trusted.
    pub trust: Trust,
    pub depth: usize,
    pub deepest: usize,
    /// What is not as it was asked for.
    pub warnings: Vec<String>,
}

/// A sub-agent in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub run: String,
    pub session: SessionKey,
    pub label: String,
    /// `running`, `queued`, or how it ended.
    pub status: String,
    pub seconds: u64,
    /// What it does now.
    pub doing: Option<String>,
}

impl RunRow {
    /// Whether it has not ended.
    pub fn is_live(&self) -> bool {
        matches!(self.status.as_str(), "running" | "queued")
    }
}

/// A message for another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendAsk {
    pub session: SessionKey,
    pub text: String,
    /// How long to wait for an answer; 0: not at all.
    pub timeout_seconds: u64,
}

/// What came of a message to another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// Nobody waits for an answer.
    Sent,
    Reply {
        text: String,
        trust: Trust,
    },
    /// The other session has nothing to say: that is the end of it.
    NoReply,
    /// No answer yet; the other session goes on.
    Timeout,
}

/// Starts nobody: for looking at tools only.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSpawner;

impl ChildSpawner for NoSpawner {
    fn spawn(&self, _: SpawnAsk) -> Result<SpawnReceipt, SpawnRefused> {
        Err(nobody())
    }

    fn runs(&self) -> Vec<RunRow> {
        Vec::new()
    }

    fn steer(&self, _: &str, _: &str) -> Result<String, SpawnRefused> {
        Err(nobody())
    }

    fn kill(&self, _: WhichChildren<'_>) -> Result<Vec<String>, SpawnRefused> {
        Err(nobody())
    }

    fn send(&self, _: SendAsk) -> SendFuture<'_> {
        Box::pin(std::future::ready(Err(nobody())))
    }
}

fn nobody() -> SpawnRefused {
    SpawnRefused("No other session can be reached from here.".to_owned())
}

pub(crate) fn tools(
    spawner: &Arc<dyn ChildSpawner>,
    sessions: &Arc<SessionToolset>,
) -> Vec<Arc<dyn Tool>> {
    vec![
        send::tool(spawner, sessions),
        spawn::tool(spawner),
        children::tool(spawner),
    ]
}

#[cfg(test)]
mod tests;
