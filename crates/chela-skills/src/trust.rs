//! Which skills the owner trusts: a lock over every file of every skill.
//!
//! A skill is code in natural language, so it has a state. What is compiled in is trusted by the
//! hash of the build. What lies in the owner's own folders is trusted on first sight and watched
//! from then on. What came with somebody else's files is quarantined until the owner says
//! otherwise, and again as soon as it changes. Quarantined skills are never in a prompt.

mod agent_writer;
mod lock;
mod scanner;

use std::path::Path;

use serde::Serialize;

pub use crate::scan_report::{ScanReport, ScanVerdict};
pub use agent_writer::AgentWriter;
pub use lock::{
    FileChange, FileChangeKind, LockEntry, LockError, LookRecord, TrustLock, TrustNotice,
    TrustedBy, changes,
};
pub use scanner::{FirstLook, SkillContents, SkillScanner};

use crate::bundled;
use crate::settings::{OnChange, SkillNewcomers, WorkspaceStanding};
use crate::signature::{SkillSignature, TrustedPublishers};
use crate::skill::Skill;
use crate::source::{SkillSource, SourceStanding};

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
pub struct SkillTrust {
    pub state: TrustState,
    pub reason: String,
    /// Who answers for these very files.
    pub voucher: TrustVoucher,
    /// Whether the owner is to be told, once.
    pub news: TrustNews,
    /// Whether the scanner has seen this version.
    pub look: SkillLook,
}

/// Whether the scanner has looked into a version. One it has not may be listed, but its text is
/// given to nobody before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillLook {
    Done,
    Waiting,
}

/// Whether a state is one the owner should hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustNews {
    Told,
    Nothing,
}

/// Who answers for the files of a skill. Using one nobody answers for is fine; taking its words
/// for the owner's is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustVoucher {
    Build,
    Publisher,
    Owner,
    /// The agent wrote them, having read nothing foreign.
    Agent,
    Nobody,
}

impl SkillTrust {
    fn new(state: TrustState, reason: impl Into<String>) -> Self {
        Self {
            state,
            reason: reason.into(),
            voucher: TrustVoucher::Nobody,
            news: TrustNews::Nothing,
            look: SkillLook::Done,
        }
    }

    fn unless_seen(self, entry: Option<&LockEntry>, skill: &Skill) -> Self {
        let is_seen = entry.is_some_and(|entry| entry.was_looked_into(skill));
        let look = match is_seen || !self.state.may_be_used() {
            true => SkillLook::Done,
            false => SkillLook::Waiting,
        };
        Self { look, ..self }
    }

    fn told(self) -> Self {
        Self {
            news: TrustNews::Told,
            ..self
        }
    }

    fn vouched(self, voucher: TrustVoucher) -> Self {
        Self { voucher, ..self }
    }
}

/// What the operator wants of trust.
#[derive(Debug, Clone, Copy)]
pub struct TrustPolicy<'a> {
    pub on_change: OnChange,
    pub publishers: &'a TrustedPublishers,
    pub workspace: &'a WorkspaceStanding,
    pub newcomers: SkillNewcomers,
}

