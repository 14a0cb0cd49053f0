//! One entry of a transcript.

use std::borrow::Cow;

use chela_core::secret::Redactor;
use chela_core::{Origin, Trust};
use chela_model::{MessagePart, ModelMessage, StopReason, Usage};
use chela_store::WriteDurability;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::external_spans::ExternalSpans;

/// The number of an entry within its session, counted from 1. Printed as eight hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub(super) u32);

/// An entry and its place in the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptEntry {
    pub id: EntryId,
    pub parent: Option<EntryId>,
    /// Milliseconds since 1970.
    pub at: u64,
    pub body: EntryBody,
}

/// What an entry is. The first five kinds are those other readers of transcripts know.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryBody {
    Message {
        message: ModelMessage,
        meta: EntryMeta,
    },
    /// Text of the runtime or of a plugin that the model reads as the user's turn.
    CustomMessage(CustomMessage),
    /// State that the model never reads.
    Custom(CustomEntry),
    /// What came before `first_kept` is replaced by a summary.
    Compaction(CompactionEntry),
    /// What happened on a branch that was left.
    BranchSummary(BranchSummary),
    /// A tool call is about to take effect.
    ToolStarted { call_id: String },
    /// A turn has its outcome, whatever it is: what was accepted before is dealt with.
    TurnEnded { how: String },
    /// A kind this version does not know, or one it cannot read; kept as it is.
    Unknown { kind: String, text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    pub custom_type: String,
    pub content: Vec<MessagePart>,
    /// Whether people are shown it.
    #[serde(default)]
    pub display: bool,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomEntry {
    pub custom_type: String,
    #[serde(default)]
    pub data: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    pub summary: String,
    #[serde(rename = "firstKeptEntryId")]
    pub first_kept: EntryId,
    #[serde(default)]
    pub tokens_before: u64,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    pub summary: String,
    #[serde(default, rename = "fromId", skip_serializing_if = "Option::is_none")]
    pub from: Option<EntryId>,
}

/// What is known about a message besides its words. Nothing of it reaches a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EntryMeta {
    /// Of an assistant message: what the call cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// The stream was cut off: stopped by the person, or by a fault.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Of a tool result or a message from outside: where it came from, how far it is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<TextLabel>,
    /// Of a tool result: what people and programs see of it.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// Of a user message: how many of the leading parts are the runtime's, not the person's.
    #[serde(skip_serializing_if = "is_zero")]
    pub lead: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<MessageSender>,
    /// Of a user message: who spoke. Messages of the time when there was only the terminal have
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<SpeakerMark>,
    /// Of a user message: what made it.
    #[serde(skip_serializing_if = "MessageSource::is_person")]
    pub source: MessageSource,
    /// Of a person's message: which stretches of its text somebody else wrote.
    #[serde(skip_serializing_if = "ExternalSpans::is_none")]
    pub external: ExternalSpans,
    /// Of a message that waited in an inbox: its id there; several for messages read together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inbox_ids: Vec<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextLabel {
    pub trust: Trust,
    pub origin: Origin,
}

/// Who wrote a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessageSender {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The channel's own id of the message, for replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// Who spoke, as it stands in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SpeakerMark {
    /// The owner, by proof.
    Owner,
    /// Whoever `sender` says.
    Sender,
    /// The runtime, or another session through it.
    Runtime,
    /// What stands there cannot be read: nobody known.
    Unreadable,
}

impl From<&chela_core::Speaker> for SpeakerMark {
    fn from(speaker: &chela_core::Speaker) -> Self {
        match speaker {
            chela_core::Speaker::Owner(_) => Self::Owner,
            chela_core::Speaker::Sender(_) => Self::Sender,
            chela_core::Speaker::Runtime => Self::Runtime,
        }
    }
}

/// Never fails, whatever stands there: a message must not vanish because its speaker cannot be
/// read.
impl<'de> Deserialize<'de> for SpeakerMark {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(match value.as_str() {
            Some("owner") => Self::Owner,
            Some("sender") => Self::Sender,
            Some("runtime") => Self::Runtime,
            _ => Self::Unreadable,
        })
    }
}

/// What made a user message. Only a person keeps a session fresh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MessageSource {
    #[default]
    Person,
    Heartbeat,
    Cron,
    Event,
    /// Another session.
    Session,
}

