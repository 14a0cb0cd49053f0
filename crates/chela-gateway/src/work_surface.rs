//! What a turn of the gateway is shown to, and asked of: every client that watches.

use std::pin::Pin;
use std::sync::Arc;

use chela_agent::prelude::{ApprovalQuestion, Approver, Host, OwnerAnswer, TurnEvent, TurnSurface};
use chela_guard::approval::OwnerPresence;
use serde_json::{Value, json};

use crate::event_hub::{EventHub, NewEvent};
use crate::question_board::{QuestionBoard, question_json};

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
        let (name, data) = match event {
            TurnEvent::Calling { model, step } => {
                ("turn.calling", json!({ "model": model, "step": step }))
            }
            TurnEvent::Text(text) => ("turn.text", json!({ "delta": text })),
            TurnEvent::Reasoning(text) => ("turn.reasoning", json!({ "delta": text })),
            TurnEvent::ToolStarted {
                id, tool, summary, ..
            } => (
                "turn.tool",
                json!({ "phase": "started", "call": id, "tool": tool, "summary": summary }),
            ),
            TurnEvent::ToolProgress { .. } => return,
            TurnEvent::ToolEnded {
                id, tool, success, ..
            } => (
                "turn.tool",
                json!({ "phase": "ended", "call": id, "tool": tool, "success": success.as_str() }),
            ),
            TurnEvent::Retracted => ("turn.retracted", Value::Null),
            TurnEvent::Restarted { why } => ("turn.restarted", json!({ "why": why })),
            TurnEvent::Notice(text)
            | TurnEvent::Waiting(text)
            | TurnEvent::Unrecorded(text)
            | TurnEvent::Tampered(text) => ("turn.notice", json!({ "text": text })),
            TurnEvent::Called { usage, .. } => (
                "turn.called",
                json!({
                    "inputTokens": usage.input, "outputTokens": usage.output,
                    "cacheReadTokens": usage.cache_read, "cacheWriteTokens": usage.cache_write,
                }),
            ),
        };
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
            let answer = match heard {
                Ok(Ok(answer)) => answer,
                _ => OwnerAnswer::NOBODY,
            };
            self.tell(
                "approval.closed",
                json!({ "id": question.id, "answer": answer.scope }),
            );
            answer
        })
    }

    /// Somebody can be asked while a client listens; else a question waits on the list.
    fn presence(&self) -> OwnerPresence {
        match self.hub.listener_count() {
            0 => OwnerPresence::Away,
            _ => OwnerPresence::There,
        }
    }
}
