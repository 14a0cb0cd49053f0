//! Looking through what a tool brought from outside, before a model reads it.
//!
//! It adds friction and nothing else: whether a call may happen is decided by where its words
//! come from, found or not.

use chela_core::Trust;
use chela_guard::LabelledText;
use chela_guard::detect::{DetectionConsequence, DetectionNotice, screen};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::{OutputPiece, ToolOutput};
use serde_json::json;

use super::{RunningTurn, TurnEvent};
use crate::withheld::WithheldText;

impl RunningTurn<'_> {
    /// The output as the model may read it: noted, told to the owner or held back, as the
    /// config says.
    pub(super) fn screened(&self, call: &ToolCall, mut output: ToolOutput) -> ToolOutput {
        for piece in &mut output.content {
            let OutputPiece::Text(text) = piece else {
                continue;
            };
            if text.trust() == Trust::External
                && let Some(stub) = self.screened_text(call, text)
            {
                *text = stub;
            }
        }
        output
    }

    /// What stands for a text that is held back; `None` when it may be read.
    fn screened_text(&self, call: &ToolCall, text: &LabelledText) -> Option<LabelledText> {
        let config = self.parts.scope.agents.rules_config();
        let settings = &config.config.guard.detection;
        match screen(text.body(), settings) {
            DetectionConsequence::Nothing => None,
            DetectionConsequence::Note(notice) => {
                self.book_finding(call, &notice, "noted");
                None
            }
            DetectionConsequence::Flag(notice) => {
                self.book_finding(call, &notice, "flagged");
                let told = notice.text(&call.name);
                self.surface.event(TurnEvent::Notice(told));
                None
            }
            DetectionConsequence::Withhold { notice, stub } => {
                self.withheld(call, text, &notice, stub)
            }
        }
    }

    fn withheld(
        &self,
        call: &ToolCall,
        text: &LabelledText,
        notice: &DetectionNotice,
        stub: String,
    ) -> Option<LabelledText> {
        let host = &self.parts.scope.agents.host;
        if WithheldText::is_released(host, &notice.id) {
            self.book_finding(call, notice, "released before");
            return None;
        }
        self.book_finding(call, notice, "withheld");
        let kept = WithheldText {
            id: notice.id.clone(),
            agent: self.parts.scope.view.id.to_string(),
            session: self.parts.scope.key.to_string(),
            tool: call.name.clone(),
            why: notice.text(&call.name),
            text: text.text().to_owned(),
            at: host.unix_millis(),
            released: false,
        };
        let mut told = format!("{}\nWithheld as {}", kept.why, notice.id);
        match kept.save(host) {
            Ok(()) => told.push_str("; `chela guard release` with this id lets the model read it."),
            // It stays unread either way.
            Err(error) => {
                tracing::warn!(%error, "withheld content is lost");
                told.push_str(&format!(", and lost: {error}."));
            }
        }
        self.surface.event(TurnEvent::Notice(told));
        Some(LabelledText::runtime(stub))
    }

    fn book_finding(&self, call: &ToolCall, notice: &DetectionNotice, outcome: &str) {
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.recorder.turn(),
            "call": call.id,
            "tool": call.name,
            "outcome": outcome,
            "finding": notice,
        });
        tracing::info!(
            outcome,
            id = notice.id,
            "untrusted content looks like an injected instruction"
        );
        self.recorder.note(AuditKind::Finding, &body);
    }
}
