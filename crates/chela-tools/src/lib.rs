//! What can the agent do? The tools, and the processes they run.
//!
//! A tool is a [`Tool`]: its [`Spec`] says what the model is told and what the guard must know
//! (effect, sinks); running it gives an [`Output`] with labelled content for the model and
//! details for people. Tools do not decide policy: who may use which is [`policy`]'s answer, and
//! what needs a person's yes goes through an [`Approver`]. The [`Toolbox`] holds the tools of one
//! session.

mod blocking;
mod elevated;
mod files;
mod foresight;
pub mod handles;
mod journal;
mod local_time;
mod memory;
mod output;
mod plan;
mod sessions;
mod sessions_view;
mod spec;
mod subagents;
mod tool;
mod toolbox;

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

pub use bound::Bound;
pub use chela_guard::approval::{Answer, Approver, Headless, Question, Scope};
pub use chela_guard::{Effect, Sink, SinkKind};
pub use elevated::{Elevation, ElevationAsk, ElevationWho, elevation};
#[doc(hidden)]
pub use files::patched;
pub use files::{ImageInput, MOST_FILE_BYTES, picture_mime};
pub use foresight::{CallTarget, CallWrites, FilePreview, ToolNeed, WriteExtent};
pub use journal::{ChangeId, FileChange, Journal};
pub use local_time::local_time;
pub use memory::MemoryAccess;
pub use output::{Output, Piece, Success};
pub use plan::{Plan, Step, StepStatus};
pub use policy::{Policy, PolicyAsk, Sandboxed, Sender, Verdict};
pub use sessions_view::{
    AgentRow, HistoryAsk, HistoryMessage, HistoryPage, NoSessions, SessionRow, SessionsError,
    SessionsView, StatusCard, ToolMessages,
};
pub use spec::Spec;
pub use subagents::{
    Answered, Cleanup, Context, NoSpawner, Receipt, Refused, RunRow, SendAsk, Sending, SpawnAsk,
    Spawner, Which,
};
pub use tool::{Call, Progress, Prospect, Running, Tool};
pub use toolbox::SECRETS;
pub use toolbox::{
    ModelFacts, Prepared, ToolNameError, Toolbox, ToolboxSettings, check_own_names, places,
};

#[cfg(test)]
mod testing;
