//! Questions a tool asks by itself, put on record with their answers.

use std::pin::Pin;
use std::sync::Mutex;

use chela_core::{lock, ok_or_warn};
use chela_guard::approval::AnsweredBy;
use chela_ledger::AuditKind;
use chela_tools::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};
use serde_json::json;

use super::RunningTurn;
use super::agent_writes::WriteWatch;
use crate::guard_mark::GuardMark;

/// Asks whoever watches the turn. What was allowed is on record before it happens; what cannot be
/// put on record was not allowed.
pub(super) struct RecordedApprover<'a> {
    pub turn: &'a RunningTurn<'a>,
    /// The call in which the question comes up.
    pub call: &'a str,
    /// What the call may change, watched until it has ended.
    pub watch: Option<&'a WriteWatch>,
    /// What the model is told of a question that waits for the owner.
    pub queued: Mutex<Option<String>>,
}

impl RecordedApprover<'_> {
    /// The yes the owner gave to a question that waited, spent by this one.
    async fn kept_answer(&self, question: &ApprovalQuestion) -> Option<OwnerAnswer> {
        let [call] = question.calls.as_slice() else {
            return None;
        };
        self.turn.take_kept(call.shape).await?;
        Some(OwnerAnswer::of_owner(ApprovalScope::Once, question))
    }

    /// Puts a question aside that nobody is there to answer. Whoever asks in a sub-agent is over
    /// before the answer comes.
    async fn queue(&self, question: &ApprovalQuestion, answer: OwnerAnswer) {
        if answer.by != AnsweredBy::Nobody || self.turn.parts.scope.key.is_subagent() {
            return;
        }
        if let Some(words) = self.turn.queued(question).await {
            *lock(&self.queued) = Some(words);
        }
    }

    /// Asks, and leaves the guard's files to the owner for as long as that takes.
    async fn ask_unwatched(&self, question: &ApprovalQuestion) -> OwnerAnswer {
        let _open = self.turn.note_open(question);
        let is_quiet = || {
            let background = &self.turn.parts.background;
            !background.commands.processes.any_running()
        };
        // A command that goes on in the background may write them meanwhile.
        let Some(watch) = self.watch.filter(|_| is_quiet()) else {
            return self.turn.surface.ask(question).await;
        };
        let (host, told) = watch.leave_authority().await;
        self.turn.tell_of_tampering(told);
        let answer = self.turn.surface.ask(question).await;
        if let Some(host) = host {
            watch.watch_authority(host).await;
        }
        answer
    }
}

impl Approver for RecordedApprover<'_> {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        Box::pin(async move {
            let turn = self.turn;
            let refused = turn.parts.guarding.provenance.with(|seen| {
                let mut calls = question.calls.iter();
                calls.any(|call| seen.is_left_in_peace(&call.shape))
            });
            if refused {
                turn.tell_not_asked();
                return OwnerAnswer::LEFT_IN_PEACE;
            }
            let answer = match self.kept_answer(question).await {
                Some(answer) => answer,
                None => self.ask_unwatched(question).await,
            };
            self.queue(question, answer).await;
            let body = json!({
                "session": turn.session.id.as_str(),
                "turn": turn.recorder.turn(),
                "question": question,
                "answer": super::guard::in_words(answer),
            });
            if (answer.by, answer.scope) == (AnsweredBy::Owner, ApprovalScope::Deny) {
                for call in &question.calls {
                    let mark = turn.mark(GuardMark::Refused {
                        call: self.call.to_owned(),
                        shape: call.shape,
                    });
                    ok_or_warn!(mark.await, "a no cannot be kept: it may be asked again");
                }
            }
            match turn.recorder.must_note(AuditKind::Approval, &body).await {
                Ok(()) => answer,
                Err(_) => OwnerAnswer::NOBODY,
            }
        })
    }
}
