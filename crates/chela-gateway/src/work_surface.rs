//! What a turn of the gateway is shown to, and asked of: every client that watches.

use std::pin::Pin;
use std::sync::Arc;

use chela_agent::prelude::{ApprovalQuestion, Approver, Host, OwnerAnswer, TurnEvent, TurnSurface};
use chela_guard::approval::OwnerPresence;
use serde_json::{Value, json};

use crate::event_hub::{EventHub, NewEvent};
use crate::question_board::{QuestionBoard, question_json};
use crate::turn_wire::write_event;

/// One piece of work, as its turn sees whoever watches.
#[derive(Debug)]
pub(crate) struct WorkSurface {
    pub host: Host,
    pub hub: Arc<EventHub>,
    pub questions: Arc<QuestionBoard>,
    pub work: String,
    pub session: String,
}

impl WorkSurface {
    pub fn tell(&self, event: &'static str, data: Value) {
        self.hub.publish(NewEvent {
            at: self.host.unix_millis(),
            event,
            work: Some(self.work.clone()),
            session: Some(self.session.clone()),
            data,
        });
    }
}

impl TurnSurface for WorkSurface {
    fn event(&self, event: TurnEvent) {
        let (name, data) = write_event(event);
        self.tell(name, data);
    }
}

impl Approver for WorkSurface {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        Box::pin(async move {
            if self.presence() == OwnerPresence::Away {
                return OwnerAnswer::NOBODY;
            }
            let mut post = self.questions.post(question, &self.session);
            self.tell("approval.asked", question_json(question, &self.session));
            let patience = question.expires.duration_since(question.asked);
            let heard = tokio::time::timeout(patience.unwrap_or_default(), &mut post.answer).await;
            let (answer, told) = match heard {
                Ok(Ok(given)) => {
                    let word = question.chosen(given.answer).map(|choice| &choice.word);
                    let told = json!({ "id": question.id, "answer": word, "by": given.by });
                    (given.answer, told)
                }
                _ => (OwnerAnswer::NOBODY, json!({ "id": question.id })),
            };
            self.tell("approval.closed", told);
            answer
        })
    }

    /// The owner can be asked while a client shows questions; else one waits on the list.
    fn presence(&self) -> OwnerPresence {
        match self.hub.asker_count() {
            0 => OwnerPresence::Away,
            _ => OwnerPresence::There,
        }
    }
}
