//! Asking the owner: one record for every surface.
//!
//! A [`Question`] holds everything that is shown and the hash of it together with what would
//! run. An answer counts once, in time, from the owner's own hand, and for exactly what was
//! shown. Nothing a model writes can be an answer: a [`Grant`] comes from [`Question::answer`]
//! only.

mod shown;

use std::pin::Pin;
use std::time::{Duration, SystemTime};

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::flow::{Decision, Deed, Passage, Provenance, Rule, Source};
pub use shown::shown;

/// One question about one or several calls of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Short, to be typed.
    pub id: String,
    pub calls: Vec<AskedCall>,
    /// The hash of everything shown and of what would run.
    pub binds: ContentHash,
    pub asked: SystemTime,
    pub expires: SystemTime,
    state: State,
}

/// A call as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedCall {
    pub tool: String,
    /// What will happen, in plain words.
    pub summary: String,
    /// Every argument, exactly, made safe to print.
    pub exact: Vec<(String, String)>,
    /// Why it asks.
    pub why: String,
    /// The text from outside that it follows.
    pub passage: Option<Highlight>,
    pub shape: ContentHash,
}

/// Text from outside, with what the call took from it marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Highlight {
    pub before: String,
    pub marked: String,
    pub after: String,
}

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    Once,
    Session,
    /// Calls of exactly this shape, from now on.
    Always,
    Deny,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::Deny => "deny",
        }
    }
}

/// Whoever can ask the owner. Never the model.
pub trait Approver: Send + Sync {
    /// What the owner said. Whether it counts is for [`Question::answer`] to say.
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
}

/// Nobody is there to ask.
#[derive(Debug, Clone, Copy)]
pub struct Headless;

impl Approver for Headless {
    fn ask<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        Box::pin(std::future::ready(Answer::NOBODY))
    }
}

/// Who answers, as the surface has verified it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    Owner,
    Other,
    /// Nobody can be asked.
    Nobody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub scope: Scope,
    pub by: Hand,
    /// The hash of what was shown to the one who answers; `None` when nobody was shown anything.
    pub shown: Option<ContentHash>,
}

impl Answer {
    /// Nobody answered, or nobody is there.
    pub const NOBODY: Self = Self {
        scope: Scope::Deny,
        by: Hand::Nobody,
        shown: None,
    };

    /// What the owner said before the question as it was shown; `None` for silence.
    pub fn given(scope: Option<Scope>, question: &Question) -> Self {
        match scope {
            Some(scope) => Self::of_owner(scope, question),
            None => Self::NOBODY,
        }
    }

