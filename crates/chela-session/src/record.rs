//! What is kept about a session besides its transcript.

use std::sync::Arc;

use chela_core::{SessionKey, ok_or_warn};
use chela_model::{ToolSchema, Usage};
use chela_store::{SessionChange, SessionChanged, SessionRecord, UsageSums, WriteDurability};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::EntryId;
use super::reset::ResetRules;
use super::settings::{SessionOverride, SessionSettings};
use super::store::{OpenSession, SessionError, SessionId, Sessions, if_there, stored_key};

/// A session as lists and commands see it. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub session_id: SessionId,
    pub key: SessionKey,
    #[serde(rename = "sessionStartedAt")]
    pub started: u64,
    #[serde(rename = "updatedAt")]
    pub updated: u64,
    /// When a person last wrote.
    #[serde(rename = "lastInteractionAt")]
    pub interacted: u64,
    #[serde(rename = "endedAt", skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_why: Option<String>,
    #[serde(rename = "archivedAt", skip_serializing_if = "Option::is_none")]
    pub archived: Option<u64>,
    pub pinned: bool,
    /// The session it was forked from.
    #[serde(rename = "parentSession", skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(flatten)]
    pub settings: SessionSettings,
    #[serde(flatten)]
    pub totals: SessionTotals,
    pub entries: u64,
    /// Size of the transcript.
    pub bytes: u64,
    /// Grows with every change.
    pub state_version: u64,
}

/// Sums over a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTotals {
    #[serde(rename = "inputTokens")]
    pub input: u64,
    #[serde(rename = "outputTokens")]
    pub output: u64,
    #[serde(rename = "cacheReadTokens")]
    pub cache_read: u64,
    #[serde(rename = "cacheWriteTokens")]
    pub cache_write: u64,
    /// Tokens of the newest request.
    #[serde(rename = "contextTokens")]
    pub context: u64,
    #[serde(rename = "compactionCount")]
    pub compactions: u64,
    #[serde(rename = "memoryFlushAt", skip_serializing_if = "Option::is_none")]
    pub flushed_at: Option<u64>,
    #[serde(
        rename = "memoryFlushCompactionCount",
        skip_serializing_if = "Option::is_none"
    )]
    pub flushed_compaction: Option<u64>,
}

impl SessionTotals {
    pub fn usage(&self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            ..Usage::default()
        }
    }
}

/// What a call to a model cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsageOfCall {
    pub usage: Usage,
    /// The tokens of the request it was.
    pub context: u64,
}

/// The part of every request that must not move while a session lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrozenPrefix {
    /// The stable zone of the system prompt.
    pub stable: String,
    /// In the order they are sent.
    pub tools: Vec<FrozenTool>,
    /// Names of the tools it may use and was not told of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// What the stable zone is made of, in order.
    #[serde(default)]
    pub sections: Vec<chela_ledger::SectionMark>,
    /// `provider/model` it was made for.
    pub model: String,
    /// The compaction after which it was made: another one lets it be made anew, and taking that
    /// one back brings this one back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<EntryId>,
    /// Milliseconds since 1970.
    pub made_at: u64,
}

/// A tool as it was offered first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrozenTool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

impl From<ToolSchema> for FrozenTool {
    fn from(tool: ToolSchema) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: Arc::unwrap_or_clone(tool.parameters),
        }
    }
}

impl From<FrozenTool> for ToolSchema {
    fn from(tool: FrozenTool) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: Arc::new(tool.parameters),
        }
    }
}

impl SessionInfo {
    pub(super) fn of(record: SessionRecord) -> Self {
        Self {
            session_id: SessionId(record.id),
            key: stored_key(&record.key),
            started: record.started,
            updated: record.updated,
            interacted: record.interacted,
            ended: record.ended,
            ended_why: record.ended_why,
            archived: record.archived,
            pinned: record.pinned,
            parent: record.parent.map(SessionId),
            label: record.label,
            display_name: record.display_name,
            settings: SessionSettings::of(&record.settings),
            totals: SessionTotals {
                input: record.usage.input,
                output: record.usage.output,
                cache_read: record.usage.cache_read,
                cache_write: record.usage.cache_write,
                context: record.usage.context,
                compactions: record.compactions,
                flushed_at: record.flushed_at,
                flushed_compaction: record.flushed_compaction,
            },
            entries: record.entries,
            bytes: record.bytes,
            state_version: record.version,
        }
    }