impl MessageSource {
    fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

impl EntryBody {
    /// An entry of a message about which nothing more is known.
    pub fn plain(message: ModelMessage) -> Self {
        Self::Message {
            message,
            meta: EntryMeta::default(),
        }
    }

    /// How safe an entry has to be before work goes on. A power cut must not take an accepted
    /// message, the mark of a call that was about to act, a summary, or that a turn has ended.
    /// Whatever comes in between, an answer or a result, is taken along by the next of these,
    /// and no process that dies takes it away.
    pub fn durability(&self) -> WriteDurability {
        match self {
            Self::Message {
                message: ModelMessage::User { .. },
                ..
            }
            | Self::ToolStarted { .. }
            | Self::Compaction(_)
            | Self::TurnEnded { .. } => WriteDurability::Disk,
            Self::Message { .. }
            | Self::CustomMessage(_)
            | Self::Custom(_)
            | Self::BranchSummary(_)
            | Self::Unknown { .. } => WriteDurability::Process,
        }
    }

    /// The word under which this kind is stored.
    pub fn kind(&self) -> &str {
        match self {
            Self::Message { .. } => "message",
            Self::CustomMessage(_) => "custom_message",
            Self::Custom(_) => "custom",
            Self::Compaction(_) => "compaction",
            Self::BranchSummary(_) => "branch_summary",
            Self::ToolStarted { .. } => "tool_started",
            Self::TurnEnded { .. } => "turn_ended",
            Self::Unknown { kind, .. } => kind,
        }
    }

    pub(super) fn encode(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Message { message, meta } => serde_json::to_string(&Stored { message, meta }),
            Self::CustomMessage(body) => serde_json::to_string(body),
            Self::Custom(body) => serde_json::to_string(body),
            Self::Compaction(body) => serde_json::to_string(body),
            Self::BranchSummary(body) => serde_json::to_string(body),
            Self::ToolStarted { call_id } => serde_json::to_string(call_id),
            Self::TurnEnded { how } => serde_json::to_string(how),
            Self::Unknown { text, .. } => Ok(text.clone()),
        }
    }

    /// As it goes to the disk.
    pub(super) fn encode_without_secrets(
        &self,
        redactor: &Redactor,
    ) -> Result<String, serde_json::Error> {
        let text = self.encode()?;
        Ok(match redactor.redact_json(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        })
    }

    /// Never fails: what cannot be read is kept as [`EntryBody::Unknown`].
    pub(super) fn decode(kind: &str, text: &str) -> Self {
        let body = match kind {
            "message" => serde_json::from_str::<StoredMessage>(text).map(|stored| Self::Message {
                message: stored.message,
                meta: stored.meta,
            }),
            "custom_message" => serde_json::from_str(text).map(Self::CustomMessage),
            "custom" => serde_json::from_str(text).map(Self::Custom),
            "compaction" => serde_json::from_str(text).map(Self::Compaction),
            "branch_summary" => serde_json::from_str(text).map(Self::BranchSummary),
            "tool_started" => {
                serde_json::from_str(text).map(|call_id| Self::ToolStarted { call_id })
            }
            "turn_ended" => serde_json::from_str(text).map(|how| Self::TurnEnded { how }),
            _ => Err(serde::de::Error::custom("unknown kind")),
        };
        body.unwrap_or_else(|_| Self::Unknown {
            kind: kind.to_owned(),
            text: text.to_owned(),
        })
    }
}

#[derive(Serialize)]
struct Stored<'a> {
    message: &'a ModelMessage,
    #[serde(skip_serializing_if = "is_plain")]
    meta: &'a EntryMeta,
}

fn is_plain(meta: &&EntryMeta) -> bool {
    **meta == EntryMeta::default()
}

#[derive(Deserialize)]
struct StoredMessage {
    message: ModelMessage,
    #[serde(default)]
    meta: EntryMeta,
}

impl EntryId {
    pub fn parse(text: &str) -> Option<Self> {
        u32::from_str_radix(text, 16)
            .ok()
            .filter(|n| *n > 0)
            .map(Self)
    }

    /// Whether no entry was written between `before` and this one. Otherwise what lies between
    /// was taken back.
    pub fn is_right_after(self, before: Option<Self>) -> bool {
        before.map_or(0, |id| id.0) + 1 == self.0
    }
}

impl std::fmt::Display for EntryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl Serialize for EntryId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no entry id"))
    }
}
