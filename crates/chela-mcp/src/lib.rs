//! Which other tools are there? MCP servers as tools, and Chela as an MCP server.
//!
//! A server is described by a [`McpServerSpec`] and used through a [`McpPool`], which starts it in a
//! sandbox when it is first needed, speaks whichever era of the protocol it speaks, and ends it with the
//! process. What it says of its tools is text of a stranger: it is cleaned and cut once, kept on record
//! ([`McpRecord`]) and told from there, so that words that change change nothing until their owner has
//! read them. What a tool *does* is its owner's word ([`ToolEffects`]), never the server's.
//!
//! [`serve`] is the other side: requests of clients in, answers out, whatever carries them.
//!
//! Nothing here knows what a tool of an agent is, nor a prompt or a session.

// This crate reads bytes of strangers: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod challenge;
mod client;
mod era;
mod events_link;
mod http_link;
mod json_member;
mod link;
mod login;
mod message;
mod offer;
mod pool;
mod probe;
mod process;
mod program;
mod record;
mod schema_bounds;
mod secret_desk;
pub mod serve;
mod server_log;
mod spec;
mod sse;
mod stdio_link;

pub use client::{CallAnswer, ResultPiece, ServerAbout};
pub use era::{LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION};
pub use login::{KeptLogin, LoginAsk, LoginFault, LoginPrompt, LoginStanding, log_in};
pub use message::RpcError;
pub use offer::{
    PromptArgument, ServerPrompt, ServerResource, ServerTool, ToolHints, UnusableTool,
};
pub use pool::{McpPool, PoolAsk, PoolError, PooledTool, SlotStanding, tool_name};
pub use program::{OneShotAnswer, OneShotLimits, ProgramAsk, ProgramFault, WarmProgram, run_once};
pub use record::{
    AcceptedBy, FailedStart, HeldTool, HeldWhy, McpRecord, RecordChange, RecordError, ServerRecord,
    ToolRecord,
};
pub use secret_desk::SecretDesk;
pub use server_log::{log_path, read_log};
pub use spec::{
    HttpTransport, LoginSettings, McpEffect, McpServerSpec, ServerGrants, ServerPatience,
    ServerReach, ServerWalls, SpecFault, SpecValue, ToolEffects, ToolNameFilter, prefix_of,
    specs_of,
};
