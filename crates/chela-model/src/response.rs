//! What a model answered.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{EncodedRequest, MessagePart, Usage};

/// What arrives while the model speaks.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseEvent {
    Text(String),
    Reasoning(String),
    /// A tool call has begun; its arguments still arrive.
    ToolCall {
        id: String,
        name: String,
    },
    /// Nothing that was streamed since the last `Restarted` counts: the call begins again, at
    /// another endpoint perhaps.
    Restarted {
        why: String,
    },
    /// Every endpoint is overloaded: the call is tried again after a while.
    Waiting {
        why: String,
        wait: Duration,
    },
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    pub content: Vec<MessagePart>,
    pub stop: StopReason,
    pub usage: Usage,
    /// `provider/model` that answered.
    pub model: String,
    /// What it answered.
    pub sent: EncodedRequest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// It was done.
    End,
    /// It wants tools to run.
    Tools,
    /// It ran into its own limit of output.
    Length,
    /// The endpoint refused to go on.
    Refused,
}

impl StopReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Tools => "tools",
            Self::Length => "length",
            Self::Refused => "refused",
        }
    }
}
