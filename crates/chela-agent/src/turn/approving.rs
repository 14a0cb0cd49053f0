//! Questions a tool asks by itself, put on record with their answers.

use std::pin::Pin;

use chela_ledger::AuditKind;
use chela_tools::{Answer, Approver, Question};
use serde_json::json;

use super::Turn;

/// Asks whoever watches the turn. What was allowed is on record before it happens; what cannot be
/// put on record was not allowed.
pub(super) struct Recorded<'a>(pub &'a Turn<'a>);

impl Approver for Recorded<'_> {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        Box::pin(async move {
            let turn = self.0;
            let answer = turn.surface.ask(question).await;
            let body = json!({
                "session": turn.session.id.as_str(),
                "turn": turn.book.turn(),
                "question": question,
                "answer": super::guard::in_words(answer),
            });
            match turn.book.must_note(AuditKind::Approval, &body).await {
                Ok(()) => answer,
                Err(_) => Answer::NOBODY,
            }
        })
    }
}
