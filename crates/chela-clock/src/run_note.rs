//! What is kept of each time a job was due.

use serde::{Deserialize, Serialize};

/// What the record says of an occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunNote {
    /// The name of the job: it may be gone when the record is read.
    pub name: String,
    pub status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The beginning of what was answered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
    /// It was not planned: somebody wanted it now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
}

/// How it stands with an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Its message waits or is worked on.
    Running,
    /// It failed and is tried again.
    Retrying,
    Ok,
    /// The agent had nothing to say.
    Silent,
    Failed,
    /// Somebody stopped it.
    Stopped,
    Skipped,
    /// Nobody knows what came of it.
    Lost,
    /// The job was removed before it began.
    Removed,
}

impl RunStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Ok => "ok",
            Self::Silent => "silent",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Skipped => "skipped",
            Self::Lost => "lost",
            Self::Removed => "removed",
        }
    }
}

impl RunNote {
    pub fn new(name: &str, status: RunStatus) -> Self {
        Self {
            name: name.to_owned(),
            status,
            why: None,
            reply: String::new(),
            session: None,
            model: None,
            input_tokens: 0,
            output_tokens: 0,
            micro_dollars: None,
            by_hand: false,
        }
    }

    /// As it is kept. Text that is no note is a reason.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self {
            why: Some(text.to_owned()),
            ..Self::new("", RunStatus::Lost)
        })
    }

    pub fn to_text(&self) -> String {
        // A note is plain data: it can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}
