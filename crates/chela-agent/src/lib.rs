//! One turn: assemble, call, act, record.
//!
//! Here all domain crates meet: config view, workspace files and runtime facts become a prompt, a
//! model answers it, tools act inside what the guard allows, and everything is kept. Live turns,
//! previews and reports all come through the same [`assemble`].
//!
//! The modules stand on each other in one direction, from the top:
//!
//! - [`conversation`]: a session held open, what happens before and after a turn, the start of
//!   sub-agents; [`slash`]: commands, against what a conversation lets them see.
//! - [`turn`]: one turn, with [`turn::TurnError`] and what it tells whoever watches.
//! - The parts a turn takes: `context_builder` (what a model is sent), `background` (commands and
//!   sub-agents), `file_custody` (who changed which file), `guarding` (what was read, the rules),
//!   `transcript` (the session), `scope` (whose conversation it is), `turn_control` (steer, stop).
//! - [`subagents`]: what they may have, who of them runs; [`agent`]: the agents of a config.
//!
//! Where to look: a message is accepted in `turn/accept_message.rs`; a turn waits for another
//! process in `conversation/wait_for_lane.rs`; room to spend is asked for in
//! `turn/reserve_spending.rs`, reserved in `turn/recorder.rs` and decided about in the ledger
//! (`chela-ledger/src/spend/reserve.rs`); how far a file is trusted that a call has changed is said
//! in `file_custody/changed_file_trust.rs`, and of one that somebody else changed it is judged in
//! `chela-workspace/src/trust/judgement.rs`, asked through its `custody.rs`; the output of a command is relabelled in
//! `turn/output_taint.rs`; the transcript becomes messages in `context_builder/pruning.rs`.
//!
//! And for what a model reads and may do: why a file was left out of the prompt is decided in
//! `chela-workspace/src/load.rs` (each file's `FileStatus`; its `budget.rs` shares out the room) and
//! answered by `chela-inspect/src/why.rs`; which tools a model gets is decided in
//! `chela-tools/src/toolbox/build.rs`, step by step in its `policy/steps.rs`, from what `toolset.rs`
//! gives it; what one call may do is said by the tool (`Tool::prospect`), gathered in
//! `turn/guard/judged_call.rs`, decided in `chela-guard/src/flow/decide.rs`, and for commands
//! besides in `chela-tools/src/approvals/gate.rs`; the owner is asked in `turn/guard/asking.rs`.

// This crate reads bytes of others: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

pub mod agent;
mod agent_memory;
pub mod assemble;
mod audited;
mod background;
mod blocking_work;
mod bootstrap_pending;
pub mod caller_tokens;
pub mod canary;
mod command_overlap;
mod command_reach;
pub mod compact;
mod context_builder;
pub mod conversation;
mod documentation;
mod entry_trust;
mod file_custody;
mod file_doubts;
pub mod file_trust;
pub mod folder_approval;
mod guard_mark;
mod guarding;
pub mod halt;
pub mod heartbeat_ask;
pub mod hooks;
mod inbound_message;
mod installation_secret;
mod ledger_slot;
pub mod leftovers;
mod local;
pub mod machine;
mod mcp_tools;
mod noted_sessions;
mod order_files;
mod own_output;
pub mod owner_edits;
mod plugin_hooks;
mod prefix_text;
pub mod prelude;
pub mod prompt_knobs;
mod runtime_blocks;
pub mod sandbox;
mod scope;
mod secrets;
mod self_running_files;
pub mod served_agent;
pub mod session_letters;
mod session_transcripts;
pub mod skill_ranker;
pub mod skills;
mod skills_search;
pub mod slash;
pub mod spoken;
mod stores;
pub mod subagents;
mod surface;
mod toolset;
mod transcript;
pub mod trust;
pub mod turn;
mod turn_control;
pub mod vectors;
pub mod withheld;
pub mod work_folders;

pub use audited::audit_ground;
pub use local::{OwnerCalendar, is_time_zone};
pub use mcp_tools::{McpToolset, effect_of_tool};
pub use secrets::known as known_secrets;
pub use stores::store_ground;
pub use toolset::{ToolEffect, effects, tool_cards};
