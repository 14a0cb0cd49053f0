//! What is on record of servers: what they said of their tools when that was accepted, and what they say
//! otherwise since.
//!
//! A model is told what is on record and nothing else, so a server that changes its words changes
//! nothing until its owner has read them. What is on record also saves starting a server to know what it
//! has.

mod document;
mod merge;

use std::collections::BTreeMap;

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};

use crate::offer::{ServerTool, UnusableTool};

pub use document::{McpRecord, RecordError};
pub use merge::RecordChange;

/// One server on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerRecord {
    /// As the config or the package calls it.
    pub name: String,
    /// What it was started as, or where it was.
    pub launch: ContentHash,
    /// As it calls itself.
    #[serde(default)]
    pub about: String,
    /// The version of the protocol it speaks.
    #[serde(default)]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(default)]
    pub has_resources: bool,
    #[serde(default)]
    pub has_prompts: bool,
    #[serde(default)]
    pub tools: BTreeMap<String, ToolRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<UnusableTool>,
    /// Whether its owner has read its tools: then a new one waits, too.
    #[serde(default)]
    pub is_approved: bool,
    /// Seconds since 1970.
    #[serde(default)]
    pub seen_at: u64,
    /// Why it could not be reached the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedStart>,
}

/// A start that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedStart {
    /// Seconds since 1970.
    pub at: u64,
    pub why: String,
}

/// One tool on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRecord {
    /// As it was accepted; `None`: it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<ServerTool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AcceptedBy>,
    /// What waits for its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldTool>,
    /// Whether the server had it when it was last asked.
    pub is_there: bool,
}

/// Who accepted the words of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedBy {
    /// Nobody looked: the server was new, and nothing in its words was odd.
    FirstSight,
    Owner,
}

/// A tool that waits for its owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldTool {
    pub why: HeldWhy,
    pub tool: ServerTool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldWhy {
    /// The server says something else of it than what was accepted.
    Changed,
    /// It came after its owner had read all there were.
    New,
    /// Something in its words is there to deceive.
    Odd,
    /// Its owner revoked it.
    Revoked,
}

impl HeldWhy {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Changed => "what it says of itself changed",
            Self::New => "it is new",
            Self::Odd => "its description is suspicious",
            Self::Revoked => "you revoked it",
        }
    }
}

impl ToolRecord {
    /// What a model may be told and may call.
    pub fn usable(&self) -> Option<&ServerTool> {
        match self.held.is_none() && self.is_there {
            true => self.accepted.as_ref(),
            false => None,
        }
    }

    /// The newest words of it, accepted or not.
    pub fn newest(&self) -> Option<&ServerTool> {
        let held = self.held.as_ref().map(|held| &held.tool);
        held.or(self.accepted.as_ref())
    }
}

impl ServerRecord {
    /// The tools a model may be told of.
    pub fn usable(&self) -> impl Iterator<Item = (&ServerTool, AcceptedBy)> {
        self.tools.values().filter_map(|record| {
            let by = record.by.unwrap_or(AcceptedBy::FirstSight);
            Some((record.usable()?, by))
        })
    }

    /// The tools that wait for their owner.
    pub fn held(&self) -> impl Iterator<Item = (&str, &ToolRecord)> {
        let held = self.tools.iter();
        held.filter(|(_, tool)| tool.held.is_some() && tool.is_there)
            .map(|(name, tool)| (name.as_str(), tool))
    }
}
