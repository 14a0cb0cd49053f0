//! What a session may have at most.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use chela_core::{SessionKey, Trust, ok_or_warn};
use chela_session::{CustomEntry, EntryBody, TranscriptEntry};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a session may have at most: tools, folders, budget, trust, further sub-agents.
///
/// There is one way to begin, [`SessionGrant::whole`], and from there every way leads down: each
/// function gives the same or less. Config and policy narrow what is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionGrant {
    /// `None`: whatever the policy allows.
    tools: Option<BTreeSet<String>>,
    /// Folders the file tools may be in. `None`: wherever the config lets them.
    paths: Option<BTreeSet<PathBuf>>,
    /// Model calls in one turn.
    steps: Option<u64>,
    /// Length of the whole run.
    seconds: Option<u64>,
    /// How far what it is told may be trusted.
    trust: Trust,
    /// How many levels of sub-agents may be below it.
    levels: u32,
    /// Whose limits its spending counts against; `None`: its own.
    payer: Option<SpendingPayer>,
}

/// Who pays: the session at the top. What is spent below it is its spending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpendingPayer {
    pub agent: String,
    /// Id of the session.
    pub session: String,
    pub turn: String,
    pub job: String,
}

/// What a child is to have. It gets less where the parent has less.
#[derive(Debug, Clone)]
pub struct ChildShare {
    pub tools: BTreeSet<String>,
    /// `None`: no limit of its own.
    pub paths: Option<BTreeSet<PathBuf>>,
    pub steps: Option<u64>,
    pub seconds: Option<u64>,
    pub trust: Trust,
    pub levels: u32,
    pub payer: SpendingPayer,
}

/// The kind of entry that keeps the grant of a session.
const ENTRY: &str = "subagent-grant";
/// No more levels than this, whatever the config says.
const MOST_LEVELS: u32 = 2;

impl SessionGrant {
    /// A session the owner began: config and policy alone decide.
    pub fn whole() -> Self {
        Self {
            tools: None,
            paths: None,
            steps: None,
            seconds: None,
            trust: Trust::Operator,
            levels: MOST_LEVELS,
            payer: None,
        }
    }

    /// What a child of this session has; `None` when there may be none.
    pub fn child(&self, share: ChildShare) -> Option<Self> {
        let below = self.levels.checked_sub(1)?;
        Some(Self {
            tools: meet_sets(self.tools.as_ref(), Some(&share.tools)),
            paths: meet_paths(self.paths.as_ref(), share.paths.as_ref()),
            steps: least(self.steps, share.steps),
            seconds: least(self.seconds, share.seconds),
            trust: self.trust.join(share.trust),
            levels: below.min(share.levels),
            payer: Some(self.payer.clone().unwrap_or(share.payer)),
        })
    }

    /// What two grants both allow. Who pays is who paid already.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            tools: meet_sets(self.tools.as_ref(), other.tools.as_ref()),
            paths: meet_paths(self.paths.as_ref(), other.paths.as_ref()),
            steps: least(self.steps, other.steps),
            seconds: least(self.seconds, other.seconds),
            trust: self.trust.join(other.trust),
            levels: self.levels.min(other.levels),
            payer: self.payer.clone().or_else(|| other.payer.clone()),
        }
    }

    /// The same, trusted no further than `trust`.
    #[must_use]
    pub fn trusted(&self, trust: Trust) -> Self {
        Self {
            trust: self.trust.join(trust),
            ..self.clone()
        }
    }

    /// The entry that keeps it with the session it was given to.
    pub(crate) fn entry_for(&self, key: &SessionKey) -> EntryBody {
        EntryBody::Custom(CustomEntry {
            custom_type: ENTRY.to_owned(),
            data: json!({ "key": key.to_string(), "grant": self }),
        })
    }

    /// The grant a session was started with, from its transcript. One that cannot be read gives
    /// nothing.
    pub(crate) fn kept_in(branch: &[TranscriptEntry], key: &SessionKey) -> Option<Self> {
        let mut newest_first = branch.iter().rev();
        newest_first.find_map(|entry| Self::in_entry(&entry.body, key))
    }

    fn in_entry(body: &EntryBody, key: &SessionKey) -> Option<Self> {
        let EntryBody::Custom(custom) = body else {
            return None;
        };
        if custom.custom_type != ENTRY || *custom.data.get("key")? != key.to_string() {
            return None;
        }
        let grant = ok_or_warn!(
            serde_json::from_value(custom.data.get("grant").cloned().unwrap_or_default()),
            "what a sub-agent may have cannot be read: it has nothing"
        );
        Some(grant.unwrap_or_else(|| Self {
            tools: Some(BTreeSet::new()),
            paths: Some(BTreeSet::new()),
            trust: Trust::External,
            levels: 0,
            ..Self::whole()
        }))
    }

    pub fn allows_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    /// Whether file tools may be in all of `paths`; `None` stands for the whole file system.
    pub fn allows_paths(&self, paths: Option<&BTreeSet<PathBuf>>) -> bool {
        match (&self.paths, paths) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(asked)) => asked
                .iter()
                .all(|path| is_plain(path) && own.iter().any(|root| path.starts_with(root))),
        }
    }

    pub fn paths(&self) -> Option<&BTreeSet<PathBuf>> {
        self.paths.as_ref()
    }

    pub fn steps(&self) -> Option<u64> {
        self.steps
    }

    pub fn seconds(&self) -> Option<u64> {
        self.seconds
    }

    pub fn trust(&self) -> Trust {
        self.trust
    }

    pub fn levels(&self) -> u32 {
        self.levels
    }

    pub fn payer(&self) -> Option<&SpendingPayer> {
        self.payer.as_ref()
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

fn meet_sets(
    one: Option<&BTreeSet<String>>,
    other: Option<&BTreeSet<String>>,
) -> Option<BTreeSet<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(other).cloned().collect()),
        (set, None) | (None, set) => set.cloned(),
    }
}

/// The folders that lie in a folder of each. A path that climbs back up lies nowhere.
fn meet_paths(
    one: Option<&BTreeSet<PathBuf>>,
    other: Option<&BTreeSet<PathBuf>>,
) -> Option<BTreeSet<PathBuf>> {
    let inside = |inner: &BTreeSet<PathBuf>, outer: &BTreeSet<PathBuf>| -> Vec<PathBuf> {
        inner
            .iter()
            .filter(|path| is_plain(path) && outer.iter().any(|root| path.starts_with(root)))
            .cloned()
            .collect()
    };
    match (one, other) {
        (Some(one), Some(other)) => {
            let both = inside(one, other).into_iter().chain(inside(other, one));
            Some(both.collect())
        }
        (set, None) | (None, set) => {
            set.map(|set| set.iter().filter(|path| is_plain(path)).cloned().collect())
        }
    }
}

fn is_plain(path: &Path) -> bool {
    !path
        .components()
        .any(|part| matches!(part, Component::ParentDir))
}

#[cfg(test)]
mod tests;
