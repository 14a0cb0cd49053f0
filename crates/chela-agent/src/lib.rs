//! One turn: assemble, call, act, record.
//!
//! Here the domain crates meet, and nowhere else. So far it assembles: config view, workspace
//! files and runtime facts become the prompt, and every question about that prompt - what is in
//! it, what it costs, why, what changed - is answered from the same spans.

pub mod agent;
pub mod assemble;
pub mod canary;
pub mod compact;
pub mod conversation;
pub mod diff;
pub mod file_trust;
pub mod halt;
mod installation_secret;
pub mod journal;
pub mod keeping;
pub mod knobs;
mod ledger_slot;
pub mod lint;
mod local;
pub mod reply;
pub mod report;
pub mod sandbox;
pub mod saved;
mod secrets;
pub mod security;
pub mod session;
pub mod skills;
pub mod slash;
pub mod subagents;
mod toolset;
pub mod trust;
pub mod turn;
pub mod vectors;
pub mod why;
pub mod withheld;
mod writes;

pub use local::Calendar;
pub use secrets::known as known_secrets;
pub use toolset::{ToolEffect, effects};
