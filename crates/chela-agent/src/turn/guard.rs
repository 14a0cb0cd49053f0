//! Before a call: where do its words come from, and may it happen?
//!
//! The guard decides from effect, taint and the origin of arguments; the owner is asked where it
//! says so, about one call at a time; several that only read are one question, and so are a few of
//! one tool that send something. A yes is bound to what was shown and spent by the call it was
//! given for.

mod alike_calls;
mod asking;
mod file_diffs;
mod judged_call;
mod owner_approval;
mod redirects;

use chela_guard::flow::{CallVerdict, Decision, DecisionRule};
use chela_model::ToolCall;
use chela_session::SessionError;
use chela_tools::{ToolOutput, Toolbox};

use super::RunningTurn;
use crate::guard_mark::GuardMark;

use asking::AskedDeed;
pub(super) use asking::{AnsweredApprover, in_words};
pub(super) use judged_call::JudgedCall;
use judged_call::only_reads;
pub(super) use owner_approval::{BatchApproval, DenialKind, MissingApproval, OwnerApproval};
pub(super) use redirects::TurnRedirects;

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

    pub(super) async fn mark(&self, mark: GuardMark) -> Result<(), SessionError> {
        self.parts
            .transcript
            .sessions
            .append(&self.session, mark.into())
            .await
            .map(drop)
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
