//! A job: what is to be done, when, in which session, and who asked for it.

use chela_core::{AgentId, SessionForm, SessionKey, Trust};
use serde::{Deserialize, Serialize};

use crate::job_delivery::{DeliveryMode, JobDelivery};
use crate::run_note::RunStatus;
use crate::{JobSchedule, UnixMillis};

/// So late a missed run is still made up for, unless the job says otherwise.
pub const USUAL_GRACE: u64 = 2 * 3_600_000;

/// What somebody wants done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSpec {
    pub name: String,
    pub agent: AgentId,
    pub schedule: JobSchedule,
    pub session: SessionTarget,
    pub payload: JobPayload,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    pub missed: MissedPolicy,
    #[serde(default = "usual_grace")]
    pub grace: u64,
    /// Further tries after a failure; `None`: as the config says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Where the answer goes; `None`: as usual for its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<JobDelivery>,
    pub made: JobOrigin,
}

impl JobSpec {
    /// Where the answer goes. Nobody reads a conversation of its own, so what is said there is
    /// announced; elsewhere it stands where it was asked for.
    pub fn settled_delivery(&self) -> JobDelivery {
        let usual = match self.session {
            SessionTarget::Isolated => DeliveryMode::Announce,
            SessionTarget::Main | SessionTarget::Named { .. } => DeliveryMode::None,
        };
        let own = self.delivery.clone();
        own.unwrap_or_else(|| JobDelivery::of(usual))
    }

    /// Whether the owner wrote its name and its text, and nobody changed them since.
    pub fn has_owners_words(&self) -> bool {
        self.made.by == JobMaker::Owner && self.made.trust >= Trust::Operator
    }
}

fn usual_grace() -> u64 {
    USUAL_GRACE
}

/// Which conversation a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum SessionTarget {
    /// The agent's main conversation.
    Main,
    /// A fresh one for each run.
    Isolated,
    /// This one.
    Named { key: SessionKey },
}

impl SessionTarget {
    /// The session of one run.
    pub fn key(&self, agent: &AgentId, job: &str, planned: UnixMillis) -> SessionKey {
        match self {
            Self::Main => SessionKey::main(agent),
            Self::Named { key } => key.clone(),
            Self::Isolated => SessionKey {
                agent: Some(agent.to_string()),
                form: SessionForm::Cron {
                    job: job.to_owned(),
                    run: Some(planned.to_string()),
                },
                thread: None,
            },
        }
    }

    pub fn in_words(&self) -> String {
        match self {
            Self::Main => "main".to_owned(),
            Self::Isolated => "isolated".to_owned(),
            Self::Named { key } => key.to_string(),
        }
    }
}

/// What a run is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum JobPayload {
    /// A message for the agent: a turn is run with it.
    Message { text: String },
    /// An event that is told in the conversation, with a turn about it.
    Event { text: String },
}

impl JobPayload {
    pub fn text(&self) -> &str {
        match self {
            Self::Message { text } | Self::Event { text } => text,
        }
    }
}

/// What is done about runs that were missed while nothing ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissedPolicy {
    Skip,
    /// The newest stands for all.
    #[default]
    Once,
    All,
}

impl MissedPolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Once => "once",
            Self::All => "all",
        }
    }
}

/// Who made a job, when, in what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobOrigin {
    pub by: JobMaker,
    pub at: UnixMillis,
    /// The conversation it was made in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// How far its words are trusted. What was made after foreign text stays foreign.
    pub trust: Trust,
    /// What was said before it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobMaker {
    /// By a command of theirs.
    Owner,
    Agent,
}

/// A line of the conversation a job was made in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLine {
    pub who: String,
    pub text: String,
}

/// What is known of how a job went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobState {
    /// When what is next was planned: a clock that shows less since was set back.
    pub planned_at: UnixMillis,
    /// Failures in a row.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u32,
    pub runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
    /// Why it is not due any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<JobEnd>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    pub planned: UnixMillis,
    pub at: UnixMillis,
    pub status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why a job does not run any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum JobEnd {
    /// The owner or the agent paused it.
    Paused,
    /// It failed too often in a row.
    FailedTooOften { failures: u32 },
    /// It was to run once, and did.
    Done,
    /// It was to run once, and failed.
    FailedOnce,
    /// It was to run once, and nothing ran at that time.
    MissedOnce,
}

impl JobEnd {
    pub fn in_words(&self) -> String {
        match self {
            Self::Paused => "paused".to_owned(),
            Self::FailedTooOften { failures } => {
                format!("switched off after {failures} failures in a row")
            }
            Self::Done => "done".to_owned(),
            Self::FailedOnce => "failed".to_owned(),
            Self::MissedOnce => "missed: nothing ran at its time".to_owned(),
        }
    }
}
