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
        /// `oauth` signs in; `chela mcp login NAME` does it.
        auth: Option<serde_json::Value>,
        /// How to sign in, where the server does not say it all.
        oauth: McpLogin,
        /// Give up on a request after this many milliseconds.
        request_timeout_ms: Option<u64>,
        /// Give up on connecting after this many milliseconds.
        connection_timeout_ms: Option<u64>,
        /// Which of its tools are used.
        tool_filter: ToolFilter,
        /// Hosts the program may reach: `example.org`, `*.example.org`, `example.org:8443`. None
        /// unless listed.
        hosts: Vec<String>,
        /// Folders the program may see, each a path or `{ path, access }`. None unless listed.
        folders: Vec<McpFolder>,
        /// Names of your environment variables it gets besides `env`.
        pass_env: Vec<String>,
        /// What its tools do, by name; `*` matches any text. A tool that is not listed counts as
        /// `irreversible`.
        effects: BTreeMap<String, McpEffect>,
        /// Whether the program runs in the sandbox.
        sandbox: McpSandbox,
        /// The plugin that brought it: it runs while that is on, and may read its folder.
        plugin: Option<String>,
        ..other: OpenMap,
    }
}

section! {
    /// Which tools of a server are used.
    struct ToolFilter {
        /// Only these; `*` matches any text.
        include: Option<Vec<String>>,
        /// Never these.
        exclude: Vec<String>,
    }

    /// How to sign in to a server.
    struct McpLogin {
        /// The client id, where one was registered beforehand.
        client_id: Option<String>,
        /// Its secret.
        client_secret: Option<SecretSetting>,
        /// An https URL that describes this client and is its id, for servers that take one.
        client_metadata_url: Option<String>,
        /// What to ask for; left out, what the server names.
        scope: Option<String>,
        /// The authorization server, where the server names none.
        issuer: Option<String>,
    }

    /// A folder a tool server may see.
    struct McpFolderAccess {
        /// The folder.
        [required]
        path: String,
        /// Whether it may change what is in it.
        access: McpAccess,
    }
}

/// A folder to be read, or with what may be done there.
#[derive(Debug, Clone, PartialEq)]
pub enum McpFolder {
    Path(String),
    Access(McpFolderAccess),
}

impl HasShape for McpFolder {
    const SHAPE: &'static ValueShape =
        &ValueShape::OneOf(&[&ValueShape::Text, McpFolderAccess::SHAPE]);
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
    /// What a tool server may do in a folder.
    enum McpAccess { Read = "read", Write = "write" }
    /// What a tool of a server does, as you judge it.
    enum McpEffect {
        /// Cannot be undone, or nobody knows: asked about after untrusted content.
        Irreversible = "irreversible",
        /// Only reads what is there.
        Read = "read",
        /// Asks another machine: what it is told leaves yours.
        Egress = "egress",
        /// Changes something here that can be put back.
        WriteReversible = "write_reversible",
        /// Changes what others see: a message, a post.
        WriteOutward = "write_outward",
    }
    /// Whether a tool server runs in the sandbox.
    enum McpSandbox {
        /// It does; where none can be had it is not started.
        Required = "required",
        /// It runs outside, with all you may do yourself.
        Off = "off",
    }
    /// How to speak to an MCP server.
    enum McpTransport {
        StreamableHttp = "streamable-http", Sse = "sse", Stdio = "stdio", Http = "http",
    }
}
