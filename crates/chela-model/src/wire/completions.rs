//! `openai-completions`: chat/completions, as OpenAI and most other servers speak it.

mod body;
mod decode;
mod messages;

pub use body::{ToolNaming, answer_format, body, cache_key, effort, tool_choice, tool_value};
pub use decode::CompletionsDecoder;
pub use messages::{said_plainly, told_plainly};
