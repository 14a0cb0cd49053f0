//! The owner's answer to a question that waited: nobody was there when it was asked.

use std::sync::Arc;

use chela_ledger::AuditKind;
use chela_tools::approvals::{ApprovalsDocument, KnownCall, KnownState};

use crate::agent::Agents;
use crate::slash::CommandTrouble;

/// What the owner typed about one question.
pub(super) struct QueuedAnswer {
    agents: Arc<Agents>,
    id: String,
    word: AnswerWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerWord {
    /// They only want to see it.
    Show,
    Allow(KnownState),
    Deny,
}

impl QueuedAnswer {
    /// `None` for a word that answers no question that waited; one on the screen may offer it.
    pub fn of(agents: &Arc<Agents>, id: &str, word: Option<&str>) -> Option<Self> {
        let word = match word {
            None => AnswerWord::Show,
            Some("once" | "session") => AnswerWord::Allow(KnownState::Once),
            Some("always") => AnswerWord::Allow(KnownState::Always),
            Some("deny" | "no") => AnswerWord::Deny,
            Some(_) => return None,
        };
        Some(Self {
            agents: Arc::clone(agents),
            id: id.to_owned(),
            word,
        })
    }

    /// Gives it, and says exactly what it was given to; `None` when no question has this id.
    pub fn give(&self) -> Result<Option<String>, CommandTrouble> {
        let path = ApprovalsDocument::path(&self.agents.host);
        let document = ApprovalsDocument::load(&path).map_err(|error| error.to_string())?;
        let calls = document.agents.values().flat_map(|agent| &agent.calls);
        let pending = calls.filter(|call| call.state == KnownState::Pending);
        let Some(call) = pending.into_iter().find(|call| call.id == self.id) else {
            return Ok(None);
        };
        let told = in_words(call);
        let end = match self.word {
            AnswerWord::Show => {
                let id = &self.id;
                return Ok(Some(format!(
                    "{told}\n\n`/approve {id} once`, `/approve {id} always` or `/approve {id} deny`?"
                )));
            }
            AnswerWord::Allow(KnownState::Always) => "Always allowed, for exactly this.",
            AnswerWord::Allow(_) => "Allowed once: tell the agent, and it can make the call now.",
            AnswerWord::Deny => "Denied; it will not ask again by itself.",
        };
        if let Some(ledger) = self.agents.ledger() {
            let change = format!("/approve {} {end}", self.id);
            let body = serde_json::json!({ "change": change, "about": "approvals" });
            drop(ledger.note(AuditKind::TrustChange, &body));
        }
        let changed = ApprovalsDocument::change(&path, |document| self.write(document));
        changed.map_err(|error| error.to_string())?;
        Ok(Some(format!("{told}\n\n{end}")))
    }

    fn write(&self, document: &mut ApprovalsDocument) {
        match self.word {
            AnswerWord::Show => {}
            AnswerWord::Deny => {
                document.forget_call(&self.id);
            }
            AnswerWord::Allow(state) => {
                let agents = document.agents.values_mut();
                let calls = agents.flat_map(|agent| &mut agent.calls);
                for call in calls.filter(|call| call.id == self.id) {
                    call.state = state;
                }
            }
        }
    }
}

/// The call to the last argument, each value in a block that none of its lines can leave.
fn in_words(call: &KnownCall) -> String {
    let mut text = call.summary.clone();
    for (name, value) in &call.exact {
        text.push_str(&format!(
            "\n\n{name}:\n\n    {}",
            value.replace('\n', "\n    ")
        ));
    }
    text
}
