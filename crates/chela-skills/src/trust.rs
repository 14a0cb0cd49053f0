//! Which skills the owner trusts: a lock over every file of every skill.
//!
//! A skill is code in natural language, so it has a state. What is compiled in is trusted by the
//! hash of the build. What lies in the owner's own folders is trusted on first sight and watched
//! from then on. What came with somebody else's files is quarantined until the owner says
//! otherwise, and again as soon as it changes. Quarantined skills are never in a prompt.

mod agent_hand;
mod lock;
mod scanner;

use serde::Serialize;

pub use crate::scan_report::{ScanReport, ScanVerdict};
pub use agent_hand::AgentHand;
pub use lock::{
    FileChange, FileChangeKind, LockEntry, LockError, TrustLock, TrustNotice, TrustedBy, changes,
};
pub use scanner::{FirstLook, SkillContents, SkillScanner};

use crate::bundled;
use crate::settings::OnChange;
use crate::signature::{Publishers, Signature};
use crate::skill::Skill;
use crate::source::{Source, Standing};

/// Where a skill stands with its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustState {
    Trusted,
    /// Seen for the first time, in one of the owner's own folders.
    New,
    /// Its files are no longer those that were trusted.
    Changed,
    /// Not used until the owner trusts it.
    Quarantined,
}

impl TrustState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Quarantined => "quarantined",
        }
    }

    /// Whether a skill in this state may be listed and loaded.
    pub fn may_be_used(self) -> bool {
        self != Self::Quarantined
    }
}

/// A state and why it is so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trusting {
    pub state: TrustState,
    pub reason: String,
    /// Who answers for these very files.
    pub voucher: Voucher,
    /// Whether the owner is to be told, once.
    pub news: News,
}

/// Whether a state is one the owner should hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum News {
    Told,
    Nothing,
}

/// Who answers for the files of a skill. Using one nobody answers for is fine; taking its words
/// for the owner's is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Voucher {
    Build,
    Publisher,
    Owner,
    /// The agent wrote them, having read nothing foreign.
    Agent,
    Nobody,
}

impl Trusting {
    fn new(state: TrustState, reason: impl Into<String>) -> Self {
        Self {
            state,
            reason: reason.into(),
            voucher: Voucher::Nobody,
            news: News::Nothing,
        }
    }

    fn told(self) -> Self {
        Self {
            news: News::Told,
            ..self
        }
    }

    fn vouched(self, voucher: Voucher) -> Self {
        Self { voucher, ..self }
    }
}

/// What the operator wants of trust.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    pub on_change: OnChange,
    pub publishers: &'a Publishers,
}

/// Where a skill stands, by its signature, the lock and the policy for changes.
pub fn judge(skill: &Skill, lock: &TrustLock, policy: &Policy<'_>) -> Trusting {
    use TrustState::{Changed, New, Quarantined, Trusted};
    if let Some(trusting) = by_signature(skill, lock, policy.publishers) {
        return trusting;
    }
    let standing = match skill.source.standing() {
        Standing::Foreign if lock.trusts_folder_of(skill) => Standing::Own,
        standing => standing,
    };
    let Some(entry) = lock.entry(skill) else {
        return match standing {
            Standing::BuiltIn if bundled::is_genuine(&skill.name, skill.tree) => {
                Trusting::new(Trusted, "it is part of this build").vouched(Voucher::Build)
            }
            Standing::BuiltIn => {
                Trusting::new(Quarantined, "its files are not those of this build")
            }
            Standing::Own => {
                Trusting::new(New, "it is in a folder of yours and was not seen before")
            }
            Standing::Foreign => Trusting::new(Quarantined, foreign_reason(&skill.source)),
        };
    };
    if let Some(why) = &entry.quarantined {
        let trusting = Trusting::new(Quarantined, why.clone());
        let is_known = entry.by == TrustedBy::Owner && entry.turn.is_none();
        return match is_known {
            true => trusting,
            false => trusting.told(),
        };
    }
    if entry.tree == skill.tree {
        let (reason, voucher) = match entry.by {
            TrustedBy::FirstSight => ("its files are as they were first seen", Voucher::Nobody),
            TrustedBy::Owner => ("its files are as you trusted them", Voucher::Owner),
            // With a yes of the owner's it may hold foreign text all the same.
            TrustedBy::Agent if entry.question.is_some() => (
                "the agent wrote its files, and you allowed it",
                Voucher::Nobody,
            ),
            TrustedBy::Agent => ("its files are as the agent wrote them", Voucher::Agent),
        };
        return Trusting::new(Trusted, reason).vouched(voucher);
    }
    let changed = changed_files(entry, skill);
    match (standing, policy.on_change) {
        (Standing::Own, OnChange::Allow) => {
            Trusting::new(Changed, format!("changed since it was trusted: {changed}"))
        }
        (Standing::Own, OnChange::Warn) => {
            Trusting::new(Changed, format!("changed since it was trusted: {changed}")).told()
        }
        (Standing::Own, OnChange::Quarantine) => Trusting::new(
            Quarantined,
            format!(
                "changed since it was trusted: {changed} (skills.trust.onChange is `quarantine`)"
            ),
        )
        .told(),
        _ => Trusting::new(
            Quarantined,
            format!("changed since you trusted it: {changed}"),
        )
        .told(),
    }
}

/// What a signature decides: one that holds and is wanted is enough, one that does not hold needs
/// the owner's own look. The owner's word about this very version counts more than either.
fn by_signature(skill: &Skill, lock: &TrustLock, publishers: &Publishers) -> Option<Trusting> {
    if lock.is_withdrawn(skill) || lock.is_owners_word(skill) {
        return None;
    }
    match &skill.signature {
        Signature::Unsigned => None,
        Signature::Valid(key) => {
            let publisher = publishers.find(key)?;
            let reason = format!("every file is as {} signed it", publisher.label());
            Some(Trusting::new(TrustState::Trusted, reason).vouched(Voucher::Publisher))
        }
        Signature::Broken(why) => {
            let reason = format!("its signature does not hold: {why}");
            Some(Trusting::new(TrustState::Quarantined, reason))
        }
    }
}

fn foreign_reason(source: &Source) -> &'static str {
    match source {
        Source::Project => "it came with the project folder and you have not trusted it",
        _ => "it was downloaded and you have not trusted it",
    }
}

/// `SKILL.md changed, run.sh added`
fn changed_files(entry: &LockEntry, skill: &Skill) -> String {
    let changes = lock::changes(entry, skill);
    let mut words: Vec<String> = changes.iter().take(3).map(ToString::to_string).collect();
    if changes.len() > words.len() {
        words.push(format!("{} more", changes.len() - words.len()));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests;
