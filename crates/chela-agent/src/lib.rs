//! One turn: assemble, call, act, record.
//!
//! Here the domain crates meet, and nowhere else: config view, workspace files and runtime facts
//! become a prompt, a model answers it, tools act inside what the guard allows, and everything is
//! kept. Live turns, previews and reports all come through the same [`assemble`].

pub mod agent;
mod agent_memory;
pub mod assemble;
mod audited;
pub mod canary;
pub mod compact;
pub mod conversation;
pub mod file_trust;
pub mod halt;
pub mod hooks;
mod installation_secret;
pub mod keeping;
pub mod knobs;
mod ledger_slot;
pub mod leftovers;
mod local;
pub mod machine;
pub mod prelude;
pub mod sandbox;
mod secrets;
mod session_transcripts;
pub mod skills;
pub mod slash;
mod stores;
pub mod subagents;
mod toolset;
pub mod trust;
pub mod turn;
pub mod vectors;
pub mod withheld;
mod writes;

pub use audited::audit_ground;
pub use local::Calendar;
pub use secrets::known as known_secrets;
pub use stores::store_ground;
pub use toolset::{ToolEffect, effects};
