//! From the turn to whoever shows it.

use std::pin::Pin;

use chela_agent::turn::{Surface, TurnEvent};
use chela_tools::{Approval, ApprovalRequest, Approver};
use tokio::sync::{mpsc, oneshot};

/// What a turn has to tell.
pub enum News {
    Event(TurnEvent),
    Question(Question),
}

/// Something a person must allow.
pub struct Question {
    pub request: ApprovalRequest,
    answer: oneshot::Sender<Approval>,
}

impl Question {
    pub fn answer(self, approval: Approval) {
        // Nobody waits any more when the turn was stopped.
        let _ = self.answer.send(approval);
    }

    /// Whether anybody still waits for the answer.
    pub fn is_open(&self) -> bool {
        !self.answer.is_closed()
    }
}

/// A surface that passes everything on.
pub struct Relay(mpsc::UnboundedSender<News>);

impl Relay {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<News>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }
}

impl Surface for Relay {
    fn event(&self, event: TurnEvent) {
        let _ = self.0.send(News::Event(event));
    }
}

impl Approver for Relay {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Approval> + Send + 'a>> {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            request: request.clone(),
            answer,
        };
        let sent = self.0.send(News::Question(question));
        Box::pin(async move {
            if sent.is_err() {
                return Approval::Unanswered;
            }
            let patience = tokio::time::timeout(request.expires_after, answered);
            match patience.await {
                Ok(Ok(approval)) => approval,
                _ => Approval::Unanswered,
            }
        })
    }
}
