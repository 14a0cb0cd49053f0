//! `google-generative-ai`: Gemini's streamGenerateContent.

mod body;
mod decode;

pub use body::{body, tool_value};
pub use decode::GoogleDecoder;
