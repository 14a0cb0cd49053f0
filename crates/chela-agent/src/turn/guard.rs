//! Before a call: where do its words come from, and may it happen?
//!
//! The guard decides from effect, taint and the origin of arguments; the owner is asked where it
//! says so, once for all calls of one answer. A yes is bound to what was shown and spent by the
//! call it was given for.

mod yes;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use chela_config::model::{BareUnit, GuardPolicy};
use chela_core::ContentHash;
use chela_guard::approval::{
    Answer, AnswerError, Approver, Asking, Grant, Hand, Question, Scope, shown,
};
use chela_guard::flow::{Decision, Deed, Judge, Rule, Verdict, decide};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::approvals::{Document, KnownState};
use chela_tools::{CallWrites, Effect, Output, Prepared, Prospect, Toolbox};
use serde_json::{Value, json};

use super::Turn;
use crate::conversation::{Conversation, GuardMark};
use chela_session::SessionError;
use yes::Granted;
pub(super) use yes::{Leave, NoYes, Unallowed, Yes};

/// What the guard knows of one call.
pub(super) struct Case {
    pub prepared: Prepared,
    pub prospect: Prospect,
    /// What it would change.
    pub writes: CallWrites,
}

impl Case {
    pub(super) fn deed(&self) -> Deed<'_> {
        let spec = self.prepared.tool.spec();
        Deed {
            tool: &spec.name,
            effect: self.prospect.effect,
            sinks: &spec.sinks,
            arguments: &self.prepared.arguments,
            standing: self.prospect.standing,
            words: self.prospect.words.as_deref(),
            binds: self.prospect.binds,
        }
    }
}

/// Whether a call may be made.
pub(super) enum Permit {
    Go {
        case: Case,
        decision: Decision,
        /// The owner's yes, where one was needed.
        yes: Option<Yes>,
    },
    /// It cannot be made at all: no such tool, wrong arguments.
    Impossible(Output),
    /// It may not; what the model is told.
    No {
        case: Case,
        decision: Decision,
        words: String,
        /// The question nobody said yes to, where one was asked.
        asked: Option<Unallowed>,
    },
}

