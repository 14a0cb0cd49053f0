//! What may be trusted, and what may happen.
//!
//! Text that a tool brings back carries a label from the moment it exists: [`Labelled`] is the
//! only form in which it can reach a model, and the only way to make one of foreign text wraps
//! it. Where the words of a call come from decides what may happen: [`flow`]. Nothing here reads
//! a file, a clock or a socket.

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

pub mod approval;
mod effect;
mod external;
mod label;

pub mod detect;
pub mod flow;

pub use effect::{Effect, Sink, SinkKind};
pub use external::{
    BlockNotice, ExternalSource, Findings, NOTICE, Wrapped, clean, wrap, wrap_with,
};
pub use label::Labelled;
