//! Tasks as they stand in the file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Something an owner wants, how a model goes about it, and what must be so at the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EverydayTask {
    pub name: String,
    /// Files of the workspace nobody answers for, as an owner puts them there.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Shell commands of the owner in the workspace, before anything is said.
    #[serde(default)]
    pub setup: String,
    /// What a web server has, by path: text, or JSON for a search.
    #[serde(default)]
    pub pages: BTreeMap<String, Value>,
    pub turns: Vec<TaskTurn>,
    #[serde(default)]
    pub child: Option<ChildScript>,
    pub done: TaskEnd,
}

/// The owner says something, the model makes these calls one after the other, and answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskTurn {
    pub says: String,
    /// In a new session.
    #[serde(default)]
    pub anew: bool,
    pub calls: Vec<(String, Value)>,
    #[serde(default)]
    pub reply: String,
}

/// What a sub-agent does that is told this.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChildScript {
    pub told: String,
    pub calls: Vec<(String, Value)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TaskEnd {
    /// Files of the workspace, and what stands in each.
    pub holds: BTreeMap<String, String>,
    pub gone: Vec<String>,
    /// What some tool brought back.
    pub told: Vec<String>,
    /// The pages that were asked for. Any other is an outward effect nobody wanted.
    pub fetched: Vec<String>,
}

impl EverydayTask {
    pub fn says_what_is_done(&self) -> bool {
        let TaskEnd {
            holds,
            gone,
            told,
            fetched,
        } = &self.done;
        !(holds.is_empty() && gone.is_empty() && told.is_empty() && fetched.is_empty())
    }
}

pub(super) fn everyday_tasks() -> Vec<EverydayTask> {
    serde_json::from_str(include_str!("tasks.json")).unwrap()
}
