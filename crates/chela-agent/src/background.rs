//! What a conversation has running beside its turns: commands and sub-agents.

mod elevation;
mod owner_command;

use std::sync::Arc;

use chela_tools::exec::CommandTools;

use crate::scope::ConversationScope;
use crate::subagents::RunningChildren;
use crate::surface::TurnSurface;

pub use owner_command::OwnerCommandOutcome;

/// Most characters of a command that are repeated in a summary.
const COMMAND: usize = 200;

/// What runs beside the turns; it ends with the conversation.
pub struct BackgroundWork {
    scope: Arc<ConversationScope>,
    pub(crate) commands: CommandTools,
    /// The sub-agents.
    pub(crate) runs: Arc<RunningChildren>,
}

impl std::fmt::Debug for BackgroundWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Background").field(&self.running()).finish()
    }
}

impl Drop for BackgroundWork {
    fn drop(&mut self) {
        self.runs.close();
    }
}

/// What runs on while nobody speaks, by the names people know it by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunningWork {
    pub subagents: Vec<String>,
    pub commands: Vec<String>,
}

impl RunningWork {
    /// One by one.
    pub fn in_words(&self) -> Vec<String> {
        let subagents = self
            .subagents
            .iter()
            .map(|label| format!("sub-agent `{label}`"));
        let commands = self
            .commands
            .iter()
            .map(|command| format!("command {command}"));
        subagents.chain(commands).collect()
    }

    /// `2 sub-agents`, `1 command`.
    pub fn counted(&self) -> Vec<String> {
        let counted = |count: usize, one: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {one}s")),
        };
        [
            counted(self.subagents.len(), "sub-agent"),
            counted(self.commands.len(), "command"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl BackgroundWork {
    pub(crate) fn new(scope: Arc<ConversationScope>, commands: CommandTools) -> Self {
        Self {
            scope,
            commands,
            runs: Arc::new(RunningChildren::default()),
        }
    }

    /// What runs in the background now.
    pub fn running(&self) -> RunningWork {
        let rows = self.runs.rows(self.scope.agents.host.unix_millis());
        let jobs = self.commands.processes.jobs();
        RunningWork {
            subagents: rows
                .into_iter()
                .filter(|row| row.is_live())
                .map(|row| row.label)
                .collect(),
            commands: jobs
                .iter()
                .filter(|job| job.state().ended.is_none())
                .map(|job| {
                    let command = chela_core::sanitize::literal(&job.command);
                    let command: String = command.chars().take(80).collect();
                    format!("{} `{command}`", job.id)
                })
                .collect(),
        }
    }

    /// What has ended that the model is to hear of at once, for people.
    pub fn ended_untold(&self) -> Vec<String> {
        let mut ended = self.runs.waking();
        ended.extend(self.commands.processes.untold());
        ended
    }

    /// Waits until something has ended that the model is to hear of at once; for ever when
    /// nothing runs. Meanwhile `surface` is asked what sub-agents ask.
    pub async fn until_woken(&self, surface: &dyn TurnSurface) {
        let runs = &self.runs;
        tokio::select! {
            biased;
            never = runs.desk.relay(surface) => match never {},
            () = runs.until_waking() => {}
            () = self.commands.processes.wait_finished() => {}
        }
    }

    /// The same, but no longer than sub-agents run.
    pub async fn until_woken_or_quiet(&self, surface: &dyn TurnSurface) {
        let runs = &self.runs;
        tokio::select! {
            biased;
            never = runs.desk.relay(surface) => match never {},
            () = runs.until_waking_or_quiet() => {}
            () = self.commands.processes.wait_finished() => {}
        }
    }

    /// How many sub-agents run.
    pub fn subagents_running(&self) -> usize {
        self.runs.running()
    }

    /// Waits until a sub-agent has ended that the model has not heard of, or until none runs;
    /// `surface` is asked what the sub-agents ask. The next message tells the model.
    pub async fn until_news(&self, surface: &dyn TurnSurface) {
        let runs = &self.runs;
        tokio::select! {
            biased;
            never = runs.desk.relay(surface) => match never {},
            () = runs.until_news() => {}
        }
    }

    /// Waits until no sub-agent runs.
    pub async fn until_quiet(&self) {
        self.runs.until_quiet().await;
    }

    /// Commands and sub-agents in the background, which a summary must not lose sight of.
    pub(crate) fn still_running_in_words(&self) -> String {
        let jobs = self.commands.processes.jobs();
        let rows = self.runs.rows(self.scope.agents.host.unix_millis());
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
}