    /// What a person calls it.
    pub fn name(&self) -> Option<&str> {
        self.label.as_deref().or(self.display_name.as_deref())
    }
}

impl Sessions {
    pub async fn info(&self, session: &OpenSession) -> Result<SessionInfo, SessionError> {
        Ok(SessionInfo::of(self.record(session).await?))
    }

    /// The session a key stands for, as [`Sessions::current`] gives it, with what is known of it
    /// where it goes on: one look at the store.
    pub async fn current_with_info(
        &self,
        key: &SessionKey,
        rules: &ResetRules,
    ) -> Result<(OpenSession, Option<SessionInfo>), SessionError> {
        let (session, record) = self.current_record(key, rules).await?;
        Ok((session, record.map(SessionInfo::of)))
    }

    async fn record(&self, session: &OpenSession) -> Result<SessionRecord, SessionError> {
        let found = self.store.by_id(session.id.as_str()).await?;
        found.ok_or(SessionError::Gone)
    }

    /// Changes one thing about a session.
    pub async fn set(
        &self,
        session: &OpenSession,
        change: SessionOverride,
    ) -> Result<(), SessionError> {
        loop {
            let change = match change.clone() {
                SessionOverride::Label(label) => SessionChange::Label(label),
                SessionOverride::DisplayName(name) => SessionChange::DisplayName(name),
                SessionOverride::Pinned(pinned) => SessionChange::Pinned(pinned),
                SessionOverride::Flushed { compaction } => SessionChange::Flushed {
                    at: self.now(),
                    compaction,
                },
                other => {
                    let record = self.record(session).await?;
                    let mut settings = SessionSettings::of(&record.settings);
                    settings.apply(other);
                    SessionChange::Settings {
                        text: settings.text(),
                        version: record.version,
                    }
                }
            };
            match self.store.set(session.id.as_str(), change).await? {
                SessionChanged::Changed => return Ok(()),
                // Nothing of theirs is lost.
                SessionChanged::Overtaken => {
                    tracing::debug!(session = %session.id, "another process changed the session: \
                        trying again");
                }
                SessionChanged::Gone => return Err(SessionError::Gone),
            }
        }
    }

    /// The part of the requests that was fixed when the session began, once it has been.
    pub async fn frozen(
        &self,
        session: &OpenSession,
    ) -> Result<Option<FrozenPrefix>, SessionError> {
        let text = self.store.frozen(session.id.as_str()).await?;
        let read = text.map(|text| serde_json::from_str(&text));
        Ok(read.and_then(|read| {
            ok_or_warn!(read, "the fixed part of a session's requests is \
            rebuilt", session = %session.id)
        }))
    }

    /// Fixes it, or replaces it: after a change of model or tools that was asked for.
    pub async fn freeze(
        &self,
        session: &OpenSession,
        frozen: &FrozenPrefix,
    ) -> Result<(), SessionError> {
        let text = serde_json::to_string(frozen).map_err(|source| self.unwritable(source))?;
        if_there(self.store.freeze(session.id.as_str(), text).await?)
    }

    /// Adds what a call cost. `context`: the tokens of the request it was. Safe from the death
    /// of the process; what is said next takes it to the disk.
    pub async fn add_usage(
        &self,
        session: &OpenSession,
        usage: Usage,
        context: u64,
    ) -> Result<(), SessionError> {
        let usage = UsageOfCall { usage, context };
        let added =
            self.store
                .add_usage(session.id.as_str(), usage.into(), WriteDurability::Process);
        if_there(added.await?)
    }
}

impl From<UsageOfCall> for UsageSums {
    fn from(call: UsageOfCall) -> Self {
        Self {
            input: call.usage.input,
            output: call.usage.output,
            cache_read: call.usage.cache_read,
            cache_write: call.usage.cache_write,
            context: call.context,
        }
    }
}
