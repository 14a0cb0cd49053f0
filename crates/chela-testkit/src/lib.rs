//! What Chela is tested against: a model endpoint that follows a script, on real HTTP.
//!
//! [`ScriptedEndpoint::start`] speaks every wire format Chela speaks - OpenAI chat completions and
//! responses, Anthropic messages, Gemini, Ollama, llama.cpp - and does what its [`EndpointScript`] says:
//! answers in pieces, calls tools, or fails in one of the ways real servers do, byte for byte.
//! It knows nothing of how Chela reads those formats: both sides are written from the protocols.
//! [`serve_mcp`] is a tool server that follows one, hostile ones included.
//! [`bench`](mod@bench) is the harness of the benchmarks, [`tally`] takes their figures.

pub mod bait;
mod endpoint;
mod http;
mod mcp_server;
mod model_call;
mod prefix;
mod require;
mod script;
mod wire;

pub mod bench;
pub mod tally;

pub use endpoint::{
    EndpointOptions, ReceivedRequest, RequestLog, RequestWatcher, ScriptedEndpoint, StartError,
};
pub use mcp_server::{DiscoverHabit, McpScript, ScriptedTool, ServerDeed, serve_mcp};
pub use require::{MACHINE_PARTS, REQUIRE, find_part, wait_until};
pub use script::{
    AnswerBody, AnswerFault, EXAMPLE, EndpointScript, LineEnding, ScriptError, ScriptStep,
    ScriptedCall, StepRule, StopReason, TokenCounts,
};
