//! Asking the owner: one record for every surface.
//!
//! A [`ApprovalQuestion`] holds everything that is shown and the hash of it together with what would
//! run. An answer counts once, in time, from the owner's own hand, and for exactly what was
//! shown. Nothing a model writes can be an answer: a [`OwnerGrant`] comes from [`ApprovalQuestion::answer`]
//! only.

mod choice;
mod lookalike;
mod shown;

use std::pin::Pin;
use std::time::{Duration, SystemTime};

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::flow::{AtomSource, Decision, DecisionRule, ProposedCall, Provenance, SourcePassage};
pub use choice::ApprovalChoice;
pub use lookalike::host_marks;
pub use shown::{shown, shown_block};

/// One question about one or several calls of a plan. Read back where it is shown in another process; an answer counts only where it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalQuestion {
    /// Short, to be typed.
    pub id: String,
    pub calls: Vec<AskedCall>,
    /// What can be answered; the first is the harmless one.
    pub choices: Vec<ApprovalChoice>,
    /// The hash of everything shown and of what would run.
    pub binds: ContentHash,
    pub asked: SystemTime,
    pub expires: SystemTime,
    state: State,
}

/// A call as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedCall {
    pub tool: String,
    /// What will happen, in plain words.
    pub summary: String,
    /// Every argument, exactly and whole, made safe to print; files as diffs.
    pub exact: Vec<(String, String)>,
    /// Why it asks.
    pub why: String,
    /// The text from outside that it follows.
    pub passage: Option<ForeignPassage>,
    pub shape: ContentHash,
}

/// Text from outside, with what the call took from it marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignPassage {
    pub before: String,
    pub marked: String,
    pub after: String,
}

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalScope {
    Once,
    Session,
    /// Calls of exactly this shape, from now on.
    Always,
    Deny,
}

impl ApprovalScope {
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
    /// What the owner said. Whether it counts is for [`ApprovalQuestion::answer`] to say.
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>>;

    /// Whether somebody is there to be asked.
    fn presence(&self) -> OwnerPresence {
        OwnerPresence::There
    }
}

/// Whether the owner can be asked where a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerPresence {
    There,
    Away,
}

/// Nobody is there to ask.
#[derive(Debug, Clone, Copy)]
pub struct HeadlessApprover;

impl Approver for HeadlessApprover {
    fn ask<'a>(
        &'a self,
        _: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        Box::pin(std::future::ready(OwnerAnswer::NOBODY))
    }

    fn presence(&self) -> OwnerPresence {
        OwnerPresence::Away
    }
}

/// Who answers, as the surface has verified it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    Owner,
    Other,
    /// Nobody can be asked.
    Nobody,
    /// The owner said no several times in a row, and has said nothing since.
    LeftInPeace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerAnswer {
    pub scope: ApprovalScope,
    /// Which of the question's choices, where several have this scope; else the first that has.
    pub choice: Option<usize>,
    pub by: AnsweredBy,
    /// The hash of what was shown to the one who answers; `None` when nobody was shown anything.
    pub shown: Option<ContentHash>,
}

impl OwnerAnswer {
    /// Nobody answered, or nobody is there.
    pub const NOBODY: Self = Self {
        scope: ApprovalScope::Deny,
        choice: None,
        by: AnsweredBy::Nobody,
        shown: None,
    };

    /// The owner was not asked: see [`AnsweredBy::LeftInPeace`].
    pub const LEFT_IN_PEACE: Self = Self {
        by: AnsweredBy::LeftInPeace,
        ..Self::NOBODY
    };

    /// What the owner said before the question as it was shown; `None` for silence.
    pub fn given(scope: Option<ApprovalScope>, question: &ApprovalQuestion) -> Self {
        match scope {
            Some(scope) => Self::of_owner(scope, question),
            None => Self::NOBODY,
        }
    }

    /// The owner's own hand, before the question as it was shown.
    pub fn of_owner(scope: ApprovalScope, question: &ApprovalQuestion) -> Self {
        Self {
            scope,
            choice: None,
            by: AnsweredBy::Owner,
            shown: Some(question.binds),
        }
    }

