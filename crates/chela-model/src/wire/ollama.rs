//! `ollama`: the server's own chat, one JSON document per line.

mod body;
mod decode;

pub use body::body;
pub use decode::Ollama;
