//! What is kept of a run on disk, so that no end of one is lost: a mark in the parent's session
//! when it starts, one when it ends. Which ends the model has heard of stands with the message
//! that told it.

use std::collections::BTreeSet;

use chela_core::{SessionKey, Trust};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use chela_session::{Body, Custom, Entry, Session, SessionError, Sessions};

const KIND: &str = "subagent-run";
/// A run whose process cannot be asked is given up after this long.
const STALE_MS: u64 = 2 * 60 * 60 * 1_000;

/// One mark of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mark {
    pub run: String,
    /// The session that started it: a forked session holds the marks of another one.
    pub parent: String,
    pub child: String,
    pub label: String,
    /// Milliseconds since 1970.
    pub at: u64,
    pub state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub(crate) enum State {
    Started {
        pid: u32,
    },
    Ended {
        status: Status,
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
pub(crate) enum Status {
    Done,
    Stopped,
    Limit(String),
    Failed(String),
    /// The process ended before the run did.
    Interrupted,
}

impl std::fmt::Display for Status {
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

impl Mark {
    pub async fn write(&self, sessions: &Sessions, session: &Session) -> Result<(), SessionError> {
        let data = serde_json::to_value(self).unwrap_or_default();
        let custom = Custom {
            custom_type: KIND.to_owned(),
            data,
        };
        sessions
            .append(session, Body::Custom(custom))
            .await
            .map(drop)
    }

    fn of(entry: &Entry) -> Option<Self> {
        match &entry.body {
            Body::Custom(custom) if custom.custom_type == KIND => {
                serde_json::from_value(custom.data.clone()).ok()
            }
            _ => None,
        }
    }
}

/// A run that has ended and that the model has not heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct News {
    pub run: String,
    pub child: String,
    pub label: String,
    pub status: Status,
    pub result: String,
    pub trust: Trust,
    pub stats: String,
}

/// What the runs of `own` came to that nobody has been told, from its branch. `runs_on` says of
/// a run without an end whether it still runs.
pub(crate) fn untold(
    branch: &[Entry],
    own: &SessionKey,
    runs_on: &dyn Fn(&str, u32, Age) -> bool,
    now: u64,
) -> Vec<News> {
    let own = own.to_string();
    let told: BTreeSet<String> = branch.iter().flat_map(told_by).collect();
    let marks: Vec<Mark> = branch
        .iter()
        .filter_map(Mark::of)
        .filter(|mark| mark.parent == own && !told.contains(&mark.run))
        .collect();
    let ended: BTreeSet<&str> = marks
        .iter()
        .filter(|mark| matches!(mark.state, State::Ended { .. }))
        .map(|mark| mark.run.as_str())
        .collect();
    marks
        .iter()
        .filter_map(|mark| match &mark.state {
            State::Ended { quiet: true, .. } => None,
            State::Ended {
                status,
                result,
                trust,
                stats,
                ..
            } => Some(News {
                run: mark.run.clone(),
                child: mark.child.clone(),
                label: mark.label.clone(),
                status: status.clone(),
                result: result.clone(),
                trust: *trust,
                stats: stats.clone(),
            }),
            State::Started { pid } => {
                let age = match now.saturating_sub(mark.at) > STALE_MS {
                    true => Age::Stale,
                    false => Age::Young,
                };
                let over = !ended.contains(mark.run.as_str()) && !runs_on(&mark.run, *pid, age);
                over.then(|| News {
                    run: mark.run.clone(),
                    child: mark.child.clone(),
                    label: mark.label.clone(),
                    status: Status::Interrupted,
                    result: String::new(),
                    trust: Trust::Agent,
                    stats: format!("session {}", mark.child),
                })
            }
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    Young,
    Stale,
}

/// The runs a message told of.
fn told_by(entry: &Entry) -> Vec<String> {
    let details = match &entry.body {
        Body::Message { meta, .. } => &meta.details,
        Body::CustomMessage(custom) => &custom.details,
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