/// Where a skill stands, by its signature, the lock and the policy for changes.
pub fn judge(skill: &Skill, lock: &TrustLock, policy: &TrustPolicy<'_>) -> SkillTrust {
    use TrustState::{Changed, New, Quarantined, Trusted};
    if let Some(trusting) = by_signature(skill, lock, policy.publishers) {
        return trusting;
    }
    let standing = match skill.source.standing() {
        SourceStanding::Foreign if lock.trusts_folder_of(skill) => SourceStanding::Own,
        SourceStanding::Own if came_with_files(skill, policy.workspace) => SourceStanding::Foreign,
        standing => standing,
    };
    let Some(entry) = lock.entry(skill) else {
        return match standing {
            SourceStanding::BuiltIn if bundled::is_genuine(&skill.name, skill.tree) => {
                SkillTrust::new(Trusted, "it is part of this build").vouched(TrustVoucher::Build)
            }
            SourceStanding::BuiltIn => {
                SkillTrust::new(Quarantined, "its files differ from this build")
            }
            // Seen now, it would be trusted for good before anybody asks who wrote it.
            SourceStanding::Own
                if policy.newcomers == SkillNewcomers::MaybeByCommand
                    && skill.source.is_workspace() =>
            {
                let why = "it is new, and a command of an agent runs that may have written it; look again when it has ended";
                SkillTrust::new(Quarantined, why)
            }
            SourceStanding::Own => {
                SkillTrust::new(New, "it is new in one of your folders").unless_seen(None, skill)
            }
            SourceStanding::Foreign => {
                let trusting = SkillTrust::new(Quarantined, foreign_reason(&skill.source));
                match skill.source.is_workspace() {
                    true => trusting.told(),
                    false => trusting,
                }
            }
        };
    };
    if let Some(why) = &entry.quarantined {
        let trusting = SkillTrust::new(Quarantined, why.clone());
        let is_known = entry.by == TrustedBy::Owner && entry.turn.is_none();
        return match is_known {
            true => trusting,
            false => trusting.told(),
        };
    }
    if entry.tree == skill.tree {
        let (reason, voucher) = match entry.by {
            TrustedBy::FirstSight => (
                "its files are unchanged since first seen",
                TrustVoucher::Nobody,
            ),
            TrustedBy::Owner => (
                "its files are unchanged since you trusted them",
                TrustVoucher::Owner,
            ),
            // With a yes of the owner's it may hold foreign text all the same.
            TrustedBy::Agent if entry.question.is_some() => (
                "the agent wrote its files, and you allowed it",
                TrustVoucher::Nobody,
            ),
            TrustedBy::Agent => ("its files are as the agent wrote them", TrustVoucher::Agent),
        };
        let trusting = SkillTrust::new(Trusted, reason).vouched(voucher);
        return match voucher {
            TrustVoucher::Nobody => trusting.unless_seen(Some(entry), skill),
            _ => trusting,
        };
    }
    let changed = changed_files(entry, skill);
    let since = match entry.by {
        TrustedBy::Owner => "changed since you trusted it",
        TrustedBy::FirstSight => "changed since it was first seen",
        TrustedBy::Agent => "changed since the agent wrote it",
    };
    let trusting = |state, more: &str| {
        SkillTrust::new(state, format!("{since}: {changed}{more}")).unless_seen(Some(entry), skill)
    };
    let is_own = standing == SourceStanding::Own;
    match policy.on_change {
        OnChange::Allow if is_own => trusting(Changed, ""),
        OnChange::Warn if is_own => trusting(Changed, "").told(),
        // The owner's trust was for the version they looked at.
        OnChange::QuarantineTrusted if is_own && entry.by != TrustedBy::Owner => {
            trusting(Changed, "").told()
        }
        OnChange::Quarantine if is_own => {
            trusting(Quarantined, " (skills.trust.onChange is `quarantine`)").told()
        }
        _ => trusting(Quarantined, "").told(),
    }
}

/// What a signature decides: one that holds and is wanted is enough, one that does not hold needs
/// the owner's own look. The owner's word about this very version counts more than either.
fn by_signature(
    skill: &Skill,
    lock: &TrustLock,
    publishers: &TrustedPublishers,
) -> Option<SkillTrust> {
    if lock.is_withdrawn(skill) || lock.is_owners_word(skill) {
        return None;
    }
    match &skill.signature {
        SkillSignature::Unsigned => None,
        SkillSignature::Valid(key) => {
            let publisher = publishers.find(key)?;
            let reason = format!("every file matches the signature of {}", publisher.label());
            Some(SkillTrust::new(TrustState::Trusted, reason).vouched(TrustVoucher::Publisher))
        }
        SkillSignature::Broken(why) => {
            let reason = format!("its signature is not valid: {why}");
            Some(SkillTrust::new(TrustState::Quarantined, reason))
        }
    }
}

/// Whether a skill of the workspace came with somebody else's files: with the workspace itself, or
/// with a checkout inside of it.
fn came_with_files(skill: &Skill, workspace: &WorkspaceStanding) -> bool {
    if !matches!(
        skill.source,
        SkillSource::Workspace | SkillSource::WorkspaceAgents
    ) {
        return false;
    }
    let is_inside = |folder: &&Path| folder.starts_with(&skill.root);
    *workspace == WorkspaceStanding::Foreign
        || skill
            .folder
            .ancestors()
            .take_while(is_inside)
            .any(|folder| folder.join(".git").exists())
}

fn foreign_reason(source: &SkillSource) -> &'static str {
    match source {
        SkillSource::Project => "it came with the project folder and you have not trusted it",
        SkillSource::Neighbour(_) => {
            "it is in the folder of another program and you have not trusted it for this one"
        }
        SkillSource::Workspace | SkillSource::WorkspaceAgents => {
            "it came with files that are not approved, and you have not trusted it"
        }
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
