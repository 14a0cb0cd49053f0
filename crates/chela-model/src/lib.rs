//! Who answers? Model endpoints, streaming, failover, usage.
//!
//! A [`Request`] is what every endpoint understands in its own way; a [`Response`] is what any of
//! them said. [`Models`] says which model a name means, a [`Target`] calls one, a [`Chain`] calls
//! one after the other until one answers. What is sent is an [`EncodedRequest`], written down
//! before by whoever wants it on record. Dropping the future of a call ends it: there is no other
//! way to cancel.

mod api;
mod builtin;
mod call;
mod chain;
mod compat;
mod discover;
mod encoded;
mod error;
mod fault;
mod http;
mod info;
mod key;
mod message;
mod models;
mod profile;
mod provider;
mod request;
mod response;
mod target;
#[cfg(test)]
mod testing;
mod timer;
mod wire;

pub use chela_core::{Prices, Usage};

pub use api::{Api, Family};
pub use builtin::KNOWN_SINCE;
pub use chain::{Chain, Stage};
pub use compat::{Compat, MaxTokensField, PromptProfile, SchemaProfile, ThinkingFormat};
pub use discover::{Found, FoundModel, HOW_TO_GET_ONE, discover};
pub use encoded::EncodedRequest;
pub use error::{Failure, ModelError};
pub use fault::Complaint;
pub use http::{Http, Posted};
pub use info::{InfoSource, Input, ModelInfo};
pub use key::{Key, KeySource, KeyWitness};
pub use message::{Message, Part, ToolCall};
pub use models::{Models, ResolveError, Selection};
pub use profile::profile_for;
pub use request::{Cache, CacheRetention, Request, SystemText, Thinking, ToolMode, ToolSchema};
pub use response::{Event, Response, StopReason};
pub use target::Target;
pub use timer::{RealTimer, Timer};
pub use wire::{Answer, Decoder, Framing, StreamFault};
