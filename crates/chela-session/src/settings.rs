//! What was chosen for one session.

use chela_config::model::{ElevatedLevel, ReasoningVisibility, ThinkingLevel, VerboseLevel};
use chela_core::ok_or_warn;
use serde::{Deserialize, Serialize};

/// What was chosen for one session, over the config.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSettings {
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

/// One thing that is changed about a session; `None` gives it back to the config.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionOverride {
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

impl SessionSettings {
    /// What cannot be read was not chosen.
    pub(super) fn of(text: &str) -> Self {
        ok_or_warn!(
            serde_json::from_str(text),
            "what was chosen for a session cannot be read"
        )
        .unwrap_or_default()
    }

    pub(super) fn apply(&mut self, change: SessionOverride) {
        match change {
            SessionOverride::Model(choice) => {
                let (model, source) = choice.unzip();
                self.model = model;
                self.model_source = source;
            }
            SessionOverride::AuthProfile(profile) => self.auth_profile = profile,
            SessionOverride::Thinking(level) => self.thinking = level,
            SessionOverride::Verbose(level) => self.verbose = level,
            SessionOverride::Reasoning(level) => self.reasoning = level,
            SessionOverride::Elevated(level) => self.elevated = level,
            SessionOverride::ResponseUsage(usage) => self.response_usage = usage,
            SessionOverride::SendPolicy(policy) => self.send_policy = policy,
            SessionOverride::Subject(subject) => self.subject = subject,
            // Columns of their own.
            SessionOverride::Label(_)
            | SessionOverride::DisplayName(_)
            | SessionOverride::Pinned(_)
            | SessionOverride::Flushed { .. } => {}
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
        ok_or_warn!(
            serde_json::to_string(self),
            "what was chosen for a session is not kept"
        )
        .unwrap_or_else(|| "{}".to_owned())
    }
}
