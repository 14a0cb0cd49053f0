//! Questions of sub-agents, put to whoever watches the session that started them.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use chela_tools::{Answer, Approver, Question};
use tokio::sync::{mpsc, oneshot};

use crate::turn::{Surface, TurnEvent};

/// A question on its way up.
pub(super) struct Passed {
    question: Question,
    answer: oneshot::Sender<Answer>,
}

/// Where sub-agents ask. Open while somebody watches the parent; otherwise nobody is there.
#[derive(Default)]
pub(crate) struct Desk(Mutex<Option<mpsc::UnboundedSender<Passed>>>);

/// Closes the desk when nobody watches any more.
struct Open<'a>(&'a Desk);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Desk {
    /// Puts every question to `surface`, for as long as this is waited for.
    pub async fn relay(&self, surface: &dyn Surface) -> Infallible {
        let (sender, mut questions) = mpsc::unbounded_channel();
        self.set(Some(sender));
        let _open = Open(self);
        while let Some(Passed { question, answer }) = questions.recv().await {
            // Whoever asked may be gone by now.
            let _ = answer.send(surface.ask(&question).await);
        }
        pending().await
    }

    async fn ask(&self, question: Question) -> Answer {
        let (answer, heard) = oneshot::channel();
        let sent = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_some_and(|desk| desk.send(Passed { question, answer }).is_ok());
        match sent {
            true => heard.await.unwrap_or(Answer::NOBODY),
            false => Answer::NOBODY,
        }
    }

    fn set(&self, sender: Option<mpsc::UnboundedSender<Passed>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sender;
    }
}

/// What watches a sub-agent: it shows nothing, and asks where the parent is watched.
pub(super) struct Upwards {
    pub desk: Arc<super::Runs>,
    pub run: String,
    pub label: String,
}

impl Surface for Upwards {
    fn event(&self, event: TurnEvent) {
        if let TurnEvent::ToolStarted { tool, summary, .. } = event {
            self.desk.doing(&self.run, format!("{tool} {summary}"));
        }
    }
}

impl Approver for Upwards {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        let remarked = question.remarked(&format!("asked by sub-agent `{}`", self.label));
        let (shown, own) = (remarked.binds, question.binds);
        Box::pin(async move {
            let answer = self.desk.desk.ask(remarked).await;
            // What was shown is this question and a remark: an answer to it is one to this.
            match answer.shown == Some(shown) {
                true => Answer {
                    shown: Some(own),
                    ..answer
                },
                false => answer,
            }
        })
    }
}
