//! The two eras of the protocol: one that begins with a handshake, and one in which every request says
//! all that is needed to answer it.

use serde_json::{Map, Value, json};

/// The newest version with a handshake.
pub const LEGACY_VERSION: &str = "2025-11-25";
/// The version without one.
pub const MODERN_VERSION: &str = "2026-07-28";
/// Versions with a handshake that are understood, the newest first.
pub const LEGACY_VERSIONS: [&str; 4] = [LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolEra {
    /// After `initialize`, in this version.
    Legacy { version: String },
    /// Without a handshake: each request carries what it needs.
    Modern { version: String },
}

impl ProtocolEra {
    pub fn version(&self) -> &str {
        match self {
            Self::Legacy { version } | Self::Modern { version } => version,
        }
    }

    pub fn is_modern(&self) -> bool {
        matches!(self, Self::Modern { .. })
    }
}

/// Who speaks, as the other side is told.
pub(crate) fn own_name() -> Value {
    json!({ "name": "chela", "version": env!("CARGO_PKG_VERSION") })
}

/// The parameters of a request with what the newer era wants in each.
pub(crate) fn with_meta(params: Value, version: &str, capabilities: &Value) -> Value {
    let mut params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(VERSION_KEY.to_owned(), version.into());
        meta.insert(CLIENT_KEY.to_owned(), own_name());
        meta.insert(CAPABILITIES_KEY.to_owned(), capabilities.clone());
    }
    Value::Object(params)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MODERN_VERSION, VERSION_KEY, with_meta};

    #[test]
    fn what_a_request_carries_stays_beside_what_it_needs() {
        let params = json!({ "name": "add", "_meta": { "progressToken": 3 } });
        let with = with_meta(params, MODERN_VERSION, &json!({}));
        assert_eq!(with["name"], "add");
        assert_eq!(with["_meta"]["progressToken"], 3);
        assert_eq!(with["_meta"][VERSION_KEY], MODERN_VERSION);
        assert!(with_meta(json!(null), MODERN_VERSION, &json!({}))["_meta"].is_object());
    }
}
