//! What was decided about a call, and by which rule.

use super::decide::{ProposedCall, ShelvedWhy};
use super::provenance::{AtomTrust, Provenance, SessionTaint, SpanId};
use crate::Effect;

/// What was decided about a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: CallVerdict,
    pub rule: DecisionRule,
    pub effect: Effect,
    pub taint: SessionTaint,
    /// Every atom that was looked at, with its source.
    pub atoms: Vec<ArgumentAtom>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallVerdict {
    Allow,
    Ask,
    Deny,
}

/// An atom of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentAtom {
    pub argument: String,
    pub atom: String,
    pub source: AtomSource,
    pub passes: bool,
}

/// Where an atom came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomSource {
    Owner(SpanId),
    Approved,
    /// The operator's list of hosts.
    Listed,
    /// The agent's files and memory, the runtime.
    Own(SpanId),
    Foreign(SpanId),
    Nowhere,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecisionRule {
    // Why it passes.
    Open,
    Untainted,
    Reads,
    Reversible,
    Listed,
    OwnersWords,
    ApprovedShape,
    // Why it does not.
    Confirm,
    Config,
    RunsOnOpen,
    RunsOnBuild,
    Persona,
    Orders,
    Secret,
    Irreversible,
    Command,
    ListedButTainted,
    ListedButWritten,
    ListedButOutside,
    NewHost,
    UrlNotWhole,
    TooManyLinks,
    PrivateEgress,
    PrivateService,
    SecretAddress,
    ForeignWords,
    UnknownWords,
    TellingText,
    Disguised,
    Undeclared,
    RefusedBefore,
    TooManyQuestions,
    HookRefused,
    HookAsks,
}

impl DecisionRule {
    /// The rule in words, for the owner.
    pub fn text(self) -> &'static str {
        match self {
            Self::Open => "the policy is open",
            Self::Untainted => "no untrusted content was read in this session",
            Self::Reads => "it only reads",
            Self::Reversible => "it can be undone",
            Self::Listed => "the command is pre-approved",
            Self::OwnersWords => "everything it names is in your own words",
            Self::ApprovedShape => "you allowed exactly this",
            Self::Confirm => "you want to be asked before anything of this kind",
            Self::Config => "it changes what the agent may do",
            Self::RunsOnOpen => {
                "it writes a file that programs run automatically when its folder is opened or \
                    they start"
            }
            Self::RunsOnBuild => {
                "it writes a file that runs when you build, and untrusted content was read"
            }
            Self::Persona => "it changes who the agent is or what it remembers",
            Self::Orders => {
                "it changes what the agent is told to do, and you did not name the file"
            }
            Self::Secret => "it sets or sends a password or a key",
            Self::Irreversible => "it cannot be undone",
            Self::Command => "the command is not pre-approved",
            Self::ListedButTainted => {
                "your standing approval does not apply here: this session has read untrusted \
                    content"
            }
            Self::ListedButWritten => {
                "your standing approval no longer applies: a file it could run was written after \
                    untrusted content was read"
            }
            Self::ListedButOutside => {
                "your standing approval does not apply outside the sandbox: it runs what files say"
            }
            Self::NewHost => "it reaches a host you did not name",
            Self::UrlNotWhole => {
                "the address was made up here: you did not write it, and nothing that was read \
                    contains it"
            }
            Self::TooManyLinks => {
                "private text is known here, and untrusted content picks from many addresses of \
                    this host: which ones are requested can leak something"
            }
            Self::PrivateEgress => "private text was read here, and nobody named this host",
            Self::PrivateService => {
                "private text was read here, and this service would be told what is in the call"
            }
            Self::SecretAddress => {
                "its address contains what looks like a key or a token, and you did not write it"
            }
            Self::ForeignWords => "it names something that only untrusted content has named",
            Self::UnknownWords => "it names something you did not name",
            Self::TellingText => "its text has an address, a link or a number you did not write",
            Self::Disguised => "it is written so that it reads as something else",
            Self::RefusedBefore => "you refused exactly this",
            Self::TooManyQuestions => {
                "you refused several calls in a row: nothing is asked until you have written again"
            }
            Self::HookRefused => "a hook refused it",
            Self::HookAsks => "a hook wants you to be asked",
            Self::Undeclared => "it does not say whom or what it reaches",
        }
    }

    /// Why an entry of the owner's list does not count.
    pub(super) fn of_shelved(why: ShelvedWhy) -> Self {
        match why {
            ShelvedWhy::Taint => Self::ListedButTainted,
            ShelvedWhy::WrittenSince => Self::ListedButWritten,
            ShelvedWhy::EachRunAsks => Self::ListedButOutside,
        }
    }

    /// The same for a model, to whom the owner is somebody else.
    pub fn text_for_model(self) -> String {
        let text = format!(" {} ", self.text());
        let text = text.replace(" your ", " the owner's ");
        let text = text.replace(" you want ", " the owner wants ");
        text.replace(" you ", " the owner ").trim().to_owned()
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Untainted => "untainted",
            Self::Reads => "reads",
            Self::Reversible => "reversible",
            Self::Listed => "listed",
            Self::OwnersWords => "owners-words",
            Self::ApprovedShape => "approved-shape",
            Self::Confirm => "confirm",
            Self::Config => "config",
            Self::RunsOnOpen => "runs-on-open",
            Self::RunsOnBuild => "runs-on-build",
            Self::Persona => "persona",
            Self::Orders => "orders",
            Self::Secret => "secret",
            Self::Irreversible => "irreversible",
            Self::Command => "command",
            Self::ListedButTainted => "listed-but-tainted",
            Self::ListedButWritten => "listed-but-written",
            Self::ListedButOutside => "listed-but-outside",
            Self::NewHost => "new-host",
            Self::UrlNotWhole => "url-not-whole",
            Self::TooManyLinks => "too-many-links",
            Self::PrivateEgress => "private-egress",
            Self::PrivateService => "private-service",
            Self::SecretAddress => "secret-address",
            Self::ForeignWords => "foreign-words",
            Self::UnknownWords => "unknown-words",
            Self::TellingText => "telling-text",
            Self::Disguised => "disguised",
            Self::Undeclared => "undeclared",
            Self::RefusedBefore => "refused-before",
            Self::TooManyQuestions => "too-many-questions",
            Self::HookRefused => "hook-refused",
            Self::HookAsks => "hook-asks",
        }
    }
}

