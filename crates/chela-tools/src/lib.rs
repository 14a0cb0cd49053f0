//! What can the agent do? The tools, and the processes they run.
//!
//! A tool is a [`Tool`]: its [`ToolSpec`] says what the model is told and what the guard must know
//! (effect, sinks); running it gives an [`ToolOutput`] with labelled content for the model and
//! details for people. Tools do not decide policy: who may use which is [`policy`]'s answer, and
//! what needs a person's yes goes through an [`Approver`]. The [`Toolbox`] holds the tools of one
//! session.

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod blocking;
mod cron;
mod elevated;
mod files;
mod foresight;
pub mod handles;
mod journal;
mod local_time;
mod memory;
mod offer;
mod output;
mod plan;
mod sessions;
mod sessions_view;
mod spec;
mod subagents;
mod tool;
mod toolbox;
mod tools_find;

pub mod approvals;
pub mod bound;
pub mod exec;
#[doc(hidden)]
pub mod fuzzing;
pub mod place;
pub mod policy;
pub mod process;
pub mod schema;
pub mod web;

pub use bound::OutputBound;
pub use chela_guard::approval::{
    ApprovalChoice, ApprovalQuestion, ApprovalScope, Approver, HeadlessApprover, OwnerAnswer,
    OwnerPresence,
};
pub use chela_guard::{CallSink, CallTarget, Effect, SinkKind};
pub use cron::{JobsAccess, JobsFile, TrustNow};
pub use elevated::{ElevationAsk, ElevationRequester, ElevationState, elevation};
#[doc(hidden)]
pub use files::patched;
pub use files::{ImageInput, MOST_FILE_BYTES, picture_mime};
pub use foresight::{CallWrites, FilePreview, ToolNeed, WriteExtent};
pub use journal::{ChangeId, ChangeJournal, FileChange};
pub use local_time::local_time;
pub use memory::MemoryAccess;
pub use offer::OfferedTool;
pub use output::{CallSuccess, OutputPiece, REFUSED, ToolOutput, offered_tools};
pub use plan::{PlanStep, SessionPlan, StepStatus};
pub use policy::{PolicyAsk, PolicyVerdict, SandboxChoice, Sender, ToolRules, tools_closed};
pub use sessions::SessionCompany;
pub use sessions_view::{
    AgentRow, HistoryAsk, HistoryMessage, HistoryPage, NoSessions, SessionRow, SessionsError,
    SessionsView, StatusCard, ToolMessages,
};
pub use spec::ToolSpec;
pub use subagents::{
    ChildCleanup, ChildContext, ChildSpawner, NoSpawner, RunRow, SendAsk, SendFuture, SendOutcome,
    SpawnAsk, SpawnReceipt, SpawnRefused, WhichChildren,
};
pub use tool::{
    AnyRedirect, CallFuture, CallProgress, CallProspect, RedirectFuture, RedirectJudge, RunCall,
    Tool, ToolOffer,
};
pub use toolbox::SECRETS;
pub use toolbox::{
    ModelFacts, PreparedCall, ToolNameError, Toolbox, ToolboxSettings, check_own_name,
    check_own_names, places,
};
pub use tools_find::tool_card;

#[cfg(test)]
mod testing;
