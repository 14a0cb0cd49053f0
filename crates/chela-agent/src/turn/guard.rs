//! Before a call: where do its words come from, and may it happen?
//!
//! The guard decides from effect, taint and the origin of arguments; the owner is asked where it
//! says so, about one call at a time; several that only read are one question, and so are a few of
//! one tool that send something. A yes is bound to what was shown and spent by the call it was
//! given for.

mod alike_calls;
mod file_diffs;
mod owner_approval;
mod redirects;

use std::path::PathBuf;
use std::pin::Pin;

use chela_config::model::GuardPolicy;
use chela_core::ContentHash;
use chela_guard::WebAddress;
use chela_guard::approval::{
    AnswerError, AnsweredBy, ApprovalChoice, ApprovalQuestion, ApprovalScope, Approver,
    OwnerAnswer, OwnerGrant, QuestionTiming, shown,
};
use chela_guard::flow::{CallVerdict, Decision, DecisionRule, ProposedCall, decide};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::{
    CallProspect, CallTarget, CallWrites, Effect, FilePreview, PreparedCall, ToolOutput, Toolbox,
};
use serde_json::{Value, json};

use super::{RunningTurn, TurnEvent};
use crate::guard_mark::GuardMark;
use crate::order_files::{OrderLeave, order_names};
use crate::self_running_files::other_names;
use chela_session::SessionError;
use owner_approval::GrantedQuestion;
pub(super) use owner_approval::{BatchApproval, DenialKind, MissingApproval, OwnerApproval};
pub(super) use redirects::TurnRedirects;

/// What the guard knows of one call.
pub(super) struct JudgedCall {
    pub prepared: PreparedCall,
    pub prospect: CallProspect,
    /// What it would change.
    pub writes: CallWrites,
    /// What it is about, in the form in which it is judged and used.
    pub targets: Vec<CallTarget>,
    /// The files it writes that tell the agent what to do, where that is not known to the owner.
    pub orders: Vec<&'static str>,
    /// The address that led to the target, where a server redirected the call.
    pub led_from: Option<WebAddress>,
}

impl JudgedCall {
    pub(super) fn deed(&self) -> ProposedCall<'_> {
        let spec = self.prepared.tool.spec();
        ProposedCall {
            tool: &spec.name,
            effect: self.prospect.effect,
            sinks: &spec.sinks,
            arguments: &self.prepared.arguments,
            targets: &self.targets,
            led_from: self.led_from.as_ref(),
            look: self.prepared.look,
            standing: self.prospect.standing,
            orders: &self.orders,
            words: self.prospect.words.as_deref(),
            binds: self.prospect.binds,
        }
    }
}

/// A call the owner is asked about.
struct AskedDeed<'a> {
    call: &'a ToolCall,
    case: &'a JudgedCall,
    decision: Decision,
    /// What it would leave behind.
    drafts: Vec<FilePreview>,
}

/// Whether a call may be made.
pub(super) enum CallPermit {
    Go {
        case: JudgedCall,
        decision: Decision,
        /// The owner's yes, where one was needed.
        yes: Option<OwnerApproval>,
    },
    /// It cannot be made at all: no such tool, wrong arguments.
    Impossible(ToolOutput),
    /// It may not; what the model is told.
    No {
        case: JudgedCall,
        decision: Decision,
        words: String,
        /// The question nobody said yes to, where one was asked.
        asked: Option<MissingApproval>,
    },
}

