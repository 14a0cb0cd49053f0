//! Questions of sub-agents, put to whoever watches the session that started them.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use chela_tools::{Approval, ApprovalRequest, Approver};
use tokio::sync::{mpsc, oneshot};

use crate::turn::{Surface, TurnEvent};

/// A question on its way up.
pub(super) struct Question {
    request: ApprovalRequest,
    answer: oneshot::Sender<Approval>,
}

/// Where sub-agents ask. Open while somebody watches the parent; otherwise nobody is there.
#[derive(Default)]
pub(crate) struct Desk(Mutex<Option<mpsc::UnboundedSender<Question>>>);

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
        while let Some(Question { request, answer }) = questions.recv().await {
            // Whoever asked may be gone by now.
            let _ = answer.send(surface.ask(&request).await);
        }
        pending().await
    }

    async fn ask(&self, request: ApprovalRequest) -> Approval {
        let (answer, heard) = oneshot::channel();
        let sent = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_some_and(|desk| desk.send(Question { request, answer }).is_ok());
        match sent {
            true => heard.await.unwrap_or(Approval::Unanswered),
            false => Approval::Unanswered,
        }
    }

    fn set(&self, sender: Option<mpsc::UnboundedSender<Question>>) {
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
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Approval> + Send + 'a>> {
        let request = ApprovalRequest {
            why: format!("{} (asked by sub-agent `{}`)", request.why, self.label),
            ..request.clone()
        };
        Box::pin(async move { self.desk.desk.ask(request).await })
    }
}
