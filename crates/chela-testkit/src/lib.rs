//! What Chela is tested against: a model endpoint that follows a script, on real HTTP.
//!
//! [`Endpoint::start`] speaks every wire format Chela speaks - OpenAI chat completions and
//! responses, Anthropic messages, Gemini, Ollama, llama.cpp - and does what its [`Script`] says:
//! answers in pieces, calls tools, or fails in one of the ways real servers do, byte for byte.
//! It knows nothing of how Chela reads those formats: both sides are written from the protocols.
//! [`bench`](mod@bench) is the harness of the benchmarks.

mod asked;
pub mod bait;
mod endpoint;
mod http;
mod prefix;
mod require;
mod script;
mod wire;

pub mod bench;

pub use endpoint::{Endpoint, Options, Recorded, RequestLog, StartError, Watch};
pub use require::{MACHINE_PARTS, REQUIRE, find_part, wait_until};
pub use script::{
    Body, EXAMPLE, Fault, Line, Rule, Script, ScriptError, ScriptedCall, Step, Stop, Tokens,
};
