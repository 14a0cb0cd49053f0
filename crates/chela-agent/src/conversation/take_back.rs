//! Taking back what file tools did in this conversation.

use std::path::Path;

use chela_ledger::AuditKind;
use chela_model::Part;
use serde_json::{Value, json};

use super::Conversation;
use chela_session::journal::{Conflicts, UndoError, Which, undone_in_words};
use chela_session::{Body, CustomMessage};

impl Conversation {
    /// Takes back what the last turn that changed files did to them. The model is told: it would
    /// go on as if nothing had happened.
    pub(super) async fn take_back_files(&self) -> Result<Vec<String>, String> {
        let journal = self.agents.journal(&self.view.id);
        let in_words = |error: UndoError| match error {
            UndoError::Conflicts(_) => {
                format!("{error}\n\n`chela undo --force` overwrites that; it is kept.")
            }
            error => error.to_string(),
        };
        let plan = journal
            .plan_undo(&Which::LastTurnOf(self.key.to_string()))
            .map_err(in_words)?;
        let undone = journal.undo(&plan, Conflicts::Refuse).map_err(in_words)?;
        if let Some(ledger) = self.agents.ledger() {
            let body = json!({ "agent": self.view.id, "session": self.key, "files": undone });
            drop(ledger.note(AuditKind::Undo, &body));
        }
        let workspace = &self.view.workspace.value;
        let real = workspace
            .canonicalize()
            .unwrap_or_else(|_| workspace.clone());
        let shown = |path: &Path| match path.strip_prefix(&real) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.agents.host.compact(path),
        };
        let lines = undone_in_words(&undone, shown);
        let note = CustomMessage {
            custom_type: "undo".to_owned(),
            content: vec![Part::text(format!(
                "[Chela] The user took back changes to files:\n{}",
                lines.join("\n")
            ))],
            display: false,
            details: Value::Null,
        };
        self.sessions
            .append(&self.session(), Body::CustomMessage(note))
            .await
            .map_err(|error| error.to_string())?;
        Ok(lines)
    }
}