    /// The owner's own hand, before the question as it was shown.
    pub fn of_owner(scope: Scope, question: &Question) -> Self {
        Self {
            scope,
            by: Hand::Owner,
            shown: Some(question.binds),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Open,
    Answered,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the question was answered before; an answer counts once")]
    Used,
    #[error("the question has lapsed; let it be asked again")]
    Expired,
    #[error("only the owner can answer")]
    NotTheOwner,
    #[error("what was shown is not what would run; let it be asked again")]
    Changed,
    #[error("the owner said no")]
    Denied,
    #[error("nobody answered")]
    Unanswered,
}

/// The owner's yes: each call once. There is no other way to make one, and no copy.
#[derive(Debug, PartialEq, Eq)]
pub struct Grant {
    shapes: Vec<ContentHash>,
    scope: Scope,
}

/// When a question is asked and how long it stands.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    pub id: &'a str,
    pub now: SystemTime,
    pub lasts: Duration,
}

impl Question {
    /// One question about the calls of one plan.
    pub fn about(calls: &[(Deed<'_>, Decision)], seen: &Provenance, asking: Asking<'_>) -> Self {
        let calls = calls
            .iter()
            .map(|(deed, decision)| AskedCall::of(deed, decision, seen))
            .collect();
        Self::new(calls, asking)
    }

    /// A question about calls that are described elsewhere, made safe to print.
    pub fn new(calls: Vec<AskedCall>, asking: Asking<'_>) -> Self {
        Self {
            id: shown(asking.id),
            binds: binds(&calls),
            calls,
            asked: asking.now,
            expires: asking.now + asking.lasts,
            state: State::Open,
        }
    }

    /// Takes an answer. Whatever it is, the question is spent by a yes or a no of the owner.
    pub fn answer(&mut self, answer: Answer, now: SystemTime) -> Result<Grant, AnswerError> {
        match answer.by {
            _ if self.state == State::Answered => return Err(AnswerError::Used),
            Hand::Nobody => return Err(AnswerError::Unanswered),
            Hand::Other => return Err(AnswerError::NotTheOwner),
            Hand::Owner if now >= self.expires || now < self.asked => {
                return Err(AnswerError::Expired);
            }
            Hand::Owner => {}
        }
        if answer.shown != Some(self.binds) || binds(&self.calls) != self.binds {
            return Err(AnswerError::Changed);
        }
        self.state = State::Answered;
        match answer.scope {
            Scope::Deny => Err(AnswerError::Denied),
            scope => Ok(Grant {
                shapes: self.calls.iter().map(|call| call.shape).collect(),
                scope,
            }),
        }
    }

    /// How long it stands from when it was asked.
    pub fn lasts(&self) -> Duration {
        self.expires.duration_since(self.asked).unwrap_or_default()
    }

    /// The same question with a remark behind each reason, bound anew.
    #[must_use]
    pub fn remarked(&self, remark: &str) -> Self {
        let mut question = self.clone();
        for call in &mut question.calls {
            call.why = format!("{} ({})", call.why, shown(remark));
        }
        question.binds = binds(&question.calls);
        question
    }

    /// The question in plain text, for surfaces without any better.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        for (at, call) in self.calls.iter().enumerate() {
            if self.calls.len() > 1 {
                lines.push(format!("{} of {}", at + 1, self.calls.len()));
            }
            lines.push(call.summary.clone());
            lines.extend(
                call.exact
                    .iter()
                    .map(|(name, value)| format!("  {name}: {value}")),
            );
            lines.push(format!("Asked because {}.", call.why));
            if let Some(passage) = &call.passage {
                let Highlight {
                    before,
                    marked,
                    after,
                } = passage;
                lines.push(format!("From outside: {before}>>{marked}<<{after}"));
            }
        }
        lines.join("\n")
    }
}

impl Grant {
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Spends the yes for one call: that of exactly the shape that was shown.
    pub fn spend(&mut self, deed: &Deed<'_>, seen: &mut Provenance) -> Result<(), AnswerError> {
        let shape = deed.shape();
        let at = self
            .shapes
            .iter()
            .position(|granted| *granted == shape)
            .ok_or(AnswerError::Changed)?;
        self.shapes.swap_remove(at);
        deed.approve(seen);
        if self.scope != Scope::Once {
            seen.approve_shape(shape);
        }
        Ok(())
    }
}

impl Highlight {
    fn of(passage: Passage<'_>) -> Self {
        Self {
            before: shown(passage.before),
            marked: shown(passage.atom),
            after: shown(passage.after),
        }
    }
}

impl AskedCall {
    fn of(deed: &Deed<'_>, decision: &Decision, seen: &Provenance) -> Self {
        let culprit = decision.culprit();
        let passage = culprit
            .filter(|atom| matches!(atom.source, Source::Foreign(_)))
            .map(|atom| atom.atom.clone())
            // Where the effect alone decided, nobody looked at the words yet.
            .or_else(|| deed.foreign_atom(seen))
            .and_then(|atom| seen.passage(&atom).map(Highlight::of));
        Self {
            tool: shown(deed.tool),
            summary: match deed.words {
                Some(words) => shown(words),
                None => summary(deed, decision.rule),
            },
            exact: deed
                .arguments
                .iter()
                .map(|(name, value)| (shown(name), shown(&plain(value))))
                .collect(),
            why: decision.rule.text().to_owned(),
            passage,
            shape: deed.shape(),
        }
    }
}

fn summary(deed: &Deed<'_>, rule: Rule) -> String {
    use crate::Effect;
    let what = match (deed.effect, rule) {
        (_, Rule::Secret) => "sets or sends a password or a key",
        (_, Rule::Command) => "runs a command",
        (Effect::Read | Effect::ReadUntrusted | Effect::Egress, _) => {
            "asks another machine for something"
        }
        (Effect::WriteReversible, _) => "changes something here",
        (Effect::WriteOutward, _) => "changes something that others see",
        (Effect::Irreversible, _) => "does something that cannot be undone",
        (Effect::Persona, _) => "changes who the agent is or what it remembers",
        (Effect::Config, _) => "changes what the agent may do",
    };
    format!("{} {what}.", shown(deed.tool))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Each piece with its length, so that no two questions read as one.
fn binds(calls: &[AskedCall]) -> ContentHash {
    let mut text = String::new();
    let mut add = |piece: &str| {
        text.push_str(&piece.len().to_string());
        text.push(':');
        text.push_str(piece);
    };
    for call in calls {
        add(&call.tool);
        add(&call.summary);
        for (name, value) in &call.exact {
            add(name);
            add(value);
        }
        add(&call.why);
        if let Some(passage) = &call.passage {
            add(&passage.before);
            add(&passage.marked);
            add(&passage.after);
        }
        add(&call.shape.to_string());
    }
    ContentHash::of(text)
}

#[cfg(test)]
mod tests;
