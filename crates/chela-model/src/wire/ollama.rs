//! `ollama`: the server's own chat, one JSON document per line.

mod body;
mod decode;

pub use body::{body, tool_value};
pub use decode::OllamaDecoder;
