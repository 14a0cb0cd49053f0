//! Before a call: where do its words come from, and may it happen?
//!
//! The guard decides from effect, taint and the origin of arguments; the owner is asked where it
//! says so, once for all calls of one answer. A yes is bound to what was shown and spent by the
//! call it was given for.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chela_config::model::{BareUnit, GuardPolicy, HeadlessApproval};
use chela_core::ContentHash;
use chela_guard::approval::{
    Answer, AnswerError, Approver, AskedCall, Asking, Grant, Hand, Question, Scope, shown,
};
use chela_guard::flow::{Decision, Deed, Judge, Rule, Verdict, decide};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::approvals::{Document, KnownCall, KnownState};
use chela_tools::{Effect, Output, Prepared, Prospect, Toolbox};
use serde_json::{Value, json};

use super::{Turn, TurnEvent};
use crate::conversation::{Conversation, GuardMark};
use crate::session::SessionError;

/// What the guard knows of one call.
pub(super) struct Case {
    pub prepared: Prepared,
    pub prospect: Prospect,
}

impl Case {
    fn deed(&self) -> Deed<'_> {
        let spec = self.prepared.tool.spec();
        Deed {
            tool: spec.name,
            effect: self.prospect.effect,
            sinks: spec.sinks,
            arguments: &self.prepared.arguments,
            standing: self.prospect.standing,
            words: self.prospect.words.as_deref(),
            binds: self.prospect.binds,
        }
    }
}

/// A yes the owner gave to several calls of one answer.
#[derive(Default)]
pub(super) struct Leave(Mutex<Option<Granted>>);

/// A yes, and the question it answers.
struct Granted {
    grant: Grant,
    question: String,
}

/// The owner's yes to one call.
#[derive(Debug, Clone)]
pub(super) struct Yes {
    pub scope: Scope,
    /// The question it answers, by its id in the audit chain.
    pub question: String,
}

