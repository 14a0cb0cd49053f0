//! What becomes of a file, from what is on record and what the policy says. Pure.

use chela_core::{ContentHash, Trust};
use serde::Serialize;

use super::entry::{FileEntry, ScanFinding, SuspicionLevel};

/// What happens with a version nobody Chela knows wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnChange {
    Allow,
    Warn,
    Quarantine,
}

/// `guard.trust`: one rule per kind of folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TrustPolicies {
    pub own: OnChange,
    pub foreign: OnChange,
}

impl Default for TrustPolicies {
    fn default() -> Self {
        Self {
            own: OnChange::Warn,
            foreign: OnChange::Quarantine,
        }
    }
}

impl TrustPolicies {
    pub fn on(self, ground: FolderGround) -> OnChange {
        match ground {
            FolderGround::Own => self.own,
            FolderGround::Foreign => self.foreign,
        }
    }
}

/// Whose folder a file lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FolderGround {
    /// The agent's own workspace, or what Chela keeps.
    Own,
    /// A folder that was there with its files before Chela was: a cloned repository, a share.
    Foreign,
}

/// A version of a file, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct VersionCase<'a> {
    pub entry: Option<&'a FileEntry>,
    pub hash: ContentHash,
    /// The text is, byte for byte, one that Chela itself wrote there.
    pub pristine: bool,
    pub ground: FolderGround,
    pub found: Option<SuspicionLevel>,
}

/// Where a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustStanding {
    /// As it is on record.
    Trusted,
    /// Never recorded.
    Unknown,
    /// Not the version on record: somebody else wrote it.
    Changed,
    /// Written in a turn that had read foreign text; it waits for the owner.
    Held,
    /// The owner withdrew trust.
    Revoked,
    /// On record and no longer there, and nobody Chela knows took it away.
    Gone,
    /// No longer there, by somebody Chela knows.
    Deleted,
}

/// What the prompt is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustAct {
    /// The file as it is: nothing, where there is none.
    Use,
    /// The last version that was trusted.
    UseTrusted(ContentHash),
    /// One line that says the file is set aside.
    Withhold,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileJudgement {
    pub state: TrustStanding,
    pub act: TrustAct,
    /// How far the text that is used is trusted.
    pub trust: Trust,
}

/// A version on disk, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedVersion {
    pub judgement: FileJudgement,
    pub hash: ContentHash,
    pub ground: FolderGround,
    pub found: Option<ScanFinding>,
    /// Nobody known wrote it, and the policy lets that pass in silence.
    pub is_allowed: bool,
}

/// A file that is on record and not there, and where that stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsentFile {
    pub judgement: FileJudgement,
    pub ground: FolderGround,
    /// Nobody known deleted it, and the policy lets that pass in silence.
    pub is_allowed: bool,
}

pub fn judge(case: &VersionCase<'_>, policies: TrustPolicies) -> FileJudgement {
    let trusted = case.entry.and_then(|entry| entry.trusted.as_ref());
    let used = |state, trust| FileJudgement {
        state,
        act: TrustAct::Use,
        trust,
    };
    let aside = |state| match trusted {
        Some(version) => FileJudgement {
            state,
            act: TrustAct::UseTrusted(version.hash),
            trust: version.trust,
        },
        None => FileJudgement {
            state,
            act: TrustAct::Withhold,
            trust: Trust::Operator,
        },
    };
    if case.entry.is_some_and(|entry| entry.revoked.is_some()) {
        return aside(TrustStanding::Revoked);
    }
    if let Some(version) = trusted.filter(|version| version.hash == case.hash) {
        return used(TrustStanding::Trusted, version.trust);
    }
    let held = case.entry.and_then(|entry| entry.held.as_ref());
    if held.is_some_and(|held| held.hash == Some(case.hash)) {
        return aside(TrustStanding::Held);
    }
    if case.pristine {
        return used(TrustStanding::Trusted, Trust::Owner);
    }
    // What was held is not settled by somebody's writing over it.
    if held.is_some() {
        return aside(TrustStanding::Held);
    }
    let state = match trusted {
        Some(_) => TrustStanding::Changed,
        None => TrustStanding::Unknown,
    };
    match policies.on(case.ground) {
        OnChange::Quarantine => aside(state),
        // What reads like an attack is looked at before it is used.
        OnChange::Warn if case.found == Some(SuspicionLevel::High) => aside(state),
        // It may well be the owner's own editor; it is not known to be. So it is used and told, and
        // what follows from it is asked about until the owner has said yes once.
        OnChange::Warn => used(state, Trust::External),
        OnChange::Allow => used(state, Trust::Agent),
    }
}

/// What becomes of a file that is on record and not there; `None` where nothing was ever trusted,
/// so that nothing is missed.
pub fn judge_absent(entry: &FileEntry, policy: OnChange) -> Option<FileJudgement> {
    let version = entry.trusted.as_ref()?;
    let stands_in = |state| FileJudgement {
        state,
        act: TrustAct::UseTrusted(version.hash),
        trust: version.trust,
    };
    let nothing = |state| FileJudgement {
        state,
        act: TrustAct::Use,
        trust: Trust::Operator,
    };
    Some(match (&entry.held, &entry.gone, policy) {
        (Some(_), _, _) => stands_in(TrustStanding::Held),
        (None, Some(_), _) => nothing(TrustStanding::Deleted),
        (None, None, OnChange::Quarantine) => stands_in(TrustStanding::Gone),
        (None, None, OnChange::Warn | OnChange::Allow) => nothing(TrustStanding::Gone),
    })
}

impl FileJudgement {
    /// Whether the owner has something to look at.
    pub fn waits(&self) -> bool {
        !matches!(self.state, TrustStanding::Trusted | TrustStanding::Deleted)
    }
}

impl TrustStanding {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Unknown => "unknown",
            Self::Changed => "changed",
            Self::Held => "held",
            Self::Revoked => "revoked",
            Self::Gone => "gone",
            Self::Deleted => "deleted",
        }
    }
}

impl FolderGround {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Foreign => "foreign",
        }
    }
}

#[cfg(test)]
mod tests;
