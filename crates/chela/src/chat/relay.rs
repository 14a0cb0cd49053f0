//! From the turn to whoever shows it.

use std::pin::Pin;

use chela_agent::turn::{Surface, TurnEvent};
use chela_tools::{Answer, Approver, Question, Scope};
use tokio::sync::{mpsc, oneshot};

/// What a turn has to tell.
pub enum News {
    Event(TurnEvent),
    Question(Asked),
}

/// Something the owner must allow, and who waits for the answer.
pub struct Asked {
    pub question: Question,
    answer: oneshot::Sender<Answer>,
}

impl Asked {
    /// Passes on what the person at this terminal said; `None` for silence.
    pub fn answer(self, scope: Option<Scope>) {
        let answer = Answer::given(scope, &self.question);
        // Nobody waits any more when the turn was stopped.
        let _ = self.answer.send(answer);
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
        #[cfg(debug_assertions)]
        break_if_told(&event);
        let _ = self.0.send(News::Event(event));
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

impl Approver for Relay {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        let (answer, answered) = oneshot::channel();
        let asked = Asked {
            question: question.clone(),
            answer,
        };
        let sent = self.0.send(News::Question(asked));
        Box::pin(async move {
            if sent.is_err() {
                return Answer::NOBODY;
            }
            let patience = tokio::time::timeout(question.lasts(), answered);
            match patience.await {
                Ok(Ok(answer)) => answer,
                _ => Answer::NOBODY,
            }
        })
    }
}
