//! Calls of tools, and what came of them, in the audit chain.

use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_store::WriteDurability;
use chela_tools::{CallSuccess, Effect, ToolOutput};
use serde_json::{Value, json};

use crate::turn::{RunningTurn, TurnEvent};

/// How safe the mark and the record of a call have to be before it is made. Reading here changes
/// nothing that a power cut could leave unrecorded.
pub(in crate::turn) fn needed_before(effect: Effect) -> WriteDurability {
    match effect {
        Effect::Read => WriteDurability::Process,
        _ => WriteDurability::Disk,
    }
}

/// The files a tool changed, with the hashes of what they were and are.
fn files_changed(details: &Value) -> Vec<Value> {
    let one = std::slice::from_ref(details);
    let all = details["files"].as_array().map_or(one, Vec::as_slice);
    let changed = |file: &&Value| file["before"].is_string() || file["after"].is_string();
    all.iter()
        .filter(changed)
        .map(|file| {
            json!({ "path": file["path"], "before": file["before"], "after": file["after"] })
        })
        .collect()
}

impl RunningTurn<'_> {
    /// Puts a call on record before it takes effect. Without a record nothing happens but reading.
    pub(in crate::turn) async fn book_call(
        &self,
        call: &ToolCall,
        effect: Effect,
        decision: &Value,
    ) -> Result<(), String> {
        let Some(ledger) = &self.recorder.ledger else {
            return match effect {
                Effect::Read | Effect::ReadUntrusted => Ok(()),
                _ => Err("the ledger cannot be written".to_owned()),
            };
        };
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.recorder.turn,
            "call": call.id,
            "tool": call.name,
            "effect": effect,
            "arguments": call.arguments,
            "decision": match decision["goes"] == true {
                true => "run",
                false => "refused",
            },
            "guard": decision,
        });
        let booked = match needed_before(effect) {
            WriteDurability::Disk => ledger.append(AuditKind::ToolDecision, &body),
            WriteDurability::Process => ledger.note(AuditKind::ToolDecision, &body),
        };
        match booked.await {
            Ok(_) => Ok(()),
            Err(error) if matches!(effect, Effect::Read | Effect::ReadUntrusted) => {
                tracing::warn!(%error, "a call that reads is not on record");
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    pub(in crate::turn) fn book_result(&self, call: &ToolCall, output: &ToolOutput) {
        let Some(ledger) = &self.recorder.ledger else {
            return;
        };
        let text = output.text();
        let files = files_changed(&output.details);
        let mut body = json!({
            "session": self.session.id.as_str(),
            "turn": self.recorder.turn,
            "call": call.id,
            "tool": call.name,
            "outcome": match (output.success, output.refusal()) {
                (CallSuccess::Done, _) => "done",
                (CallSuccess::Failed, None) => "failed",
                (CallSuccess::Failed, Some(_)) => "refused",
            },
            "chars": text.chars().count(),
            "hash": chela_core::ContentHash::of(&text),
        });
        if let Some(body) = body.as_object_mut() {
            if let Some(why) = output.refusal() {
                body.insert("why".to_owned(), why.into());
            }
            if !files.is_empty() {
                body.insert("files".to_owned(), files.into());
            }
        }
        drop(ledger.note(AuditKind::ToolOutcome, &body));
        self.book_secrets(call, output);
    }

    /// What was taken out of a result, or refused in a call, is on record and told.
    fn book_secrets(&self, call: &ToolCall, output: &ToolOutput) {
        let told = output.details.get(chela_tools::SECRETS);
        let what = told.and_then(|told| told.get("what")?.as_str());
        let (Some(ledger), Some(told), Some(what)) = (&self.recorder.ledger, told, what) else {
            return;
        };
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.recorder.turn,
            "call": call.id,
            "tool": call.name,
            "what": what,
            "names": told.get("names"),
        });
        drop(ledger.note(AuditKind::Secret, &body));
        if what == "blocked" {
            let notice = format!("{} was refused: it would have leaked a secret.", call.name);
            self.surface.event(TurnEvent::Notice(notice));
        }
    }
}
