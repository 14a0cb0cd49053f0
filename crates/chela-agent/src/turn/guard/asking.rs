//! Putting a call to the owner, and what the owner said to it.

use std::pin::Pin;

use chela_core::ContentHash;
use chela_guard::approval::{
    AnswerError, AnsweredBy, ApprovalChoice, ApprovalQuestion, ApprovalScope, Approver,
    OwnerAnswer, OwnerGrant, QuestionTiming,
};
use chela_guard::flow::{Decision, ProposedCall};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_session::SessionError;
use chela_tools::FilePreview;
use serde_json::json;

use super::judged_call::JudgedCall;
use super::owner_approval::{DenialKind, GrantedQuestion, MissingApproval};
use super::{DENIED, UNANSWERED};
use crate::guard_mark::GuardMark;
use crate::turn::{RunningTurn, TurnEvent};

/// A call the owner is asked about.
pub(super) struct AskedDeed<'a> {
    pub call: &'a ToolCall,
    pub case: &'a JudgedCall,
    pub decision: Decision,
    /// What it would leave behind.
    pub drafts: Vec<FilePreview>,
}

/// Answers the tool's own question with the yes that was given for exactly what it asks about.
pub(in crate::turn) struct AnsweredApprover<'a> {
    /// The word of the choice that was made.
    pub choice: &'a str,
    pub binds: Option<ContentHash>,
    pub otherwise: &'a dyn Approver,
}

/// An answer as it stands on record.
pub(in crate::turn) fn in_words(answer: OwnerAnswer) -> &'static str {
    match answer.by {
        AnsweredBy::Owner => answer.scope.as_str(),
        AnsweredBy::Other => "not the owner",
        AnsweredBy::Nobody => "nobody",
        AnsweredBy::LeftInPeace => "not asked",
    }
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

impl RunningTurn<'_> {
    /// Asks the owner. The error is what the model is told.
    pub(super) async fn ask(
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

    /// Puts a question to whoever is there, for as long as it lasts.
    pub(in crate::turn) async fn put(
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

    /// The owner hears that something was wanted again and not asked about.
    pub(in crate::turn) fn tell_not_asked(&self) {
        self.surface.event(TurnEvent::Notice(
            "Not asked again, because you denied it: write to the agent, and it can ask again."
                .to_owned(),
        ));
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
