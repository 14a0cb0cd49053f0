//! From the turn to whoever shows it.

use std::pin::Pin;

use chela_agent::turn::{TurnEvent, TurnOutcome, TurnSurface};
use chela_tools::{ApprovalQuestion, Approver, OwnerAnswer, OwnerPresence};
use tokio::sync::{mpsc, oneshot};

use super::turn_errors::GatewayFailure;

/// What a turn has to tell.
pub enum TurnNews {
    Event(TurnEvent),
    Question(PendingQuestion),
    /// Of a turn in this conversation that was not begun here.
    Elsewhere(ElsewhereNews),
}

/// What happens in the conversation without this chat having begun it: it is open on another
/// surface as well, or something fired.
pub enum ElsewhereNews {
    /// Somebody said something, or a job, a wake or a heartbeat began a turn.
    Began {
        by: String,
        text: String,
    },
    /// Somebody said something into the turn that runs.
    Steered {
        by: String,
        text: String,
    },
    Ended(Box<Result<TurnOutcome, GatewayFailure>>),
    /// The gateway is back after its connection had broken.
    Back {
        gap: bool,
    },
    /// The gateway has ended.
    Gone,
}

/// Something the owner must allow, and who waits for the answer.
pub struct PendingQuestion {
    pub question: ApprovalQuestion,
    answer: oneshot::Sender<OwnerAnswer>,
}

impl PendingQuestion {
    /// A question, and where its answer comes.
    pub fn new(question: ApprovalQuestion) -> (Self, oneshot::Receiver<OwnerAnswer>) {
        let (answer, answered) = oneshot::channel();
        (Self { question, answer }, answered)
    }

    /// Passes on which choice the person at this terminal made, by its word; `None` for silence.
    pub fn answer(self, word: Option<&str>) {
        let answer = word
            .and_then(|word| OwnerAnswer::choosing(word, &self.question))
            .unwrap_or(OwnerAnswer::NOBODY);
        // Nobody waits any more when the turn was stopped.
        let _ = self.answer.send(answer);
    }

    /// Whether anybody still waits for the answer.
    pub fn is_open(&self) -> bool {
        !self.answer.is_closed()
    }
}

/// A surface that passes everything on.
pub struct RelaySurface {
    news: mpsc::UnboundedSender<TurnNews>,
    presence: OwnerPresence,
}

impl RelaySurface {
    pub fn new(presence: OwnerPresence) -> (Self, mpsc::UnboundedReceiver<TurnNews>) {
        let (news, receiver) = mpsc::unbounded_channel();
        (Self { news, presence }, receiver)
    }

    /// Where news go, for whoever brings some besides the turn.
    pub fn sender(&self) -> mpsc::UnboundedSender<TurnNews> {
        self.news.clone()
    }
}

impl TurnSurface for RelaySurface {
    fn event(&self, event: TurnEvent) {
        #[cfg(debug_assertions)]
        break_if_told(&event);
        // The chat has ended: nobody reads what happens.
        let _ = self.news.send(TurnNews::Event(event));
    }
}

/// For tests of what happens when something breaks: with `CHELA_TEST_PANIC=calling …` the model is
/// never called. Not in a release.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "a test asks for it")]
fn break_if_told(event: &TurnEvent) {
    if matches!(event, TurnEvent::Calling { .. })
        && let Ok(told) = std::env::var("CHELA_TEST_PANIC")
        && told.starts_with("calling")
    {
        panic!("told to break: {told}");
    }
}

impl Approver for RelaySurface {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        let (asked, answered) = PendingQuestion::new(question.clone());
        let sent = self.news.send(TurnNews::Question(asked));
        Box::pin(async move {
            if sent.is_err() {
                return OwnerAnswer::NOBODY;
            }
            let patience = tokio::time::timeout(question.lasts(), answered);
            match patience.await {
                Ok(Ok(answer)) => answer,
                _ => OwnerAnswer::NOBODY,
            }
        })
    }

    fn presence(&self) -> OwnerPresence {
        self.presence
    }
}
