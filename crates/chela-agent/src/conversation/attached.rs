//! What a summary is given by code, whatever a model wrote: what still runs, what is planned, the
//! rules that must not be forgotten.

use std::fmt::Write as _;

use chela_core::cut::{CutRequest, Limit, cut};
use chela_tools::StepStatus;

use super::Conversation;
use crate::compact::sections_named;

/// Most characters of a command that are repeated.
const COMMAND: usize = 200;

impl Conversation {
    pub(super) async fn with_attachments(&self, mut summary: String) -> String {
        for (heading, text) in [
            ("## Plan", self.plan_in_words().await),
            ("## Running", self.running_in_words()),
            ("## Rules (from AGENTS.md)", self.pinned_rules()),
        ] {
            if !text.trim().is_empty() {
                let _ = write!(summary, "\n\n{heading}\n{}", text.trim());
            }
        }
        summary
    }

    async fn plan_in_words(&self) -> String {
        let Ok(toolbox) = self.toolbox().await else {
            return String::new();
        };
        let steps = toolbox.plan().steps();
        steps
            .iter()
            .map(|step| {
                let status = match step.status {
                    StepStatus::Pending => "pending",
                    StepStatus::InProgress => "in progress",
                    StepStatus::Completed => "completed",
                };
                format!("- {} ({status})\n", step.step)
            })
            .collect()
    }

    /// Commands and sub-agents in the background, which a summary must not lose sight of.
    fn running_in_words(&self) -> String {
        let jobs = self.commands.processes.jobs();
        let rows = self.children.0.rows(self.agents.host.unix_millis());
        let running = rows.iter().filter(|row| row.is_live());
        let subagents: String = running
            .map(|row| {
                format!(
                    "- sub-agent {} \"{}\" still runs (tool `subagents`)\n",
                    row.run, row.label
                )
            })
            .collect();
        let commands: String = jobs
            .iter()
            .filter(|job| job.state().ended.is_none())
            .map(|job| {
                let command: String = job.command.chars().take(COMMAND).collect();
                format!("- {}: `{command}` still runs (tool `process`)\n", job.id)
            })
            .collect();
        commands + &subagents
    }

    /// The sections of AGENTS.md that are to be read again after a compaction: those the config
    /// names for it, and those pinned anywhere.
    fn pinned_rules(&self) -> String {
        let settings = &self.view.compaction.value;
        let mut names = settings
            .post_compaction_sections
            .clone()
            .unwrap_or_default();
        names.extend(self.view.context_pin.value.iter().cloned());
        if names.is_empty() {
            return String::new();
        }
        let Ok(text) = std::fs::read_to_string(self.view.workspace.value.join("AGENTS.md")) else {
            return String::new();
        };
        let limit = self.view.context_limits.value.post_compaction_max_chars;
        let request = CutRequest {
            name: "AGENTS.md",
            first_line: 1,
            text: &sections_named(&text, &names),
            limit: Limit::Chars(usize::try_from(limit).unwrap_or(usize::MAX)),
            pinned_headings: &[],
        };
        cut(&request).text.into_owned()
    }
}
