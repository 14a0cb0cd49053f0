//! One message in, one answer out: for scripts, pipes and quick questions.

mod output;

use std::time::Duration;

use chela_agent::conversation::{Conversation, Inbound};
use chela_agent::turn::{TurnError, TurnOutcome};
use chela_reply::Reply;
use tokio::sync::mpsc;

use super::relay::{News, Relay};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted};
use output::Output;

pub use output::{note, page};

/// How the answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The words as they come, and nothing else, on standard output.
    Plain,
    /// As in the chat: Markdown drawn, tools shown.
    Drawn,
    /// One object at the end.
    Json,
}

impl Form {
    pub fn of(json: bool, screen: &Screen, can_draw: bool) -> Self {
        match (json, screen.is_terminal && can_draw) {
            (true, _) => Self::Json,
            (false, true) => Self::Drawn,
            (false, false) => Self::Plain,
        }
    }
}

/// One message, and what may come of it.
pub struct Asked {
    pub message: Inbound,
    pub form: Form,
    /// How long sub-agents are waited for once the answer is there.
    pub wait: Duration,
}

/// Says one thing and prints what comes back; then waits for the sub-agents it started, and prints
/// what the agent says to their ends.
pub async fn once(talk: &Conversation, screen: &mut Screen, asked: Asked) -> Result<Exit, Fail> {
    let (relay, news) = Relay::new();
    let mut run = Run {
        talk,
        relay: &relay,
        news,
        output: Output::new(screen, asked.form),
        interrupts: 0,
    };
    let mut outcome = match run.turn(talk.say(asked.message, &relay)).await? {
        Ok(outcome) => outcome,
        Err(error) => return run.output.failed(talk, &error),
    };
    run.output.turn_ended(&outcome)?;
    let mut left = Vec::new();
    let deadline = tokio::time::Instant::now() + asked.wait;
    while let Some(next) = run.wait(deadline, &mut left).await? {
        match next {
            Ok(next) => {
                run.output.turn_ended(&next)?;
                outcome = joined(outcome, next);
            }
            Err(error) => return run.output.failed(talk, &error),
        }
    }
    left.extend(talk.background().in_words());
    run.output.end(talk, &outcome, &left)
}

/// A message and its consequences, under way.
struct Run<'a> {
    talk: &'a Conversation,
    relay: &'a Relay,
    news: mpsc::UnboundedReceiver<News>,
    output: Output<'a>,
    interrupts: u32,
}

type Turned = Result<TurnOutcome, TurnError>;

impl Run<'_> {
    /// Runs something to its end, showing what happens meanwhile.
    async fn turn<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Fail> {
        tokio::pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                Some(item) = self.news.recv() => self.output.hear(item).await?,
                done = &mut work => break done,
                _ = tokio::signal::ctrl_c() => {
                    self.interrupts += 1;
                    self.talk.stop();
                    if self.interrupts > 1 {
                        return Err(stopped());
                    }
                }
                () = tokio::time::sleep(self.output.pause()) => self.output.tick()?,
            }
        };
        while let Ok(item) = self.news.try_recv() {
            self.output.hear(item).await?;
        }
        Ok(done)
    }

    /// Waits for what the agent started and lets it hear of the ends; `None` when nothing runs
    /// any more. What has to be ended goes into `left`.
    async fn wait(
        &mut self,
        deadline: tokio::time::Instant,
        left: &mut Vec<String>,
    ) -> Result<Option<Turned>, Fail> {
        let (talk, relay) = (self.talk, self.relay);
        loop {
            let running = talk.background().subagents;
            if talk.ended_untold().is_empty() && running.is_empty() {
                return Ok(None);
            }
            if talk.ended_untold().is_empty() {
                let told = format!(
                    "waiting for {} (Ctrl-C stops)",
                    counted(running.len(), "sub-agent")
                );
                self.output.waiting(&told)?;
                let woken = tokio::time::timeout_at(deadline, talk.until_woken_or_quiet(relay));
                let in_time = self.turn(woken).await?.is_ok();
                if !in_time || self.interrupts > 0 {
                    left.extend(running.iter().map(|label| format!("sub-agent `{label}`")));
                    talk.stop();
                    // Each writes down that it was stopped.
                    let _ = tokio::time::timeout(PATIENCE, talk.until_quiet()).await;
                    return Ok(None);
                }
                continue;
            }
            self.output.turn_begins();
            return Ok(match self.turn(talk.wake(relay)).await? {
                Ok(Some(outcome)) => Some(Ok(outcome)),
                Ok(None) => continue,
                Err(error) => Some(Err(error)),
            });
        }
    }
}

/// Two turns as one: what was said last counts, what was used adds up.
fn joined(before: TurnOutcome, after: TurnOutcome) -> TurnOutcome {
    let mut usage = before.usage;
    usage += after.usage;
    TurnOutcome {
        reply: match after.reply {
            Reply::Silent { .. } => before.reply,
            reply => reply,
        },
        usage,
        steps: before.steps + after.steps,
        tool_calls: before.tool_calls + after.tool_calls,
        ..after
    }
}

fn stopped() -> Fail {
    Fail {
        code: Exit::Stopped.code(),
        ..Fail::new("stopped")
    }
}

/// How long those that are stopped have to write that down.
const PATIENCE: Duration = Duration::from_secs(5);
