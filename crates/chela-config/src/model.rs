//! Every key of the config file, one file per area.
//!
//! These types are the single source: the JSON Schema, the strict check, the reference page and
//! `config explain` are all made from them. A plain field has its default beside it; an
//! `Option` has none. The doc comment of a field is what users read about the key.

#[macro_use]
mod section;
mod agents;
mod bindings;
mod channels;
mod commands;
mod context;
mod cron;
mod diagnostics;
mod foreign;
mod gateway;
mod guard;
mod heartbeat;
mod hooks;
mod ledger;
mod limits;
mod mcp;
mod memory;
mod messages;
mod models;
mod plugins;
mod root;
mod sandbox;
mod session;
mod skills;
mod tools;
mod values;

pub use agents::*;
pub use bindings::*;
pub use channels::*;
pub use commands::*;
pub use context::*;
pub use cron::*;
pub use diagnostics::*;
pub use foreign::*;
pub use gateway::*;
pub use guard::*;
pub use heartbeat::*;
pub use hooks::*;
pub use ledger::*;
pub use limits::*;
pub use mcp::*;
pub use memory::*;
pub use messages::*;
pub use models::*;
pub use plugins::*;
pub use root::*;
pub use sandbox::*;
pub use session::*;
pub use skills::*;
pub use tools::*;
pub use values::*;
