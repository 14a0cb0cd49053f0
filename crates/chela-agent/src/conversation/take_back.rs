//! Taking back what file tools did in this conversation.

use std::path::Path;

use chela_core::ok_or_debug;
use chela_files::{DiffLabels, unified_diff};
use chela_ledger::AuditKind;
use chela_model::MessagePart;
use serde_json::{Value, json};

use super::Conversation;
use chela_session::journal::{ConflictRule, UndoError, UndoTarget, undone_in_words};
use chela_session::{CustomMessage, EntryBody};

impl Conversation {
    /// What the last turn that changed files did to them, a diff for each.
    pub(super) async fn changed_files(&self) -> Result<Vec<(String, String)>, String> {
        let journal = self.scope.agents.journal(&self.scope.view.id);
        let plan = journal
            .plan_undo(&self.last_turn_here())
            .map_err(|error| match error {
                UndoError::Nothing => "no file was changed yet".to_owned(),
                UndoError::NothingHere => "this conversation changed no file; `chela undo --list` \
                     shows what earlier ones changed"
                    .to_owned(),
                error => error.to_string(),
            })?;
        let diffs = plan.steps.iter().map(|step| {
            let now = std::fs::read(&step.path);
            let now = ok_or_debug!(now, "a file to be changed back is shown as empty");
            let text = |bytes: Option<&[u8]>| {
                String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
            };
            let labels = DiffLabels {
                old: "before",
                new: "now",
            };
            let diff = unified_diff(
                labels,
                &text(step.content_before()),
                &text(now.as_deref()),
                3,
            );
            (self.shown_path(&step.path), diff)
        });
        Ok(diffs.collect())
    }

    fn last_turn_here(&self) -> UndoTarget {
        UndoTarget::LastTurnOf {
            session: self.scope.key.to_string(),
            id: self.session().id.to_string(),
        }
    }

    /// A file by its place in the workspace, or in short.
    fn shown_path(&self, path: &Path) -> String {
        let workspace = &self.scope.view.workspace.value;
        let real = workspace
            .canonicalize()
            .unwrap_or_else(|_| workspace.clone());
        match path.strip_prefix(&real) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.scope.agents.host.compact(path),
        }
    }

    /// Takes back what the last turn that changed files did to them. The model is told: it would
    /// go on as if nothing had happened.
    pub(super) async fn take_back_files(&self) -> Result<Vec<String>, String> {
        let journal = self.scope.agents.journal(&self.scope.view.id);
        let in_words = |error: UndoError| match error {
            UndoError::Conflicts(_) => {
                format!("{error}\n\n`chela undo --force` overwrites that; it is kept.")
            }
            error => error.to_string(),
        };
        let plan = journal
            .plan_undo(&self.last_turn_here())
            .map_err(in_words)?;
        let undone = journal
            .undo(&plan, ConflictRule::Refuse)
            .map_err(in_words)?;
        if let Some(ledger) = self.scope.agents.ledger() {
            let body =
                json!({ "agent": self.scope.view.id, "session": self.scope.key, "files": undone });
            drop(ledger.note(AuditKind::Undo, &body));
        }
        let lines = undone_in_words(&undone, |path: &Path| self.shown_path(path));
        let note = CustomMessage {
            custom_type: "undo".to_owned(),
            content: vec![MessagePart::text(format!(
                "[Chela] The user took back changes to files:\n{}",
                lines.join("\n")
            ))],
            display: false,
            details: Value::Null,
        };
        self.transcript
            .sessions
            .append(&self.session(), EntryBody::CustomMessage(note))
            .await
            .map_err(|error| error.to_string())?;
        Ok(lines)
    }
}
