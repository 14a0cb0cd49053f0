//! What can the agent do? The tools, and the processes they run.
//!
//! A tool is a [`Tool`]: its [`Spec`] says what the model is told and what the guard must know
//! (effect, sinks); running it gives an [`Output`] with labelled content for the model and
//! details for people. Tools do not decide policy: who may use which is [`policy`]'s answer, and
//! what needs a person's yes goes through an [`Approver`].

mod approver;
mod effect;
mod output;
mod tool;

pub use approver::{Approval, ApprovalRequest, Approver, Headless};
pub use effect::{Effect, Sink, SinkKind};
pub use output::{Output, Piece, Success};
pub use tool::{Call, Progress, Running, Spec, Tool};
