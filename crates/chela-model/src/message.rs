//! What was said: the one form of a conversation, whatever endpoint it goes to.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One entry of a conversation. Kept in transcripts as it is, so its JSON form is stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "role",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ModelMessage {
    User {
        content: Vec<MessagePart>,
    },
    Assistant {
        content: Vec<MessagePart>,
        /// `provider/model` that said it: reasoning signatures are valid for that model only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    ToolResult {
        call_id: String,
        tool: String,
        content: Vec<MessagePart>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum MessagePart {
    Text {
        text: String,
    },
    Image {
        /// Such as `image/png`.
        mime: String,
        /// Base64.
        data: String,
    },
    Reasoning {
        text: String,
        /// What the endpoint wants back unchanged: a signature, or the encrypted whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The text was withheld; only the signature counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    ToolCall(ToolCall),
}

/// What the model asks to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Map<String, Value>,
    /// The arguments as they came, when they are not a JSON object; `arguments` is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

impl MessagePart {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ModelMessage {
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            content: vec![MessagePart::text(text)],
        }
    }

    pub fn content(&self) -> &[MessagePart] {
        match self {
            Self::User { content }
            | Self::Assistant { content, .. }
            | Self::ToolResult { content, .. } => content,
        }
    }

    /// The text parts, one after the other.
    pub fn text(&self) -> String {
        self.content()
            .iter()
            .filter_map(|part| match part {
                MessagePart::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content().iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}
