//! `mcp`: tool servers that speak the Model Context Protocol.

use std::collections::BTreeMap;

use super::*;
use crate::shape::{HasShape, ValueShape};

section! {
    /// Tool servers.
    struct Mcp {
        /// Servers by name; their tools are called `name__tool`.
        servers: BTreeMap<String, McpServer>,
        /// Stop an unused server after this many milliseconds.
        [later]
        session_idle_ttl_ms: u64 = 600_000,
    }
}

section! {
    /// One server: a program (`command`) or an address (`url`).
    struct McpServer {
        /// Use it.
        enabled: Option<bool>,
        /// Program to start.
        command: Option<String>,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, McpValue>,
        /// Folder to start it in.
        cwd: Option<String>,
        /// URL of a running server.
        url: Option<String>,
        /// Transport for that URL.
        transport: Option<McpTransport>,
        /// Headers sent to that URL.
        headers: BTreeMap<String, McpValue>,
        /// `oauth` signs in.
        auth: Option<serde_json::Value>,
        /// Give up on a request after this many milliseconds.
        [later]
        request_timeout_ms: Option<u64>,
        /// Give up on connecting after this many milliseconds.
        [later]
        connection_timeout_ms: Option<u64>,
        /// Which of its tools are used.
        [later]
        tool_filter: ToolFilter,
        ..other: OpenMap,
    }
}

section! {
    /// Which tools of a server are used.
    struct ToolFilter {
        /// Only these; `*` matches any text.
        include: Option<Vec<String>>,
        /// Never these.
        [later]
        exclude: Vec<String>,
    }
}

/// A variable or header: a plain value, or where its secret is kept.
#[derive(Clone, PartialEq)]
pub enum McpValue {
    Plain(ScalarValue),
    Reference(SecretReference),
}

impl HasShape for McpValue {
    const SHAPE: &'static ValueShape = &ValueShape::Secret(&ValueShape::OneOf(&[
        ScalarValue::SHAPE,
        SecretReference::SHAPE,
    ]));
}

impl std::fmt::Debug for McpValue {
    /// Never shows the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpValue(…)")
    }
}

words! {
    /// How to speak to an MCP server.
    enum McpTransport {
        StreamableHttp = "streamable-http", Sse = "sse", Stdio = "stdio", Http = "http",
    }
}
