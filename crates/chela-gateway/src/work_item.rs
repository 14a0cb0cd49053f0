//! A piece of work for an agent, as whoever brings it hands it in: a person over HTTP, a cron job,
//! a heartbeat, a webhook. It is kept in the inbox in this form.

use std::path::PathBuf;

use chela_agent::prelude::{AgentId, ExternalText, SessionKey, Trust};
use chela_store::NewMessage;
use serde::{Deserialize, Serialize};

/// Work for one session. The same work has the same id, however often it is brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkItem {
    pub id: String,
    pub agent: AgentId,
    pub session: SessionKey,
    pub source: WorkSource,
    /// What whoever is named by `source` answers for: the person's words, the owner's job.
    pub text: String,
    /// What nobody answers for: a webhook's payload, a job that was made after foreign text. It is
    /// wrapped, and taints the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<WorkImage>,
    #[serde(default)]
    pub delivery: DeliveryTarget,
    #[serde(default, skip_serializing_if = "WorkOptions::is_default")]
    pub options: WorkOptions,
    /// How far the text is trusted where it is not the owner's: a job an agent made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_trust: Option<Trust>,
}

/// Who or what brings work. It decides who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum WorkSource {
    /// Whoever holds the owner's token, on a surface of the owner.
    Owner {
        surface: String,
    },
    /// Somebody a program speaks for. Whether it is the owner `commands.ownerAllowFrom` says.
    Sender {
        channel: String,
        id: String,
    },
    Cron {
        job: String,
    },
    Heartbeat,
    /// A webhook; its payload is external.
    Hook {
        name: String,
    },
    /// The runtime itself: BOOT.md, a wake, a restart.
    Runtime {
        what: String,
    },
    /// What was said elsewhere and belongs into this session, too: no turn is run for it.
    Announcement {
        from: String,
    },
}

/// A picture that comes with a message, base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkImage {
    pub mime: String,
    pub data: String,
}

/// Where the answer goes besides the transcript and whoever waits for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum DeliveryTarget {
    #[default]
    None,
    /// The owner's main conversation with the agent.
    Owner,
    /// The conversation in which a person spoke to the agent last.
    Last,
    /// Another session of the agent.
    Session { key: SessionKey },
    /// A URL the config names.
    Webhook { url: String },
    /// A chat on a network.
    Channel { channel: String, to: String },
}

impl DeliveryTarget {
    /// The same with its session named, where that does not depend on what happens meanwhile.
    pub fn settled(&self, agent: &AgentId) -> Self {
        match self {
            Self::Owner => Self::Session {
                key: SessionKey::main(agent),
            },
            other => other.clone(),
        }
    }

    pub fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Session { key } => Some(key),
            _ => None,
        }
    }

    pub fn in_words(&self) -> String {
        match self {
            Self::None => "nowhere".to_owned(),
            Self::Owner => "the main conversation".to_owned(),
            Self::Last => "the conversation you spoke in last".to_owned(),
            Self::Session { key } => key.to_string(),
            Self::Webhook { url } => url.clone(),
            Self::Channel { channel, to } => format!("{channel} {to}"),
        }
    }
}

/// What is asked for this one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkOptions {
    /// `provider/model` in place of the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Longest run, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// The session begins anew before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub begin_anew: bool,
    /// Nobody is told when its answer cannot be delivered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub best_effort: bool,
    /// Tools of the program that asks, which runs them itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<CallerTool>,
    /// Names of those of them, one of which has to be called first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub must_call: Vec<String>,
    /// A tool that is called in place of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolAsk>,
    /// Blocks of the text that were pasted: those of several lines are somebody else's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pasted: Vec<String>,
    /// Fenced blocks of the text that hold what a command of the owner's printed, and nobody else's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_output: Vec<String>,
    /// Text that came along on standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piped: Option<String>,
    /// Folders besides the workspace the owner lets it work in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<FolderAsk>,
}

/// A folder the owner lets an agent work in, for as long as they work there themselves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FolderAsk {
    pub path: PathBuf,
    #[serde(default)]
    pub write: bool,
}

/// A call of a tool that a program of the owner makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAsk {
    pub tool: String,
    pub arguments: serde_json::Map<String, serde_json::Value>,
}

/// A tool of a program that talks to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerTool {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: serde_json::Value,
}

impl WorkOptions {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What came of a piece of work, as the inbox keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkOutcome {
    pub status: WorkStatus,
    /// What a person may see; empty when the agent stayed silent or failed.
    pub reply: String,
    /// Why it failed, was dropped or skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What can be done about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Of which kind it is, in a word: `no-model`, `stopped`, `broken`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Of the input, what was read from and written to the endpoint's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    pub steps: u32,
    /// Millionths of a dollar, where prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
    /// The id of the work whose turn this was read in (`steer`, `collect`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<String>,
    /// The turn as a surface is told of it; kept nowhere.
    #[serde(skip)]
    pub turn: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkStatus {
    #[default]
    Answered,
    /// The agent had nothing to say.
    Silent,
    Stopped,
    Failed,
    /// It did not fit into the queue.
    Dropped,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Work that cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("this work cannot be written down: {0}")]
pub struct EncodeError(#[from] serde_json::Error);

impl WorkItem {
    /// The work as the inbox takes it, for whoever writes it in a transaction of its own. After
    /// that, [`crate::WorkLanes::look_again`].
    pub fn to_message(&self, at: u64) -> Result<NewMessage, EncodeError> {
        Ok(NewMessage {
            id: self.id.clone(),
            lane: self.lane(),
            body: serde_json::to_string(self)?,
            at,
        })
    }

    /// What it waits behind: the work of a session is done one piece at a time.
    pub fn lane(&self) -> String {
        format!("{}/{}", self.agent, self.session)
    }
}
