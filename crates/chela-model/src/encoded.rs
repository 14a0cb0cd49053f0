//! A request as one model gets it.

use std::fmt;

use bytes::Bytes;

use crate::ToolMode;

/// The bytes of a request for one model, and where they go. Made once: what is put on record is
/// what is sent, however often. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    pub(crate) model: String,
    pub(crate) url: String,
    /// How its answer says tool calls.
    pub(crate) mode: ToolMode,
    pub(crate) unread: &'static [&'static str],
    pub(crate) bytes: Bytes,
}

impl EncodedRequest {
    /// `provider/model` it is for.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Where it goes.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The members of the body that are for the server alone: the model reads nothing of them.
    pub fn unread(&self) -> &'static [&'static str] {
        self.unread
    }
}

/// Without the body: that is long, and a conversation.
impl fmt::Debug for EncodedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedRequest")
            .field("model", &self.model)
            .field("url", &self.url)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
