//! Who answers? Model endpoints, streaming, failover, usage.
//!
//! A [`Request`] is what every endpoint understands in its own way; a [`Response`] is what any of
//! them said. Dropping the future of a call ends it: there is no other way to cancel.

mod error;
mod message;
mod request;
mod response;

pub use error::{Failure, ModelError};
pub use message::{Message, Part, ToolCall};
pub use request::{Cache, CacheRetention, Request, SystemText, Thinking, ToolMode, ToolSchema};
pub use response::{Event, Response, StopReason, Usage};