impl RunningTurn<'_> {
    /// One question about the calls of an answer that need one and only read. Any other call is
    /// asked about by itself, when its turn comes.
    pub(super) async fn ask_leave(
        &self,
        calls: &[ToolCall],
        toolbox: &Toolbox,
    ) -> Result<BatchApproval, SessionError> {
        self.catch_up(toolbox).await?;
        let cases: Vec<(&ToolCall, JudgedCall)> = calls
            .iter()
            .filter(|call| call.malformed.is_none())
            .filter_map(|call| Some((call, self.case_of(call, toolbox).ok()?)))
            .collect();
        let mut asked: Vec<AskedDeed<'_>> = Vec::new();
        for (call, case) in cases.iter().filter(|(_, case)| only_reads(case)) {
            let decision = self.before_tool_call(call, case).await;
            if decision.verdict == CallVerdict::Ask {
                asked.push(AskedDeed {
                    call,
                    case,
                    decision,
                    drafts: Vec::new(),
                });
            }
        }
        let leave = BatchApproval {
            calls: calls.to_vec(),
            ..BatchApproval::default()
        };
        // One alone is asked about when its turn comes.
        if asked.len() > 1
            && let Ok(granted) = self.ask(&asked).await?
        {
            leave.add(granted);
        }
        Ok(leave)
    }

    /// Whether a call may be made now.
    pub(super) async fn permit(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        leave: &BatchApproval,
    ) -> Result<CallPermit, SessionError> {
        let case = match self.case_of(call, toolbox) {
            Ok(case) => case,
            Err(output) => return Ok(CallPermit::Impossible(output)),
        };
        // What calls before it brought back counts.
        self.catch_up(toolbox).await?;
        if let Some((decision, asked)) = self.ask_alike(call, &case, toolbox, leave).await? {
            return Ok(refused(case, decision, Some(asked)));
        }
        self.permit_case(call, case, leave).await
    }

    /// Whether a call may be made of which is known what it will do.
    async fn permit_case(
        &self,
        call: &ToolCall,
        case: JudgedCall,
        leave: &BatchApproval,
    ) -> Result<CallPermit, SessionError> {
        let decision = self.before_tool_call(call, &case).await;
        tracing::debug!(
            verdict = decision.verdict.as_str(),
            rule = decision.rule.as_str(),
            taint = decision.taint.as_str(),
            "the guard decided"
        );
        match decision.verdict {
            CallVerdict::Allow => {
                return Ok(CallPermit::Go {
                    case,
                    decision,
                    yes: None,
                });
            }
            CallVerdict::Deny => {
                if matches!(
                    decision.rule,
                    DecisionRule::RefusedBefore | DecisionRule::TooManyQuestions
                ) {
                    self.tell_not_asked();
                }
                return Ok(refused(case, decision, None));
            }
            CallVerdict::Ask => {}
        }
        if let Some(yes) = self.spend(leave, call, &case).await? {
            return Ok(CallPermit::Go {
                case,
                decision,
                yes: Some(yes),
            });
        }
        if let Some(yes) = self.spend_kept(call, &case).await? {
            return Ok(CallPermit::Go {
                case,
                decision,
                yes: Some(yes),
            });
        }
        let drafts = self.previewed(&case).await;
        let asked = AskedDeed {
            call,
            case: &case,
            decision: decision.clone(),
            drafts,
        };
        match self.ask(std::slice::from_ref(&asked)).await? {
            Ok(granted) if self.previewed(&case).await != asked.drafts => {
                let asked = MissingApproval {
                    words: CHANGED.to_owned(),
                    question: granted.question,
                    why: DenialKind::Open,
                };
                Ok(refused(case, decision, Some(asked)))
            }
            Ok(granted) => {
                let question = granted.question.clone();
                let leave = BatchApproval::default();
                leave.add(granted);
                match self.spend(&leave, call, &case).await? {
                    Some(yes) => Ok(CallPermit::Go {
                        case,
                        decision,
                        yes: Some(yes),
                    }),
                    None => {
                        let asked = MissingApproval {
                            words: CHANGED.to_owned(),
                            question,
                            why: DenialKind::Open,
                        };
                        Ok(refused(case, decision, Some(asked)))
                    }
                }
            }
            Err(asked) => Ok(refused(case, decision, Some(asked))),
        }
    }

    fn case_of(&self, call: &ToolCall, toolbox: &Toolbox) -> Result<JudgedCall, ToolOutput> {
        let typed = self.parts.guarding.typed_addresses();
        let arguments = typed.put_back(&call.name, &call.arguments, toolbox);
        let prepared = toolbox.prepare(&call.name, &arguments)?;
        let mut prospect = prepared.tool.prospect(&prepared.arguments);
        let writes = prepared.tool.writes(&prepared.arguments);
        let mut orders = Vec::new();
        if let CallWrites::Files { paths, .. } = &writes {
            let root = self.parts.scope.workspace_root();
            // Links give a file names that programs go by.
            let roots = self.parts.scope.writable_roots();
            let names = paths.iter().flat_map(|path| other_names(&roots, path));
            let names: Vec<PathBuf> = paths.iter().cloned().chain(names).collect();
            prospect.effect = effect_of_writing(prospect.effect, &names);
            orders = order_names(&root, paths.iter().map(PathBuf::as_path));
            if !orders.is_empty() {
                let leave = self.order_leave();
                let asked = paths.iter().filter(|path| !leave.covers_file(&root, path));
                orders = order_names(&root, asked.map(PathBuf::as_path));
            }
        }
        let targets = prepared.tool.targets(&prepared.arguments);
        Ok(JudgedCall {
            prepared,
            prospect,
            writes,
            targets,
            orders,
            led_from: None,
        })
    }

    /// The files that give orders and that may change unasked now.
    pub(super) fn order_leave(&self) -> OrderLeave {
        if self.parts.guarding.rules().policy == GuardPolicy::Open {
            return OrderLeave::everything();
        }
        let custody = self.parts.custody.custody();
        let provenance = &self.parts.guarding.provenance;
        provenance.with(|seen| OrderLeave::now(seen, custody.as_deref()))
    }

    /// The decision as it stands in the audit chain.
    pub(super) fn decision_on_record(
        &self,
        decision: &Decision,
        yes: Option<&OwnerApproval>,
    ) -> Value {
        self.parts.guarding.provenance.with(|seen| {
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
                "goes": decision.verdict == CallVerdict::Allow || yes.is_some(),
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
        self.parts
            .guarding
            .catch_up(&self.session, toolbox, &self.prefix.text.sections)
            .await
    }

    pub(super) fn judge(&self, case: &JudgedCall) -> Decision {
        let rules = self.parts.guarding.rules();
        let deed = case.deed();
        let decision = self
            .parts
            .guarding
            .provenance
            .with(|seen| decide(rules.judge(), seen, &deed));
        match decision.verdict {
            CallVerdict::Ask if self.parts.guarding.is_always_allowed(deed.shape()) => Decision {
                verdict: CallVerdict::Allow,
                rule: DecisionRule::ApprovedShape,
                ..decision
            },
            _ => decision,
        }
    }

    /// Asks the owner. The error is what the model is told.
    async fn ask(
        &self,
        asked: &[AskedDeed<'_>],
    ) -> Result<Result<GrantedQuestion, MissingApproval>, SessionError> {
        let host = &self.parts.scope.agents.host;
        let id = host.random_hex(3);
        let asking = QuestionTiming {
            id: &id,
            now: host.clock.now(),
            lasts: self.parts.guarding.patience(),
        };
        let deeds: Vec<(ProposedCall<'_>, Decision)> = asked
            .iter()
            .map(|asked| (asked.case.deed(), asked.decision.clone()))
            .collect();
        let mut question = self
            .parts
            .guarding
            .provenance
            .with(|seen| ApprovalQuestion::about(&deeds, seen, asking));
        for (shown, asked) in question.calls.iter_mut().zip(asked) {
            self.show_as_diffs(shown, asked);
        }
        let mut question = question.offering(self.choices_for(asked));
        tracing::info!(question = id, calls = asked.len(), "the owner is asked");
        let outcome = self.put(&mut question).await;
        let unallowed = |why, words| {
            let question = id.clone();
            Ok(Err(MissingApproval {
                words,
                question,
                why,
            }))
        };
        match outcome {
            Ok(grant) => Ok(Ok(GrantedQuestion {
                grant,
                question: id.clone(),
                calls: asked.iter().map(|asked| asked.call.id.clone()).collect(),
            })),
            Err(AnswerError::Denied) => {
                for ((deed, _), asked) in deeds.iter().zip(asked) {
                    self.mark(GuardMark::Refused {
                        call: asked.call.id.clone(),
                        shape: deed.shape(),
                    })
                    .await?;
                }
                unallowed(DenialKind::Denied, DENIED.to_owned())
            }
            Err(AnswerError::Unanswered | AnswerError::Expired) => {
                let words = self.queued(&question).await;
                let words = words.unwrap_or(UNANSWERED.to_owned());
                unallowed(DenialKind::Open, words)
            }
            Err(error) => unallowed(DenialKind::Open, format!("{error}. ")),
        }
    }

    /// What can be answered: what the tool itself offers for a call, where it is alone.
    fn choices_for(&self, asked: &[AskedDeed<'_>]) -> Vec<ApprovalChoice> {
        match asked {
            [asked] if !asked.case.prospect.choices.is_empty() => {
                asked.case.prospect.choices.clone()
            }
            _ => ApprovalChoice::usual(&format!("agent {}", self.parts.scope.view.id)),
        }
    }

    pub(super) async fn mark(&self, mark: GuardMark) -> Result<(), SessionError> {
        self.parts
            .transcript
            .sessions
            .append(&self.session, mark.into())
            .await
            .map(drop)
    }

    /// The owner hears that something was wanted again and not asked about.
    pub(super) fn tell_not_asked(&self) {
        self.surface.event(TurnEvent::Notice(
            "Not asked again, after your no: write to the agent, and it can ask.".to_owned(),
        ));
    }

    /// Puts a question to whoever is there, for as long as it lasts.
    pub(super) async fn put(
        &self,
        question: &mut ApprovalQuestion,
    ) -> Result<OwnerGrant, AnswerError> {
        let answer = {
            let _waits = self.parts.guarding.wait_for_answer();
            let _open = self.note_open(question);
            tokio::time::timeout(question.lasts(), self.surface.ask(question)).await
        };
        let answer = answer.unwrap_or(OwnerAnswer::NOBODY);
        let outcome = question.answer(answer, self.parts.scope.agents.host.clock.now());
        self.book_answer(question, answer, outcome.as_ref().err());
        outcome
    }

    /// A question and its answer belong to the record.
    fn book_answer(
        &self,
        question: &ApprovalQuestion,
        answer: OwnerAnswer,
        error: Option<&AnswerError>,
    ) {
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.recorder.turn(),
            "question": question,
            "answer": in_words(answer),
            "counts": error.is_none(),
            "why": error.map(ToString::to_string),
        });
        self.recorder.note(AuditKind::Approval, &body);
    }
}

/// An answer as it stands on record.
pub(super) fn in_words(answer: OwnerAnswer) -> &'static str {
    match answer.by {
        AnsweredBy::Owner => answer.scope.as_str(),
        AnsweredBy::Other => "not the owner",
        AnsweredBy::Nobody => "nobody",
        AnsweredBy::LeftInPeace => "not asked",
    }
}

const DENIED: &str = "The owner said no. ";
const UNANSWERED: &str = "It needs the owner's yes, and nobody answered: in `chela chat` the owner is asked, and with `chela config set guard.approvals.headless queue` questions wait for `chela approvals allow ID`. ";
const CHANGED: &str = "What would run is not what was allowed. ";

/// What the model is told about a call that may not be made. It repeats nothing of the call.
fn refused(case: JudgedCall, decision: Decision, asked: Option<MissingApproval>) -> CallPermit {
    let said = asked.as_ref().map_or("", |asked| asked.words.as_str());
    let way = way_to_yes(decision.rule);
    let words = format!(
        "Not done: {}. {said}{way}Do not try it another way; tell the user what you wanted to do and why.",
        decision.rule.text_for_model()
    );
    CallPermit::No {
        case,
        decision,
        words,
        asked,
    }
}

/// How the owner can still have it, where nobody was asked.
fn way_to_yes(rule: DecisionRule) -> &'static str {
    match rule {
        DecisionRule::RefusedBefore | DecisionRule::TooManyQuestions => {
            "It can be asked about again once the owner has written. "
        }
        DecisionRule::Config => {
            "The owner can do it with `chela config set`, or let it be asked about with `/release` in the chat. "
        }
        _ => "",
    }
}

