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
mod runs;
mod seat;
mod send;
mod spawn;

use std::sync::Arc;

use chela_tools::{Spawner, Tool, ToolNeed};

use crate::conversation::Conversation;
use crate::turn::Surface;

pub(crate) use budget::job_of;
pub use grant::{Grant, Payer, Share};
pub(crate) use news::{Told, joined};
pub(crate) use runs::Runs;
pub(crate) use seat::Seats;
pub(crate) use spawn::kept_grant;
use spawn::{Nest, paths_of};

/// The sub-agents of one conversation; they end when it is dropped.
pub(crate) struct Children(pub Arc<Runs>);

impl Drop for Children {
    fn drop(&mut self) {
        self.0.close();
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

    /// Whether a tool is within what this session was given. A sub-agent whose folders are not its
    /// parent's has no tool that is about folders, and one that may start none has no tool of
    /// those who have sub-agents.
    pub(crate) fn is_granted(&self, tool: &dyn Tool) -> bool {
        let paths = paths_of(&self.agents.loaded, &self.view);
        let is_leaf = self.key.is_subagent() && self.grant.levels() == 0;
        let needs = tool.needs();
        self.grant.allows_tool(&tool.spec().name)
            && (!needs.contains(&ToolNeed::Folders) || self.grant.allows_paths(paths.as_ref()))
            && !(is_leaf && needs.contains(&ToolNeed::Children))
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