impl CallVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Decision {
    /// A decision that needed no look at the words.
    pub fn about(deed: &ProposedCall<'_>, verdict: CallVerdict, rule: DecisionRule) -> Self {
        Self {
            verdict,
            rule,
            effect: deed.effect,
            taint: SessionTaint::Clean,
            atoms: Vec::new(),
        }
    }

    /// Why it asks, and what a yes covers beyond the call.
    pub fn reason(&self) -> String {
        let covers_host = matches!(
            self.rule,
            DecisionRule::NewHost | DecisionRule::TooManyLinks | DecisionRule::PrivateEgress
        );
        match covers_host && self.effect == Effect::ReadUntrusted {
            true => format!(
                "{}; approving it also covers pages of this host that others link to, until you \
                    write again",
                self.rule.text()
            ),
            false => self.rule.text().to_owned(),
        }
    }

    /// The atom that speaks loudest against the call: a foreign one before an unknown one.
    pub fn culprit(&self) -> Option<&ArgumentAtom> {
        let against = || self.atoms.iter().filter(|atom| !atom.passes);
        against()
            .find(|atom| matches!(atom.source, AtomSource::Foreign(_)))
            .or_else(|| against().next())
    }
}

impl AtomSource {
    /// Where it came from, for people.
    pub fn in_words(self, seen: &Provenance) -> String {
        let named = |words: &str, id| match seen.span(id) {
            Some(span) => format!(
                "{words} ({})",
                chela_core::sanitize::literal(&span.origin.to_string())
            ),
            None => words.to_owned(),
        };
        match self {
            Self::Owner(id) => named("your words", id),
            Self::Approved => "you allowed it before".to_owned(),
            Self::Listed => "a listed host".to_owned(),
            Self::Own(id) => named("the agent's own text", id),
            Self::Foreign(id) => named("untrusted content", id),
            Self::Nowhere => "unknown origin".to_owned(),
        }
    }
}

impl From<AtomTrust> for AtomSource {
    fn from(known: AtomTrust) -> Self {
        match known {
            AtomTrust::Owner(id) => Self::Owner(id),
            AtomTrust::Approved => Self::Approved,
            AtomTrust::Own(id) => Self::Own(id),
            AtomTrust::Foreign(id) => Self::Foreign(id),
            AtomTrust::Nowhere => Self::Nowhere,
        }
    }
}
