//! What becomes of a file, from what is on record and what the policy says. Pure.

use chela_core::{ContentHash, Trust};
use serde::Serialize;

use super::entry::{FileEntry, Suspicion};

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
pub struct Policies {
    pub own: OnChange,
    pub foreign: OnChange,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            own: OnChange::Warn,
            foreign: OnChange::Quarantine,
        }
    }
}

impl Policies {
    pub fn on(self, ground: Ground) -> OnChange {
        match ground {
            Ground::Own => self.own,
            Ground::Foreign => self.foreign,
        }
    }
}

/// Whose folder a file lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ground {
    /// The agent's own workspace, or what Chela keeps.
    Own,
    /// A folder that was there with its files before Chela was: a cloned repository, a share.
    Foreign,
}

/// A version of a file, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub entry: Option<&'a FileEntry>,
    pub hash: ContentHash,
    /// The text is, byte for byte, one that Chela itself wrote there.
    pub pristine: bool,
    pub ground: Ground,
    pub found: Option<Suspicion>,
}

/// Where a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
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
pub enum Act {
    /// The file as it is: nothing, where there is none.
    Use,
    /// The last version that was trusted.
    UseTrusted(ContentHash),
    /// One line that says the file is set aside.
    Withhold,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub state: State,
    pub act: Act,
    /// How far the text that is used is trusted.
    pub trust: Trust,
}

pub fn judge(case: &Case<'_>, policies: Policies) -> Judgement {
    let trusted = case.entry.and_then(|entry| entry.trusted.as_ref());
    let used = |state, trust| Judgement {
        state,
        act: Act::Use,
        trust,
    };
    let aside = |state| match trusted {
        Some(version) => Judgement {
            state,
            act: Act::UseTrusted(version.hash),
            trust: version.trust,
        },
        None => Judgement {
            state,
            act: Act::Withhold,
            trust: Trust::Operator,
        },
    };
    if case.entry.is_some_and(|entry| entry.revoked.is_some()) {
        return aside(State::Revoked);
    }
    if let Some(version) = trusted.filter(|version| version.hash == case.hash) {
        return used(State::Trusted, version.trust);
    }
    let held = case.entry.and_then(|entry| entry.held.as_ref());
    if held.is_some_and(|held| held.hash == Some(case.hash)) {
        return aside(State::Held);
    }
    if case.pristine {
        return used(State::Trusted, Trust::Owner);
    }
    // What was held is not settled by somebody's writing over it.
    if held.is_some() {
        return aside(State::Held);
    }
    let state = match trusted {
        Some(_) => State::Changed,
        None => State::Unknown,
    };
    match policies.on(case.ground) {
        OnChange::Quarantine => aside(state),
        // What reads like an attack is looked at before it is used.
        OnChange::Warn if case.found == Some(Suspicion::High) => aside(state),
        // It may well be the owner's own editor; it is not known to be.
        OnChange::Warn | OnChange::Allow => used(state, Trust::Agent),
    }
}

/// What becomes of a file that is on record and not there; `None` where nothing was ever trusted,
/// so that nothing is missed.
pub fn judge_absent(entry: &FileEntry, policy: OnChange) -> Option<Judgement> {
    let version = entry.trusted.as_ref()?;
    let stands_in = |state| Judgement {
        state,
        act: Act::UseTrusted(version.hash),
        trust: version.trust,
    };
    let nothing = |state| Judgement {
        state,
        act: Act::Use,
        trust: Trust::Operator,
    };
    Some(match (&entry.held, &entry.gone, policy) {
        (Some(_), _, _) => stands_in(State::Held),
        (None, Some(_), _) => nothing(State::Deleted),
        (None, None, OnChange::Quarantine) => stands_in(State::Gone),
        (None, None, OnChange::Warn | OnChange::Allow) => nothing(State::Gone),
    })
}

impl Judgement {
    /// Whether the owner has something to look at.
    pub fn waits(&self) -> bool {
        !matches!(self.state, State::Trusted | State::Deleted)
    }
}

impl State {
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

impl Ground {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Foreign => "foreign",
        }
    }
}

#[cfg(test)]
mod tests;