/// Several of these are one question: none of them changes anything.
fn only_reads(case: &JudgedCall) -> bool {
    matches!(
        case.prospect.effect,
        Effect::Read | Effect::ReadUntrusted | Effect::Egress
    )
}

/// What a call that writes these files really changes: the gravest of them counts, whichever tool
/// writes it.
fn effect_of_writing(effect: Effect, paths: &[PathBuf]) -> Effect {
    let effects = paths
        .iter()
        .map(|path| effect.when_writing(&path.to_string_lossy()));
    effects.fold(effect, |gravest, effect| {
        match effect.gravity_of_writing() > gravest.gravity_of_writing() {
            true => effect,
            false => gravest,
        }
    })
}

/// Answers the tool's own question with the yes that was given for exactly what it asks about.
pub(super) struct AnsweredApprover<'a> {
    /// The word of the choice that was made.
    pub choice: &'a str,
    pub binds: Option<ContentHash>,
    pub otherwise: &'a dyn Approver,
}

impl Approver for AnsweredApprover<'_> {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        match question.calls.as_slice() {
            // What it does not offer itself is a yes to this one call.
            [call] if Some(call.shape) == self.binds => Box::pin(std::future::ready(
                OwnerAnswer::choosing(self.choice, question)
                    .unwrap_or_else(|| OwnerAnswer::of_owner(ApprovalScope::Once, question)),
            )),
            _ => self.otherwise.ask(question),
        }
    }
}
