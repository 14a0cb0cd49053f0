//! `anthropic-messages`: blocks, signed thinking, and a cache with marks.

mod body;
mod decode;

use serde_json::{Value, json};

pub use body::{body, tool_value};
pub use decode::AnthropicDecoder;

use crate::CacheRetention;

/// The mark on a block up to which the endpoint keeps what it read.
pub fn cache_control(retention: CacheRetention) -> Option<Value> {
    match retention {
        CacheRetention::None => None,
        CacheRetention::Short => Some(json!({"type": "ephemeral"})),
        CacheRetention::Long => Some(json!({"type": "ephemeral", "ttl": "1h"})),
    }
}
