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
}

/// What the prompt is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// The file as it is.
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
    if held.is_some_and(|held| held.hash == case.hash) {
        return aside(State::Held);
    }
    if case.pristine {
        return used(State::Trusted, Trust::Owner);
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

impl Judgement {
    /// Whether the owner has something to look at.
    pub fn waits(&self) -> bool {
        self.state != State::Trusted
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
