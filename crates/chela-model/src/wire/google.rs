//! `google-generative-ai`: Gemini's streamGenerateContent.

mod body;
mod decode;

pub use body::body;
pub use decode::Google;
