//! What the owner can answer to a question about a command.

use chela_guard::approval::ApprovalChoice;
use chela_guard::flow::SessionTaint;

use super::CommandGate;
use crate::approvals::circumstances::{CommandCircumstances, RunPlace};
use crate::approvals::list_match::prefix_entry;
use crate::approvals::planned_command::PlannedCommand;

/// The word of the choice that allows every command with the same beginning.
pub(super) const PREFIX: &str = "prefix";

impl CommandGate {
    /// The word of the choice comes back with the yes. A yes for good is offered where it would
    /// hold: not after text from outside was read, and not for programs that run what files say
    /// when they leave the sandbox.
    pub fn choices(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> Vec<ApprovalChoice> {
        let mut choices = vec![
            ApprovalChoice::deny(),
            ApprovalChoice::once(),
            ApprovalChoice::session(),
        ];
        if circumstances.taint == SessionTaint::Tainted {
            return choices;
        }
        let agent = self.setup.agent.as_str();
        let undo = "`chela approvals list` shows it, `chela approvals revoke ID` revokes it.";
        if !circumstances.hosts.is_empty() {
            let hosts = circumstances.hosts.join(", ");
            let follows = format!(
                "From now on sandboxed commands of agent {agent} reach {hosts} without asking, \
                 in sessions without untrusted content. {undo}"
            );
            let label = format!("always {hosts}");
            choices.push(ApprovalChoice::always("always", &label, &follows));
            return choices;
        }
        let is_left = circumstances.place == RunPlace::LeftSandbox;
        if is_left && planned.interpreter(&self.setup.workspace).is_some() {
            return choices;
        }
        let folder = self.setup.host.compact(&planned.folder);
        let until = format!(
            "without asking, in every session, in {folder} and nowhere else, until a file there \
             is written after untrusted content was read. {undo}"
        );
        let follows = format!("From now on agent {agent} runs exactly this command {until}");
        choices.push(ApprovalChoice::always("always", "always", &follows));
        if let Some(entry) = prefix_entry(planned) {
            let begins = entry.command.unwrap_or_default();
            let follows = format!("From now on agent {agent} runs `{begins}` {until}");
            let label = format!("always `{begins}`");
            choices.push(ApprovalChoice::always(PREFIX, &label, &follows));
        }
        choices
    }
}
