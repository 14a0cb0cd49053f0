//! What a request is: before it is sent, and on record.

use chela_core::{AgentId, ContentHash, SessionKey, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::{ContextRewrite, PrefixReuse};
use crate::mark::{SectionList, SectionMark, ToolList, ToolMark};
use crate::redact::RequestRedaction;

/// The number of a request on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(pub i64);

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A request that is about to be sent.
#[derive(Debug, Clone)]
pub struct RequestRecord<'a> {
    pub agent: &'a AgentId,
    pub session_key: &'a SessionKey,
    /// The id of the session; a reset gives the same key another one.
    pub session: &'a str,
    /// What the steps of one turn have in common.
    pub turn: &'a str,
    /// Which model call of the turn, from 1.
    pub step: u32,
    /// `provider/model`.
    pub model: &'a str,
    pub url: &'a str,
    /// The exact bytes.
    pub body: &'a [u8],
    /// Members of the body that are for the server alone: they cost nothing.
    pub unread: &'a [&'a str],
    /// In prompt order.
    pub sections: SectionList,
    pub tools: ToolList,
    /// What was done to the conversation since the request before.
    pub rewrite: Option<ContextRewrite>,
}

/// What came of a request. May be given again when more is known: the later one counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOutcome {
    /// The answer as JSON, or its text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub response: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Micro-dollars, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CallMark>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalMark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A tool call the answer asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMark {
    pub id: String,
    pub tool: String,
    /// Whether it was let through: `allowed`, `approved`, `denied`.
    pub decision: String,
    /// How it ended: `done`, `failed`, `interrupted`.
    pub outcome: String,
}

/// A question to a person, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalMark {
    pub call: String,
    pub answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A request in one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSummary {
    pub id: RecordId,
    /// Milliseconds since 1970.
    pub at: u64,
    pub agent: String,
    pub session: String,
    pub session_key: String,
    pub turn: String,
    pub step: u32,
    pub model: String,
    /// Bytes of the request.
    pub length: u64,
    /// By our own count.
    pub tokens: u64,
    pub reused_tokens: u64,
    /// Why the reused prefix is not longer; see [`crate::BreakCause::word`].
    pub cause: Option<String>,
    pub ended: Option<u64>,
    pub usage: Option<Usage>,
    pub cost: Option<u64>,
    pub error: Option<String>,
}

/// Everything about a request but its bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRequest {
    #[serde(flatten)]
    pub summary: RequestSummary,
    pub url: String,
    /// SHA-256 of what was sent.
    pub sent: ContentHash,
    pub sections: Vec<SectionMark>,
    pub tools: Vec<ToolMark>,
    pub redactions: Vec<RequestRedaction>,
    pub reuse: PrefixReuse,
    pub outcome: Option<RequestOutcome>,
}

/// A request made again from what is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedRequest {
    pub bytes: Vec<u8>,
    pub hash: ContentHash,
    /// SHA-256 of what was sent then.
    pub sent: ContentHash,
    /// Secrets that nobody could name a value for; their stand-ins are in `bytes`.
    pub unknown_secrets: Vec<String>,
}

impl ReplayedRequest {
    /// Whether it is what was sent, byte for byte.
    pub fn matches(&self) -> bool {
        self.hash == self.sent
    }
}
