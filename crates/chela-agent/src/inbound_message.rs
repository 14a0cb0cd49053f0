//! What somebody says to an agent, as a surface hands it in.

use chela_core::Trust;
use chela_guard::ExternalSource;
use serde::{Deserialize, Serialize};

/// What a person says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboundMessage {
    pub text: String,
    pub images: Vec<InboundImage>,
    /// Blocks of the text that were pasted, as far as the surface knows. Those of several lines
    /// are somebody else's words.
    pub pasted: Vec<String>,
    /// Fenced blocks of the text that hold what a command of the person's printed, of which
    /// somebody answers for all: they name nothing, and are nobody else's words either.
    pub own_output: Vec<String>,
    /// Text that came along from somewhere else: standard input.
    pub piped: Option<String>,
    /// Text that nobody answers for: it is wrapped, and taints the session.
    pub external: Vec<ExternalText>,
    /// The ids under which an inbox keeps it (several for messages that are read together), so
    /// that after a crash it is found in the transcript and not said again.
    pub inbox_ids: Vec<String>,
    /// Names of tools, one of which the first answer has to call.
    pub must_call: Vec<String>,
    /// How far the text is trusted where it is not the speaker's own: a job an agent made.
    pub trust: Option<Trust>,
}

/// Foreign text and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalText {
    pub source: ExternalSource,
    pub text: String,
}

impl From<&str> for InboundMessage {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }
}

impl From<String> for InboundMessage {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundImage {
    /// Such as `image/png`.
    pub mime: String,
    /// Base64.
    pub data: String,
}
