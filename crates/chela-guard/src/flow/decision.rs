//! A decision, and how it is explained.

use std::fmt::Write as _;

use super::decide::Deed;
use super::provenance::{Known, Provenance, SpanId, Taint};
use crate::Effect;

/// What was decided about a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    pub rule: Rule,
    pub effect: Effect,
    pub taint: Taint,
    /// Every atom that was looked at, with its source.
    pub atoms: Vec<ArgumentAtom>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// An atom of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentAtom {
    pub argument: String,
    pub atom: String,
    pub source: Source,
    pub passes: bool,
}

/// Where an atom came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
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
pub enum Rule {
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
    Persona,
    Secret,
    Irreversible,
    Command,
    NewHost,
    UrlNotWhole,
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

impl Rule {
    /// The rule in words, for the owner.
    pub fn text(self) -> &'static str {
        match self {
            Self::Open => "the policy is open",
            Self::Untainted => "nothing from outside was read in this session",
            Self::Reads => "it only reads",
            Self::Reversible => "it can be undone",
            Self::Listed => "the command is on your list",
            Self::OwnersWords => "everything it names stands in your own words",
            Self::ApprovedShape => "you allowed exactly this",
            Self::Confirm => "you want to be asked before anything of this kind",
            Self::Config => "it changes what the agent may do",
            Self::Persona => "it changes who the agent is or what it remembers",
            Self::Secret => "it sets or sends a password or a key",
            Self::Irreversible => "it cannot be undone",
            Self::Command => "the command is not on your list",
            Self::NewHost => "it reaches a host you did not name",
            Self::UrlNotWhole => {
                "the address was put together here: you did not write it, and nothing that was read has it"
            }
            Self::ForeignWords => "it names something only text from outside has named",
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

    /// The same for a model, to whom the owner is somebody else.
    pub fn text_for_model(self) -> String {
        let text = format!(" {} ", self.text());
        let text = text.replace(" your ", " the owner's ");
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
            Self::Persona => "persona",
            Self::Secret => "secret",
            Self::Irreversible => "irreversible",
            Self::Command => "command",
            Self::NewHost => "new-host",
            Self::UrlNotWhole => "url-not-whole",
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

impl Verdict {
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
    pub fn about(deed: &Deed<'_>, verdict: Verdict, rule: Rule) -> Self {
        Self {
            verdict,
            rule,
            effect: deed.effect,
            taint: Taint::Clean,
            atoms: Vec::new(),
        }
    }

    /// The atom that speaks loudest against the call: a foreign one before an unknown one.
    pub fn culprit(&self) -> Option<&ArgumentAtom> {
        let against = || self.atoms.iter().filter(|atom| !atom.passes);
        against()
            .find(|atom| matches!(atom.source, Source::Foreign(_)))
            .or_else(|| against().next())
    }

    /// The whole decision in lines: effect, taint, verdict, rule, and the origin of each atom.
    pub fn explain(&self, seen: &Provenance) -> String {
        let taint = self.taint.as_str();
        let mut text = format!(
            "{} ({}): {}; effect {}, session {taint}",
            self.verdict.as_str(),
            self.rule.as_str(),
            self.rule.text(),
            self.effect.as_str(),
        );
        for atom in &self.atoms {
            let mark = if atom.passes { ' ' } else { '!' };
            let name = chela_core::sanitize::literal(&atom.atom);
            let argument = chela_core::sanitize::literal(&atom.argument);
            let _ = write!(
                text,
                "\n{mark} {argument}: {name} - {}",
                atom.source.in_words(seen)
            );
        }
        text
    }
}

impl Source {
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
            Self::Foreign(id) => named("text from outside", id),
            Self::Nowhere => "from nowhere".to_owned(),
        }
    }
}

impl From<Known> for Source {
    fn from(known: Known) -> Self {
        match known {
            Known::Owner(id) => Self::Owner(id),
            Known::Approved => Self::Approved,
            Known::Own(id) => Self::Own(id),
            Known::Foreign(id) => Self::Foreign(id),
            Known::Nowhere => Self::Nowhere,
        }
    }
}
