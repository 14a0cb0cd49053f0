//! What is kept about a session besides its transcript.

use chela_config::model::{ElevatedLevel, ReasoningVisibility, ThinkingLevel, VerboseLevel};
use chela_core::SessionKey;
use chela_model::ToolSchema;
use chela_store::{Durability, SessionChange, SessionChanged, SessionRecord};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::EntryId;
use super::store::{Session, SessionError, SessionId, Sessions, if_there};
use super::transcript::UsageOfCall;

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
    pub settings: Settings,
    #[serde(flatten)]
    pub totals: Totals,
    pub entries: u64,
    /// Size of the transcript.
    pub bytes: u64,
    /// Grows with every change.
    pub state_version: u64,
}

/// What was chosen for one session, over the config.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// `provider/model`.
    #[serde(rename = "modelOverride", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(
        rename = "modelOverrideSource",
        skip_serializing_if = "Option::is_none"
    )]
    pub model_source: Option<ModelSource>,
    #[serde(
        rename = "authProfileOverride",
        skip_serializing_if = "Option::is_none"
    )]
    pub auth_profile: Option<String>,
    #[serde(rename = "thinkingLevel", skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    #[serde(rename = "verboseLevel", skip_serializing_if = "Option::is_none")]
    pub verbose: Option<VerboseLevel>,
    #[serde(rename = "reasoningLevel", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningVisibility>,
    #[serde(rename = "elevatedLevel", skip_serializing_if = "Option::is_none")]
    pub elevated: Option<ElevatedLevel>,
    /// Whether replies end with what they cost: `off`, `tokens`, `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// Who chose the model of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelSource {
    User,
    /// A fallback that stuck; forgotten when the session starts anew.
    Auto,
}

/// Sums over a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
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

impl Totals {
    pub fn usage(&self) -> chela_model::Usage {
        chela_model::Usage {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            ..chela_model::Usage::default()
        }
    }
}

/// One thing that is changed about a session; `None` gives it back to the config.
#[derive(Debug, Clone, PartialEq)]
pub enum Override {
    Model(Option<(String, ModelSource)>),
    AuthProfile(Option<String>),
    Thinking(Option<ThinkingLevel>),
    Verbose(Option<VerboseLevel>),
    Reasoning(Option<ReasoningVisibility>),
    Elevated(Option<ElevatedLevel>),
    ResponseUsage(Option<String>),
    SendPolicy(Option<String>),
    Subject(Option<String>),
    Label(Option<String>),
    DisplayName(Option<String>),
    /// A pinned session is never cleaned up.
    Pinned(bool),
    /// Memory was flushed now, before this compaction.
    Flushed {
        compaction: u64,
    },
}

/// The part of every request that must not move while a session lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frozen {
    /// The stable zone of the system prompt.
    pub stable: String,
    /// In the order they are sent.
    pub tools: Vec<FrozenTool>,
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
            parameters: tool.parameters,
        }
    }
}

impl From<FrozenTool> for ToolSchema {
    fn from(tool: FrozenTool) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
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
            settings: Settings::of(&record.settings),
            totals: Totals {
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

/// Keys are checked when they are stored; one that another program wrote is kept as it is.
pub(super) fn stored_key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap_or_else(|_| SessionKey {
        agent: None,
        form: chela_core::SessionForm::Other {
            rest: text.to_owned(),
        },
        thread: None,
    })
}

impl Sessions {
    pub async fn info(&self, session: &Session) -> Result<SessionInfo, SessionError> {
        Ok(SessionInfo::of(self.record(session).await?))
    }

    async fn record(&self, session: &Session) -> Result<SessionRecord, SessionError> {
        let found = self.store.by_id(session.id.as_str()).await?;
        found.ok_or(SessionError::Gone)
    }

    /// Changes one thing about a session.
    pub async fn set(&self, session: &Session, change: Override) -> Result<(), SessionError> {
        loop {
            let change = match change.clone() {
                Override::Label(label) => SessionChange::Label(label),
                Override::DisplayName(name) => SessionChange::DisplayName(name),
                Override::Pinned(pinned) => SessionChange::Pinned(pinned),
                Override::Flushed { compaction } => SessionChange::Flushed {
                    at: self.now(),
                    compaction,
                },
                other => {
                    let record = self.record(session).await?;
                    let mut settings = Settings::of(&record.settings);
                    settings.apply(other);
                    SessionChange::Settings {
                        text: settings.text(),
                        version: record.version,
                    }
                }
            };
            match self.store.set(session.id.as_str(), change).await? {
                SessionChanged::Changed => return Ok(()),
                // Somebody changed something meanwhile: nothing of theirs is lost.
                SessionChanged::Overtaken => {}
                SessionChanged::Gone => return Err(SessionError::Gone),
            }
        }
    }

    /// The part of the requests that was fixed when the session began, once it has been.
    pub async fn frozen(&self, session: &Session) -> Result<Option<Frozen>, SessionError> {
        let text = self.store.frozen(session.id.as_str()).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Fixes it, or replaces it: after a change of model or tools that was asked for.
    pub async fn freeze(&self, session: &Session, frozen: &Frozen) -> Result<(), SessionError> {
        let text = serde_json::to_string(frozen).map_err(|source| self.unwritable(source))?;
        if_there(self.store.freeze(session.id.as_str(), text).await?)
    }

    /// Adds what a call cost. `context`: the tokens of the request it was. Safe from the death
    /// of the process; what is said next takes it to the disk.
    pub async fn add_usage(
        &self,
        session: &Session,
        usage: chela_model::Usage,
        context: u64,
    ) -> Result<(), SessionError> {
        let usage = UsageOfCall { usage, context };
        let added = self
            .store
            .add_usage(session.id.as_str(), usage.into(), Durability::Process);
        if_there(added.await?)
    }
}

impl Settings {
    /// What cannot be read was not chosen.
    pub(super) fn of(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    fn apply(&mut self, change: Override) {
        match change {
            Override::Model(choice) => {
                let (model, source) = choice.unzip();
                self.model = model;
                self.model_source = source;
            }
            Override::AuthProfile(profile) => self.auth_profile = profile,
            Override::Thinking(level) => self.thinking = level,
            Override::Verbose(level) => self.verbose = level,
            Override::Reasoning(level) => self.reasoning = level,
            Override::Elevated(level) => self.elevated = level,
            Override::ResponseUsage(usage) => self.response_usage = usage,
            Override::SendPolicy(policy) => self.send_policy = policy,
            Override::Subject(subject) => self.subject = subject,
            // Columns of their own.
            Override::Label(_)
            | Override::DisplayName(_)
            | Override::Pinned(_)
            | Override::Flushed { .. } => {}
        }
    }

    /// What goes on when a session starts anew: what the person chose, not what stuck by itself.
    pub(super) fn carried(mut self) -> Self {
        if self.model_source == Some(ModelSource::Auto) {
            self.model = None;
            self.model_source = None;
            self.auth_profile = None;
        }
        self.elevated = None;
        self
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }
}
