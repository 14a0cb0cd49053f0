//! What a call would change in files, as an owner is shown it.

use chela_files::{DiffLabels, unified_diff};
use chela_guard::approval::{AskedCall, shown_block};

use super::AskedDeed;
use crate::turn::RunningTurn;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// An argument longer than this is a text, which the diff shows better.
const LONGEST_ARGUMENT: usize = 200;

impl RunningTurn<'_> {
    /// The texts a call would write give way to what they change.
    pub(super) fn show_as_diffs(&self, shown: &mut AskedCall, asked: &AskedDeed<'_>) {
        if asked.drafts.is_empty() {
            return;
        }
        // Of a tool that does more than write files, everything stays.
        if asked.case.prepared.tool.keeps_changes() {
            shown.exact.retain(|(_, value)| {
                !value.contains('\n') && value.chars().count() <= LONGEST_ARGUMENT
            });
        }
        for draft in &asked.drafts {
            let name = self.parts.scope.agents.host.compact(&draft.path);
            let text = |bytes: &Option<Vec<u8>>| {
                let bytes = bytes.as_deref()?;
                Some(String::from_utf8_lossy(bytes).into_owned())
            };
            let (before, after) = (text(&draft.before), text(&draft.after));
            shown
                .exact
                .push(self.diff_row(&name, before.as_deref(), after.as_deref()));
        }
    }

    /// One file as it is and as it would be; whole, without secrets.
    pub(in crate::turn) fn diff_row(
        &self,
        name: &str,
        before: Option<&str>,
        after: Option<&str>,
    ) -> (String, String) {
        let redactor = self.parts.scope.agents.redactor();
        let masked = |text: Option<&str>| redactor.redact(text.unwrap_or("")).into_owned();
        let labels = DiffLabels {
            old: if before.is_some() { name } else { "(no file)" },
            new: if after.is_some() { name } else { "(deleted)" },
        };
        let diff = unified_diff(labels, &masked(before), &masked(after), CONTEXT);
        let diff = match diff.is_empty() {
            true => format!("{name}: no change that can be shown"),
            false => diff,
        };
        ("diff".to_owned(), shown_block(&diff))
    }
}
