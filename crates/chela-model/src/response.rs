//! What a model answered.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Part;

/// What arrives while the model speaks.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
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
pub struct Response {
    pub content: Vec<Part>,
    pub stop: StopReason,
    pub usage: Usage,
    /// `provider/model` that answered.
    pub model: String,
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

/// What it cost, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Whole input, what came from the cache included.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Part of `output`.
    pub reasoning: u64,
    /// The endpoint said nothing; these are our own counts.
    #[serde(default)]
    pub estimated: bool,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.estimated |= other.estimated;
    }
}
