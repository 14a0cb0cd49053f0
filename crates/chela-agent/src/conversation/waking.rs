//! Waking: what the agent started in the background has ended, and it is to hear of it now, not
//! with whatever somebody happens to say next.

use super::{Conversation, Inbound};
use crate::turn::{Surface, TurnError, TurnEvent, TurnOutcome};
use chela_session::Source;

/// What the agent is told; the ends themselves stand above it.
const WOKEN: &str = include_str!("../../text/woken.md");

/// What runs on while nobody speaks, by the names people know it by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Background {
    pub subagents: Vec<String>,
    pub commands: Vec<String>,
}

impl Background {
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

impl Conversation {
    /// What runs in the background now.
    pub fn background(&self) -> Background {
        let rows = self.children.0.rows(self.agents.host.unix_millis());
        let jobs = self.commands.processes.jobs();
        Background {
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
        let mut ended = self.children.0.waking();
        ended.extend(self.commands.processes.untold());
        ended
    }

    /// Waits until something has ended that the model is to hear of at once; for ever when
    /// nothing runs. Meanwhile `surface` is asked what sub-agents ask.
    pub async fn until_woken(&self, surface: &dyn Surface) {
        let runs = &self.children.0;
        tokio::select! {
            biased;
            never = runs.desk.relay(surface) => match never {},
            () = runs.until_waking() => {}
            () = self.commands.processes.wait_finished() => {}
        }
    }

    /// The same, but no longer than sub-agents run.
    pub async fn until_woken_or_quiet(&self, surface: &dyn Surface) {
        let runs = &self.children.0;
        tokio::select! {
            biased;
            never = runs.desk.relay(surface) => match never {},
            () = runs.until_waking_or_quiet() => {}
            () = self.commands.processes.wait_finished() => {}
        }
    }

    /// Waits until no sub-agent runs.
    pub async fn until_quiet(&self) {
        self.children.0.until_quiet().await;
    }

    /// Runs a turn about what has ended in the background. `None` when the model has heard of
    /// everything already.
    pub async fn wake(&self, surface: &dyn Surface) -> Result<Option<TurnOutcome>, TurnError> {
        crate::turn::survive(self, self.wake_next(surface)).await
    }

    async fn wake_next(&self, surface: &dyn Surface) -> Result<Option<TurnOutcome>, TurnError> {
        let _turn = self.turn.lock().await;
        let _lane = self.lane(surface).await;
        let ended = self.ended_untold();
        if ended.is_empty() {
            return Ok(None);
        }
        tracing::info!(key = %self.key, ended = ended.len(), "woken by what ended");
        surface.event(TurnEvent::Notice(format!("Woken: {}", ended.join("; "))));
        // A turn that cannot even begin is not tried again and again.
        self.children.0.told();
        let message = Inbound {
            text: WOKEN.trim().to_owned(),
            images: Vec::new(),
        };
        let outcome = self.one_turn(message, Source::Event, surface).await?;
        Ok(Some(outcome))
    }
}
