//! Sub-agents: what they may have, who of them runs, and what is told of their ends.
//!
//! A sub-agent is a conversation of its own, run as a task beside its parent; the conversation
//! starts it. What it may have is a [`SessionGrant`], kept with its session. Its start and its end are
//! marked on disk in the parent's session, and the end is told to the parent's model with the
//! next message, or between two steps of a turn that runs.

mod grant;
mod mark;
mod news;
mod relay;
mod run_slot;
mod runs;

pub use grant::{ChildShare, SessionGrant, SpendingPayer};
pub(crate) use mark::{RunMark, RunState, RunStatus};
pub(crate) use news::{UntoldRuns, joined};
pub(crate) use relay::ParentSurface;
pub(crate) use run_slot::RunSlot;
pub(crate) use runs::{RunEntry, RunningChildren, TellWhen};