/// Why a call that needs a yes has none.
pub(super) struct Unallowed {
    /// What the model is told.
    words: String,
    pub question: String,
    pub why: NoYes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoYes {
    /// The owner said no.
    Denied,
    /// Nobody said anything that counts.
    Open,
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
        self.catch_up(toolbox)?;
        let cases: Vec<(&ToolCall, Case)> = calls
            .iter()
            .filter(|call| call.malformed.is_none())
            .filter_map(|call| Some((call, case_of(call, toolbox).ok()?)))
            .collect();
        let asked: Vec<(&ToolCall, &Case, Decision)> = cases
            .iter()
            .map(|(call, case)| (*call, case, self.judge(case)))
            .filter(|(_, _, decision)| decision.verdict == Verdict::Ask)
            .collect();
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
        self.catch_up(toolbox)?;
        let decision = self.judge(&case);
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
        if let Some(yes) = self.spend(leave, call, &case)? {
            return Ok(Permit::Go {
                case,
                decision,
                yes: Some(yes),
            });
        }
        if let Some(yes) = self.spend_kept(call, &case)? {
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
                match self.spend(&leave, call, &case)? {
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
    pub(super) fn catch_up(&self, toolbox: &Toolbox) -> Result<(), SessionError> {
        self.talk
            .catch_up(&self.session, toolbox, &self.prefix.sections)
    }

    fn judge(&self, case: &Case) -> Decision {
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
        let answer = {
            let _waits = self.talk.waits();
            tokio::time::timeout(question.lasts(), self.surface.ask(&question)).await
        };
        let answer = answer.unwrap_or(Answer::NOBODY);
        let outcome = question.answer(answer, host.clock.now());
        self.book_answer(&question, answer, outcome.as_ref().err());
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
                    })?;
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

    /// Spends the yes for a call, if it was given for exactly this one.
    fn spend(
        &self,
        leave: &Leave,
        call: &ToolCall,
        case: &Case,
    ) -> Result<Option<Yes>, SessionError> {
        let deed = case.deed();
        let yes = {
            let mut granted = leave.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(granted) = granted.as_mut() else {
                return Ok(None);
            };
            let spent = self.talk.seen.with(|seen| granted.grant.spend(&deed, seen));
            match spent {
                Ok(()) => Yes {
                    scope: granted.grant.scope(),
                    question: granted.question.clone(),
                },
                Err(_) => return Ok(None),
            }
        };
        self.mark(GuardMark::Allowed {
            call: call.id.clone(),
            shape: deed.shape(),
            scope: yes.scope,
            question: Some(yes.question.clone()),
        })?;
        if yes.scope == Scope::Always && !has_own_list(&deed) {
            self.keep_always(&deed);
        }
        Ok(Some(yes))
    }

    /// The question to which the owner said yes for good, or for this session.
    pub(super) fn question_behind(&self, case: &Case) -> Option<String> {
        let shape = case.deed().shape();
        let branch = self.talk.sessions.branch(&self.session).ok()?;
        let here = branch
            .iter()
            .rev()
            .find_map(|entry| match GuardMark::of(&entry.body)? {
                GuardMark::Allowed {
                    shape: allowed,
                    question,
                    ..
                } if allowed == shape => question,
                _ => None,
            });
        here.or_else(|| {
            let path = Document::path(&self.talk.agents.host);
            let document = Document::load(&path).ok()?;
            let mut known = document.calls(&self.talk.view.id);
            let found = known.find(|call| call.shape == shape)?;
            Some(found.id.clone())
        })
    }

    /// Spends a yes the owner gave later, to a question that nobody was there to answer.
    fn spend_kept(&self, call: &ToolCall, case: &Case) -> Result<Option<Yes>, SessionError> {
        let shape = case.deed().shape();
        let session = self.talk.key.to_string();
        let matches = |known: &KnownCall| {
            known.shape == shape && known.state == KnownState::Once && known.session == session
        };
        let path = Document::path(&self.talk.agents.host);
        let Ok(document) = Document::load(&path) else {
            return Ok(None);
        };
        let found = document
            .calls(&self.talk.view.id)
            .find(|call| matches(call));
        let Some(id) = found.map(|known| known.id.clone()) else {
            return Ok(None);
        };
        let mut taken = false;
        let changed = Document::change(&path, |document| {
            taken = document.forget_call(&id).is_some();
        });
        if changed.is_err() || !taken {
            return Ok(None);
        }
        self.mark(GuardMark::Allowed {
            call: call.id.clone(),
            shape,
            scope: Scope::Once,
            question: Some(id.clone()),
        })?;
        Ok(Some(Yes {
            scope: Scope::Once,
            question: id,
        }))
    }

    /// Puts a question aside for an owner who is not there, where the config says so.
    fn queued(&self, question: &Question) -> Option<String> {
        let approvals = &self.talk.agents.loaded.config.guard.approvals;
        if approvals.headless != HeadlessApproval::Queue {
            return None;
        }
        let ids: Vec<String> = question
            .calls
            .iter()
            .map(|call| self.know(call, KnownState::Pending))
            .collect();
        let ids = ids.join(", ");
        self.surface.event(TurnEvent::Notice(format!(
            "Waits for your yes: {ids} (`chela approvals show ID`, then `chela approvals allow ID`)."
        )));
        Some(format!(
            "The owner is not there; the question waits as {ids}. Say so, and go on with what needs no yes. Once it is allowed, make exactly the same call again. "
        ))
    }

    /// Keeps a yes for good.
    fn keep_always(&self, deed: &Deed<'_>) {
        let decision = Decision::about(deed, Verdict::Allow, Rule::ApprovedShape);
        let asking = Asking {
            id: "",
            now: self.talk.agents.host.clock.now(),
            lasts: Duration::ZERO,
        };
        let question = self
            .talk
            .seen
            .with(|seen| Question::about(&[(*deed, decision)], seen, asking));
        for call in &question.calls {
            self.know(call, KnownState::Always);
        }
    }

    /// Writes a call down for other processes; gives the id it has there.
    fn know(&self, call: &AskedCall, state: KnownState) -> String {
        let host = &self.talk.agents.host;
        let known = KnownCall {
            id: host.random_hex(4),
            shape: call.shape,
            state,
            tool: call.tool.clone(),
            summary: call.summary.clone(),
            exact: call.exact.clone(),
            why: call.why.clone(),
            session: self.talk.key.to_string(),
            at: host.unix_millis(),
            other: serde_json::Map::new(),
        };
        let id = known.id.clone();
        let agent = self.talk.view.id.as_str();
        let path = Document::path(host);
        if let Err(error) = Document::change(&path, |document| document.know(agent, known)) {
            self.surface.event(TurnEvent::Notice(error.to_string()));
        }
        id
    }

    fn mark(&self, mark: GuardMark) -> Result<(), SessionError> {
        self.talk
            .sessions
            .append(&self.session, mark.into())
            .map(drop)
    }

    /// A question and its answer belong to the record.
    pub(super) fn book_answer(
        &self,
        question: &Question,
        answer: Answer,
        error: Option<&AnswerError>,
    ) {
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
    let prospect = prepared.tool.prospect(&prepared.arguments);
    Ok(Case { prepared, prospect })
}

/// Commands have a list of their own, which a yes for good goes to.
fn has_own_list(deed: &Deed<'_>) -> bool {
    deed.binds.is_some()
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
    fn is_always_allowed(&self, shape: ContentHash) -> bool {
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
