//! Content from outside, wrapped so that a model can tell it from an order.

use chela_core::Entropy;

/// Where foreign text came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalSource {
    Email {
        from: String,
    },
    Webhook {
        name: String,
    },
    Api {
        name: String,
    },
    Browser {
        url: String,
    },
    ChannelMetadata {
        channel: String,
    },
    WebSearch {
        query: String,
    },
    WebFetch {
        url: String,
    },
    Mcp {
        server: String,
        tool: String,
    },
    /// A file from outside the workspace.
    File {
        path: String,
    },
    /// What a program printed.
    Process {
        command: String,
    },
    Unknown,
}

/// Foreign text between markers that it cannot forge.
pub fn wrap(text: &str, source: &ExternalSource, entropy: &dyn Entropy) -> String {
    let mut id = [0; 8];
    entropy.fill(&mut id);
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (kind, detail) = source.line();
    let body = text.replace("<<<", "<\u{200b}<<");
    format!(
        "<<<EXTERNAL_UNTRUSTED_CONTENT id=\"{id}\">>>\nSource: {kind}{detail}\n---\n{body}\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id=\"{id}\">>>"
    )
}

impl ExternalSource {
    fn line(&self) -> (&'static str, String) {
        match self {
            Self::Email { from } => ("email", format!(" {from}")),
            Self::Webhook { name } => ("webhook", format!(" {name}")),
            Self::Api { name } => ("api", format!(" {name}")),
            Self::Browser { url } => ("browser", format!(" {url}")),
            Self::ChannelMetadata { channel } => ("channel_metadata", format!(" {channel}")),
            Self::WebSearch { query } => ("web_search", format!(" {query}")),
            Self::WebFetch { url } => ("web_fetch", format!(" {url}")),
            Self::Mcp { server, tool } => ("mcp", format!(" {server}/{tool}")),
            Self::File { path } => ("file", format!(" {path}")),
            Self::Process { command } => ("process", format!(" {command}")),
            Self::Unknown => ("unknown", String::new()),
        }
    }
}
