//! What may be trusted, and what may happen.
//!
//! Text that a tool brings back carries a label from the moment it exists: [`LabelledText`] is the
//! only form in which it can reach a model, and the only way to make one of foreign text wraps
//! it. Where the words of a call come from decides what may happen: [`flow`]. Nothing here reads
//! a file, a clock or a socket.

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod address;
pub mod approval;
mod effect;
mod external;
mod invisible;
mod label;
mod self_running;
mod target;

pub mod detect;
pub mod flow;

pub use address::{AddressFault, WebAddress};
pub use effect::{CallSink, Effect, SinkKind};
pub use external::{ExternalSource, NOTICE, WrapFindings, clean, without_markers, wrap};
pub use label::LabelledText;
pub use self_running::{RunsWhen, may_run_somewhere, runs_when, runs_when_made};
pub use target::{CallTarget, SecretLook};
