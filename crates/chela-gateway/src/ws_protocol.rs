//! What both ends of the WebSocket know.

use chela_core::ContentHash;

/// The version of what is said on it. A client that asks for another one is told so.
pub(crate) const VERSION: u32 = 1;
pub(crate) const PROTOCOL: &str = "chela.v1";

/// The id under which work is known that was sent with this key.
pub fn work_of_key(key: &str) -> String {
    format!("ws:{}", ContentHash::of(key))
}
