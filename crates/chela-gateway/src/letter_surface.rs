//! What one session writes to another, shown to whoever watches the session it goes to.

use std::pin::Pin;
use std::sync::Arc;

use chela_agent::prelude::{
    ApprovalQuestion, Approver, Host, OwnerAnswer, TurnEvent, TurnOutcome, TurnSurface,
};
use chela_agent::session_letters::{LetterSurface, LetterWatch, SessionLetter};
use chela_guard::approval::OwnerPresence;
use serde_json::json;

use crate::event_hub::EventHub;
use crate::question_board::QuestionBoard;
use crate::turn_wire::write_outcome;
use crate::work_surface::WorkSurface;

/// How the work of letters is called.
const LETTERS: &str = "letter:";

/// The clients of this process.
#[derive(Debug)]
pub(crate) struct LetterDesk {
    pub host: Host,
    pub hub: Arc<EventHub>,
    pub questions: Arc<QuestionBoard>,
}

/// The turn a letter began.
#[derive(Debug)]
struct LetterTurn(WorkSurface);

impl LetterWatch for LetterDesk {
    fn surface(&self, letter: &SessionLetter) -> Box<dyn LetterSurface> {
        let surface = WorkSurface {
            host: self.host.clone(),
            hub: Arc::clone(&self.hub),
            questions: Arc::clone(&self.questions),
            work: format!("{LETTERS}{}", self.host.random_hex(8)),
            session: letter.to.to_string(),
        };
        let source = json!({ "kind": "session", "from": letter.from.to_string() });
        surface.tell(
            "work.began",
            json!({ "source": source, "text": letter.text }),
        );
        Box::new(LetterTurn(surface))
    }
}

impl TurnSurface for LetterTurn {
    fn event(&self, event: TurnEvent) {
        self.0.event(event);
    }
}

impl Approver for LetterTurn {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        self.0.ask(question)
    }

    fn presence(&self) -> OwnerPresence {
        self.0.presence()
    }
}

impl LetterSurface for LetterTurn {
    fn ended(&self, outcome: Result<&TurnOutcome, &str>) {
        let told = match outcome {
            Ok(outcome) => {
                let status = match outcome.reply.text() {
                    "" => "silent",
                    _ => "answered",
                };
                json!({
                    "status": status, "reply": outcome.reply.text(), "turn": write_outcome(outcome),
                })
            }
            Err(why) => json!({ "status": "failed", "error": why }),
        };
        self.0.tell("work.ended", told);
        self.0.hub.end_work(&self.0.work);
    }
}