impl Turn<'_> {
    /// One question about every call of an answer that needs one.
    pub(super) async fn ask_leave(
        &self,
        calls: &[ToolCall],
        toolbox: &Toolbox,
    ) -> Result<Leave, SessionError> {
        self.catch_up(toolbox).await?;
        let cases: Vec<(&ToolCall, Case)> = calls
            .iter()
            .filter(|call| call.malformed.is_none())
            .filter_map(|call| Some((call, case_of(call, toolbox).ok()?)))
            .collect();
        let mut asked: Vec<(&ToolCall, &Case, Decision)> = Vec::new();
        for (call, case) in &cases {
            let decision = self.before_tool_call(call, case).await;
            if decision.verdict == Verdict::Ask {
                asked.push((*call, case, decision));
            }
        }
        // One alone is asked about when its turn comes.
        if asked.len() < 2 {
            return Ok(Leave::default());
        }
        let grant = self.ask(&asked).await?.ok();
        Ok(Leave(Mutex::new(grant)))
    }

    /// Whether a call may be made now.
    pub(super) async fn permit(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        leave: &Leave,
    ) -> Result<Permit, SessionError> {
        let case = match case_of(call, toolbox) {
            Ok(case) => case,
            Err(output) => return Ok(Permit::Impossible(output)),
        };
        // What calls before it brought back counts.
        self.catch_up(toolbox).await?;
        let decision = self.before_tool_call(call, &case).await;
        tracing::debug!(
            verdict = decision.verdict.as_str(),
            rule = decision.rule.as_str(),
            taint = decision.taint.as_str(),
            "the guard decided"
        );
        match decision.verdict {
            Verdict::Allow => {
                return Ok(Permit::Go {
                    case,
                    decision,
                    yes: None,
                });
            }
            Verdict::Deny => return Ok(refused(case, decision, None)),
            Verdict::Ask => {}
        }
        if let Some(yes) = self.spend(leave, call, &case).await? {
            return Ok(Permit::Go {
                case,
                decision,
                yes: Some(yes),
            });
        }
        if let Some(yes) = self.spend_kept(call, &case).await? {
            return Ok(Permit::Go {
                case,
                decision,
                yes: Some(yes),
            });
        }
        match self.ask(&[(call, &case, decision.clone())]).await? {
            Ok(granted) => {
                let question = granted.question.clone();
                let leave = Leave(Mutex::new(Some(granted)));
                match self.spend(&leave, call, &case).await? {
                    Some(yes) => Ok(Permit::Go {
                        case,
                        decision,
                        yes: Some(yes),
                    }),
                    None => {
                        let asked = Unallowed {
                            words: CHANGED.to_owned(),
                            question,
                            why: NoYes::Open,
                        };
                        Ok(refused(case, decision, Some(asked)))
                    }
                }
            }
            Err(asked) => Ok(refused(case, decision, Some(asked))),
        }
    }

    /// The decision as it stands in the audit chain.
    pub(super) fn decision_on_record(&self, decision: &Decision, yes: Option<&Yes>) -> Value {
        self.talk.seen.with(|seen| {
            let origins: Vec<Value> = decision
                .atoms
                .iter()
                .map(|atom| {
                    json!({
                        "argument": atom.argument,
                        "atom": shown(&atom.atom),
                        "from": atom.source.in_words(seen),
                        "passes": atom.passes,
                    })
                })
                .collect();
            json!({
                "verdict": decision.verdict.as_str(),
                "goes": decision.verdict == Verdict::Allow || yes.is_some(),
                "rule": decision.rule.as_str(),
                "why": decision.rule.text(),
                "taint": decision.taint.as_str(),
                "taintedBy": seen
                    .tainted_by()
                    .and_then(|id| seen.span(id))
                    .map(|span| span.origin.to_string()),
                "yes": yes.map(|yes| yes.scope.as_str()),
                "question": yes.map(|yes| yes.question.as_str()),
                "origins": origins,
            })
        })
    }

    /// Reads what the transcript has gained.
    pub(super) async fn catch_up(&self, toolbox: &Toolbox) -> Result<(), SessionError> {
        self.talk
            .catch_up(&self.session, toolbox, &self.prefix.sections)
            .await
    }

    pub(super) fn judge(&self, case: &Case) -> Decision {
        let rules = self.talk.guard_rules();
        let deed = case.deed();
        let decision = self
            .talk
            .seen
            .with(|seen| decide(rules.judge(), seen, &deed));
        match decision.verdict {
            Verdict::Ask if self.talk.is_always_allowed(deed.shape()) => Decision {
                verdict: Verdict::Allow,
                rule: Rule::ApprovedShape,
                ..decision
            },
            _ => decision,
        }
    }

    /// Asks the owner. The error is what the model is told.
    async fn ask(
        &self,
        asked: &[(&ToolCall, &Case, Decision)],
    ) -> Result<Result<Granted, Unallowed>, SessionError> {
        let host = &self.talk.agents.host;
        let id = host.random_hex(3);
        let asking = Asking {
            id: &id,
            now: host.clock.now(),
            lasts: self.talk.patience(),
        };
        let deeds: Vec<(Deed<'_>, Decision)> = asked
            .iter()
            .map(|(_, case, decision)| (case.deed(), decision.clone()))
            .collect();
        let mut question = self
            .talk
            .seen
            .with(|seen| Question::about(&deeds, seen, asking));
        tracing::info!(question = id, calls = asked.len(), "the owner is asked");
        let outcome = self.put(&mut question).await;
        let unallowed = |why, words| {
            let question = id.clone();
            Ok(Err(Unallowed {
                words,
                question,
                why,
            }))
        };
        match outcome {
            Ok(grant) => Ok(Ok(Granted {
                grant,
                question: id.clone(),
            })),
            Err(AnswerError::Denied) => {
                for ((deed, _), (call, ..)) in deeds.iter().zip(asked) {
                    self.mark(GuardMark::Refused {
                        call: call.id.clone(),
                        shape: deed.shape(),
                    })
                    .await?;
                }
                unallowed(NoYes::Denied, DENIED.to_owned())
            }
            Err(AnswerError::Unanswered | AnswerError::Expired) => {
                let words = self.queued(&question).unwrap_or(UNANSWERED.to_owned());
                unallowed(NoYes::Open, words)
            }
            Err(error) => unallowed(NoYes::Open, format!("{error}. ")),
        }
    }

    pub(super) async fn mark(&self, mark: GuardMark) -> Result<(), SessionError> {
        self.talk
            .sessions
            .append(&self.session, mark.into())
            .await
            .map(drop)
    }

    /// Puts a question to whoever is there, for as long as it lasts.
    pub(super) async fn put(&self, question: &mut Question) -> Result<Grant, AnswerError> {
        let answer = {
            let _waits = self.talk.waits();
            tokio::time::timeout(question.lasts(), self.surface.ask(question)).await
        };
        let answer = answer.unwrap_or(Answer::NOBODY);
        let outcome = question.answer(answer, self.talk.agents.host.clock.now());
        self.book_answer(question, answer, outcome.as_ref().err());
        outcome
    }

    /// A question and its answer belong to the record.
    fn book_answer(&self, question: &Question, answer: Answer, error: Option<&AnswerError>) {
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.book.turn(),
            "question": question,
            "answer": in_words(answer),
            "counts": error.is_none(),
            "why": error.map(ToString::to_string),
        });
        self.book.note(AuditKind::Approval, &body);
    }
}

