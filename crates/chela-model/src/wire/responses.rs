//! `openai-responses`: items instead of messages, reasoning that is given back encrypted.

mod body;
mod decode;

pub use body::{answer_format, body, tool_value};
pub use decode::ResponsesDecoder;
