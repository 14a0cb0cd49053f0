//! Questions of sub-agents, put to whoever watches the session that started them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use chela_core::lock;
use chela_tools::{ApprovalQuestion, Approver, OwnerAnswer};
use tokio::sync::{Notify, oneshot};

use crate::surface::{TurnEvent, TurnSurface};

/// A question on its way up.
struct Passed {
    question: ApprovalQuestion,
    answer: oneshot::Sender<OwnerAnswer>,
}

/// Where sub-agents ask. A question stays here until it is answered or lapses: the turn that was
/// to put it to somebody may end before it is answered, and the next one puts it again.
#[derive(Default)]
pub(crate) struct QuestionRelay {
    questions: Mutex<VecDeque<Passed>>,
    asked: Notify,
}

impl QuestionRelay {
    /// Puts every question to `surface`, for as long as this is waited for.
    pub async fn relay(&self, surface: &dyn TurnSurface) -> Infallible {
        loop {
            let asked = self.asked.notified();
            match self.first() {
                Some(question) => {
                    let answer = surface.ask(&question).await;
                    self.answer(&question, answer);
                }
                None => asked.await,
            }
        }
    }

    async fn ask(&self, question: ApprovalQuestion) -> OwnerAnswer {
        let (answer, heard) = oneshot::channel();
        let patience = question
            .expires
            .duration_since(question.asked)
            .unwrap_or_default();
        self.questions().push_back(Passed { question, answer });
        self.asked.notify_waiters();
        match tokio::time::timeout(patience, heard).await {
            Ok(Ok(answer)) => answer,
            _ => OwnerAnswer::NOBODY,
        }
    }

    /// The oldest question somebody still waits for.
    fn first(&self) -> Option<ApprovalQuestion> {
        let mut questions = self.questions();
        questions.retain(|passed| !passed.answer.is_closed());
        questions.front().map(|passed| passed.question.clone())
    }

    fn answer(&self, question: &ApprovalQuestion, answer: OwnerAnswer) {
        let mut questions = self.questions();
        let at = questions
            .iter()
            .position(|passed| passed.question.id == question.id);
        if let Some(passed) = at.and_then(|at| questions.remove(at)) {
            // Whoever asked may be gone by now.
            let _ = passed.answer.send(answer);
        }
    }

    fn questions(&self) -> MutexGuard<'_, VecDeque<Passed>> {
        lock(&self.questions)
    }
}

/// What watches a sub-agent: it shows nothing, and asks where the parent is watched.
pub(crate) struct ParentSurface {
    pub desk: Arc<super::RunningChildren>,
    pub run: String,
    pub label: String,
}

impl TurnSurface for ParentSurface {
    fn event(&self, event: TurnEvent) {
        if let TurnEvent::ToolStarted { tool, summary, .. } = event {
            self.desk.doing(&self.run, format!("{tool} {summary}"));
        }
    }
}

impl Approver for ParentSurface {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        let remarked = question.remarked(&format!("asked by sub-agent `{}`", self.label));
        let (shown, own) = (remarked.binds, question.binds);
        Box::pin(async move {
            let answer = self.desk.desk.ask(remarked).await;
            // What was shown is this question and a remark: an answer to it is one to this.
            match answer.shown == Some(shown) {
                true => OwnerAnswer {
                    shown: Some(own),
                    ..answer
                },
                false => answer,
            }
        })
    }
}