/// An answer as it stands on record.
pub(super) fn in_words(answer: Answer) -> &'static str {
    match answer.by {
        Hand::Owner => answer.scope.as_str(),
        Hand::Other => "not the owner",
        Hand::Nobody => "nobody",
    }
}

const DENIED: &str = "The owner said no. ";
const UNANSWERED: &str = "It needs the owner's yes, and nobody answered. ";
const CHANGED: &str = "What would run is not what was allowed. ";

/// What the model is told about a call that may not be made. It repeats nothing of the call.
fn refused(case: Case, decision: Decision, asked: Option<Unallowed>) -> Permit {
    let said = asked.as_ref().map_or("", |asked| asked.words.as_str());
    let words = format!(
        "Not done: {}. {said}Do not try it another way; tell the user what you wanted to do and why.",
        decision.rule.text_for_model()
    );
    Permit::No {
        case,
        decision,
        words,
        asked,
    }
}

fn case_of(call: &ToolCall, toolbox: &Toolbox) -> Result<Case, Output> {
    let prepared = toolbox.prepare(&call.name, &call.arguments)?;
    let mut prospect = prepared.tool.prospect(&prepared.arguments);
    let writes = prepared.tool.writes(&prepared.arguments);
    if let CallWrites::Files { paths, .. } = &writes {
        prospect.effect = effect_of_writing(prospect.effect, paths);
    }
    Ok(Case {
        prepared,
        prospect,
        writes,
    })
}

/// What a call that writes these files really changes: the gravest of them counts, whichever tool
/// writes it.
fn effect_of_writing(effect: Effect, paths: &[PathBuf]) -> Effect {
    let effects = paths
        .iter()
        .map(|path| effect.when_writing(&path.to_string_lossy()));
    effects.fold(effect, |gravest, effect| match (gravest, effect) {
        (Effect::Config, _) | (_, Effect::Config) => Effect::Config,
        (Effect::WriteReversible, effect) => effect,
        (gravest, _) => gravest,
    })
}

/// Answers the tool's own question with the yes that was given for exactly what it asks about.
pub(super) struct Answered<'a> {
    pub yes: Scope,
    pub binds: Option<ContentHash>,
    pub otherwise: &'a dyn Approver,
}

impl Approver for Answered<'_> {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        match question.calls.as_slice() {
            [call] if Some(call.shape) == self.binds => {
                Box::pin(std::future::ready(Answer::of_owner(self.yes, question)))
            }
            _ => self.otherwise.ask(question),
        }
    }
}

/// The rules a conversation is judged by.
pub(crate) struct GuardRules {
    pub policy: GuardPolicy,
    pub egress: Vec<String>,
    pub confirm: Vec<Effect>,
}

impl GuardRules {
    pub fn judge(&self) -> Judge<'_> {
        Judge {
            policy: self.policy,
            egress: &self.egress,
            confirm: &self.confirm,
        }
    }
}

impl Conversation {
    /// Policy of the agent and of the channel: the stricter counts.
    pub(crate) fn guard_rules(&self) -> GuardRules {
        let strictness = |policy: &GuardPolicy| match policy {
            GuardPolicy::Open => 0,
            GuardPolicy::Standard => 1,
            GuardPolicy::Strict => 2,
        };
        let by_channel = &self.agents.loaded.config.guard.by_channel;
        let channel = self.ask.channel.as_ref();
        let of_channel = channel.and_then(|channel| by_channel.get(channel).copied());
        let own = self.view.guard_policy.value;
        let policy = [Some(own), of_channel]
            .into_iter()
            .flatten()
            .max_by_key(strictness)
            .unwrap_or(own);
        let confirm = self.view.guard_confirm.value.iter();
        GuardRules {
            policy,
            egress: self.view.guard_egress.value.clone(),
            confirm: confirm.map(|effect| (*effect).into()).collect(),
        }
    }

    /// Whether the owner allowed calls of this shape for good.
    pub(super) fn is_always_allowed(&self, shape: ContentHash) -> bool {
        Document::load(&Document::path(&self.agents.host)).is_ok_and(|document| {
            document
                .calls(&self.view.id)
                .any(|call| call.state == KnownState::Always && call.shape == shape)
        })
    }

    /// How long a question stands.
    pub(crate) fn patience(&self) -> Duration {
        let lasts = &self.agents.loaded.config.guard.approvals.expires_after;
        lasts
            .duration(BareUnit::Seconds)
            .unwrap_or(Duration::from_secs(600))
    }
}
