//! What is kept of a run on disk, so that no end of one is lost: a mark in the parent's session
//! when it starts, one when it ends. Which ends the model has heard of stands with the message
//! that told it.

use std::collections::BTreeSet;

use chela_core::{SessionKey, Trust, ok_or_warn};
use chela_files::this_boot;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use chela_session::{CustomEntry, EntryBody, OpenSession, SessionError, Sessions, TranscriptEntry};

const KIND: &str = "subagent-run";
/// A run whose process cannot be asked is given up after this long.
const STALE_MS: u64 = 2 * 60 * 60 * 1_000;

/// One mark of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunMark {
    pub run: String,
    /// The session that started it: a forked session holds the marks of another one.
    pub parent: String,
    pub child: String,
    pub label: String,
    /// Milliseconds since 1970.
    pub at: u64,
    pub state: RunState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub(crate) enum RunState {
    Started {
        pid: u32,
        /// The run of the machine the process number is of; marks of older builds name none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        boot: Option<String>,
    },
    Ended {
        status: RunStatus,
        result: String,
        trust: Trust,
        stats: String,
        /// The sub-agent asked that nobody be told.
        #[serde(default)]
        quiet: bool,
    },
}

/// How a run ended: the runtime's word, never the model's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "why", rename_all = "camelCase")]
pub(crate) enum RunStatus {
    Done,
    Stopped,
    Limit(String),
    Failed(String),
    /// The process ended before the run did.
    Interrupted,
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Stopped => f.write_str("stopped"),
            Self::Limit(why) => write!(f, "limit: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Interrupted => f.write_str("interrupted: the process ended before it did"),
        }
    }
}

impl RunMark {
    pub async fn write(
        &self,
        sessions: &Sessions,
        session: &OpenSession,
    ) -> Result<(), SessionError> {
        let data = serde_json::to_value(self).unwrap_or_default();
        let custom = CustomEntry {
            custom_type: KIND.to_owned(),
            data,
        };
        sessions
            .append(session, EntryBody::Custom(custom))
            .await
            .map(drop)
    }

    fn of(entry: &TranscriptEntry) -> Option<Self> {
        match &entry.body {
            EntryBody::Custom(custom) if custom.custom_type == KIND => {
                let read = serde_json::from_value(custom.data.clone());
                let read: Option<Self> =
                    ok_or_warn!(read, "the mark of a sub-agent's run cannot be read");
                read.or_else(|| Self::of_unreadable(&custom.data))
            }
            _ => None,
        }
    }

    /// What can be known of a run whose mark cannot be read: that it was there. It counts as broken
    /// off, and as foreign.
    fn of_unreadable(data: &Value) -> Option<Self> {
        let word = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            run: word("run")?,
            parent: word("parent")?,
            child: word("child").unwrap_or_default(),
            label: String::new(),
            at: data.get("at").and_then(Value::as_u64).unwrap_or_default(),
            state: RunState::Ended {
                status: RunStatus::Failed("its record cannot be read".to_owned()),
                result: String::new(),
                trust: Trust::External,
                stats: String::new(),
                quiet: false,
            },
        })
    }
}

/// A run that has ended and that the model has not heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedRun {
    pub run: String,
    pub child: String,
    pub label: String,
    pub status: RunStatus,
    pub result: String,
    pub trust: Trust,
    pub stats: String,
}

/// What the runs of `own` came to that nobody has been told, from its branch. `runs_on` says of
/// a run without an end whether it still runs.
pub(crate) fn untold(
    branch: &[TranscriptEntry],
    own: &SessionKey,
    runs_on: &dyn Fn(&str, RunnerProcess<'_>, MarkAge) -> bool,
    now: u64,
) -> Vec<EndedRun> {
    let own = own.to_string();
    let told: BTreeSet<String> = branch.iter().flat_map(told_by).collect();
    let marks: Vec<RunMark> = branch
        .iter()
        .filter_map(RunMark::of)
        .filter(|mark| mark.parent == own && !told.contains(&mark.run))
        .collect();
    let ended: BTreeSet<&str> = marks
        .iter()
        .filter(|mark| matches!(mark.state, RunState::Ended { .. }))
        .map(|mark| mark.run.as_str())
        .collect();
    marks
        .iter()
        .filter_map(|mark| match &mark.state {
            RunState::Ended { quiet: true, .. } => None,
            RunState::Ended {
                status,
                result,
                trust,
                stats,
                ..
            } => Some(EndedRun {
                run: mark.run.clone(),
                child: mark.child.clone(),
                label: mark.label.clone(),
                status: status.clone(),
                result: result.clone(),
                trust: *trust,
                stats: stats.clone(),
            }),
            RunState::Started { pid, boot } => {
                let runner = RunnerProcess {
                    pid: *pid,
                    boot: boot.as_deref().unwrap_or_else(|| this_boot()),
                };
                let age = match now.saturating_sub(mark.at) > STALE_MS {
                    true => MarkAge::Stale,
                    false => MarkAge::Young,
                };
                let over = !ended.contains(mark.run.as_str()) && !runs_on(&mark.run, runner, age);
                over.then(|| EndedRun {
                    run: mark.run.clone(),
                    child: mark.child.clone(),
                    label: mark.label.clone(),
                    status: RunStatus::Interrupted,
                    result: String::new(),
                    // What it had read by then is not known, and its label is its starter's.
                    trust: Trust::Agent,
                    stats: format!("session {}", mark.child),
                })
            }
        })
        .collect()
}

/// The process a run was started in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunnerProcess<'a> {
    pub pid: u32,
    pub boot: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkAge {
    Young,
    Stale,
}

/// The runs a message told of.
fn told_by(entry: &TranscriptEntry) -> Vec<String> {
    let details = match &entry.body {
        EntryBody::Message { meta, .. } => &meta.details,
        EntryBody::CustomMessage(custom) => &custom.details,
        _ => return Vec::new(),
    };
    details
        .get("runs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|run| run.as_str().map(str::to_owned))
        .collect()
}