    /// The choice of this word, by the owner's own hand; `None` when it is not offered.
    pub fn choosing(word: &str, question: &ApprovalQuestion) -> Option<Self> {
        let at = question
            .choices
            .iter()
            .position(|choice| choice.is_typed(word))?;
        Some(Self {
            choice: Some(at),
            ..Self::of_owner(question.choices.get(at)?.scope, question)
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Open,
    Answered,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the question was already answered")]
    Used,
    #[error("the question has expired; let it be asked again")]
    Expired,
    #[error("only the owner can answer")]
    NotTheOwner,
    #[error("what was shown is not what would run; let it be asked again")]
    Changed,
    #[error("the owner said no")]
    Denied,
    #[error("nobody answered")]
    Unanswered,
    #[error("the owner said no several times in a row and is asked nothing more for now")]
    LeftInPeace,
    #[error("that answer was not offered")]
    NotOffered,
}

/// The owner's yes: each call once. There is no other way to make one, and no copy.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnerGrant {
    shapes: Vec<ContentHash>,
    scope: ApprovalScope,
    choice: String,
}

/// When a question is asked and how long it stands.
#[derive(Debug, Clone, Copy)]
pub struct QuestionTiming<'a> {
    pub id: &'a str,
    pub now: SystemTime,
    pub lasts: Duration,
}

impl ApprovalQuestion {
    /// One question about the calls of one plan.
    pub fn about(
        calls: &[(ProposedCall<'_>, Decision)],
        seen: &Provenance,
        asking: QuestionTiming<'_>,
    ) -> Self {
        let calls = calls
            .iter()
            .map(|(deed, decision)| AskedCall::of(deed, decision, seen))
            .collect();
        Self::new(calls, asking)
    }

    /// A question about calls that are described elsewhere, made safe to print.
    pub fn new(calls: Vec<AskedCall>, asking: QuestionTiming<'_>) -> Self {
        let choices = ApprovalChoice::usual("this agent");
        Self {
            id: shown(asking.id),
            binds: binds(&calls, &choices),
            calls,
            choices,
            asked: asking.now,
            expires: asking.now + asking.lasts,
            state: State::Open,
        }
    }

    /// The same question with these answers to choose from, bound anew.
    #[must_use]
    pub fn offering(mut self, choices: Vec<ApprovalChoice>) -> Self {
        self.binds = binds(&self.calls, &choices);
        self.choices = choices;
        self
    }

    /// Takes an answer. Whatever it is, the question is spent by a yes or a no of the owner.
    pub fn answer(
        &mut self,
        answer: OwnerAnswer,
        now: SystemTime,
    ) -> Result<OwnerGrant, AnswerError> {
        match answer.by {
            _ if self.state == State::Answered => return Err(AnswerError::Used),
            AnsweredBy::Nobody => return Err(AnswerError::Unanswered),
            AnsweredBy::LeftInPeace => return Err(AnswerError::LeftInPeace),
            AnsweredBy::Other => return Err(AnswerError::NotTheOwner),
            AnsweredBy::Owner if now >= self.expires || now < self.asked => {
                return Err(AnswerError::Expired);
            }
            AnsweredBy::Owner => {}
        }
        if answer.shown != Some(self.binds) || binds(&self.calls, &self.choices) != self.binds {
            return Err(AnswerError::Changed);
        }
        let choice = self
            .chosen(answer)
            .ok_or(AnswerError::NotOffered)?
            .word
            .clone();
        self.state = State::Answered;
        match answer.scope {
            ApprovalScope::Deny => Err(AnswerError::Denied),
            scope => Ok(OwnerGrant {
                shapes: self.calls.iter().map(|call| call.shape).collect(),
                scope,
                choice,
            }),
        }
    }

    /// The choice an answer makes.
    pub fn chosen(&self, answer: OwnerAnswer) -> Option<&ApprovalChoice> {
        let mut offered = self.choices.iter();
        match answer.choice {
            Some(at) => offered
                .nth(at)
                .filter(|choice| choice.scope == answer.scope),
            None => offered.find(|choice| choice.scope == answer.scope),
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
        question.binds = binds(&question.calls, &question.choices);
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
            lines.extend(call.exact.iter().map(|(name, value)| {
                // A line of the value cannot pass for one of the question.
                format!("  {name}: {}", value.replace('\n', "\n  | "))
            }));
            lines.extend(call.host_marks());
            lines.push(format!("Asked because {}.", call.why));
            if let Some(passage) = &call.passage {
                let ForeignPassage {
                    before,
                    marked,
                    after,
                } = passage;
                lines.push(format!("Untrusted: {before}>>{marked}<<{after}"));
            }
        }
        lines.join("\n")
    }
}

impl OwnerGrant {
    pub fn scope(&self) -> ApprovalScope {
        self.scope
    }

    /// The word of the choice that was made.
    pub fn choice(&self) -> &str {
        &self.choice
    }

    /// Spends the yes for one call: that of exactly the shape that was shown.
    pub fn spend(
        &mut self,
        deed: &ProposedCall<'_>,
        seen: &mut Provenance,
    ) -> Result<(), AnswerError> {
        let shape = deed.shape();
        let at = self
            .shapes
            .iter()
            .position(|granted| *granted == shape)
            .ok_or(AnswerError::Changed)?;
        self.shapes.swap_remove(at);
        deed.approve(seen);
        if self.scope != ApprovalScope::Once {
            seen.approve_shape(shape);
            deed.approve_for_session(seen);
        }
        Ok(())
    }
}

impl ForeignPassage {
    fn of(passage: SourcePassage<'_>) -> Self {
        Self {
            before: shown(passage.before),
            marked: shown(passage.atom),
            after: shown(passage.after),
        }
    }
}

impl AskedCall {
    fn of(deed: &ProposedCall<'_>, decision: &Decision, seen: &Provenance) -> Self {
        let culprit = decision.culprit();
        let passage = culprit
            .filter(|atom| matches!(atom.source, AtomSource::Foreign(_)))
            .map(|atom| atom.atom.clone())
            // Where the effect alone decided, nobody looked at the words yet.
            .or_else(|| deed.foreign_atom(seen))
            .and_then(|atom| seen.passage(&atom).map(ForeignPassage::of));
        Self {
            tool: shown(deed.tool),
            summary: match deed.words {
                Some(words) => shown(words),
                None => summary(deed, decision.rule),
            },
            exact: deed
                .arguments
                .iter()
                .map(|(name, value)| (shown(name), shown_block(&plain(value))))
                .collect(),
            why: decision.reason(),
            passage,
            shape: deed.shape(),
        }
    }
}

fn summary(deed: &ProposedCall<'_>, rule: DecisionRule) -> String {
    use crate::Effect;
    let what = match (deed.effect, rule) {
        (_, DecisionRule::Secret) => "sets or sends a password or a key",
        (_, DecisionRule::Command) => "runs a command",
        (Effect::Read | Effect::ReadUntrusted | Effect::Egress, _) => "contacts another machine",
        (Effect::WriteReversible, _) => "changes something here",
        (Effect::WriteOutward, _) => "changes something that others see",
        (Effect::Irreversible, _) => "does something that cannot be undone",
        (Effect::Persona, _) => "changes who the agent is or what it remembers",
        (Effect::Config, _) => "changes what the agent may do",
        (Effect::RunsOnOpen | Effect::RunsOnBuild, _) => {
            "changes a file that programs run automatically"
        }
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
fn binds(calls: &[AskedCall], choices: &[ApprovalChoice]) -> ContentHash {
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
    for choice in choices {
        add(&choice.word);
        add(&choice.label);
        add(choice.scope.as_str());
        add(choice.follows.as_deref().unwrap_or(""));
    }
    ContentHash::of(text)
}

#[cfg(test)]
mod tests;
