//! One message in, one answer out: for scripts, pipes and quick questions.

mod output;

use std::time::Duration;

use chela_agent::conversation::{Conversation, InboundMessage};
use chela_agent::turn::{TurnError, TurnOutcome};
use chela_reply::Reply;
use tokio::sync::mpsc;

use super::gateway_talk::GatewayTalk;
use super::relay::{RelaySurface, TurnNews};
use super::stop_signals::StopSignals;
use super::turn_errors::{GatewayFailure, TurnFailure};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};
use output::OneShotOutput;

pub use output::{print_markdown, print_note, print_warning};

/// How the answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// The words as they come, and nothing else, on standard output.
    Plain,
    /// As in the chat: Markdown drawn, tools shown.
    Drawn,
    /// One object at the end.
    Json,
    /// An object a line for everything that happens, the last one as with `Json`.
    JsonStream,
}

impl OutputForm {
    /// For people: drawn where there is a screen to draw on.
    pub fn for_people(screen: &Screen, can_draw: bool) -> Self {
        match screen.is_terminal && can_draw {
            true => Self::Drawn,
            false => Self::Plain,
        }
    }

    pub fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonStream)
    }
}

/// One message, and what may come of it.
pub struct OneShotRequest {
    pub message: InboundMessage,
    pub form: OutputForm,
    pub wait: WaitAfter,
    pub afterwards: AfterAnswer,
}

/// How long is waited once the answer is there, and for what.
#[derive(Debug, Clone, Copy)]
pub struct WaitAfter {
    pub limit: Duration,
    pub awaited: AwaitedWork,
}

/// What of the work in the background is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedWork {
    Subagents,
    /// Commands, too.
    Everything,
}

/// What comes after the answer: what still runs in the background ends with the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAnswer {
    ProcessEnds,
    ChatGoesOn,
}

/// Says one thing and prints what comes back; then waits for the sub-agents it started, and prints
/// what the agent says to their ends.
pub async fn run_once(
    talk: &Conversation,
    gateway: Option<&GatewayTalk>,
    screen: &mut Screen,
    asked: OneShotRequest,
) -> Result<CommandExit, CommandError> {
    let gateway = gateway.filter(|gateway| gateway.is_there());
    let (relay, news) = RelaySurface::new(OneShotOutput::presence(asked.form));
    let signals = StopSignals::listen()
        .map_err(|error| CommandError::new(format!("cannot listen for signals: {error}")))?;
    let mut run = Run {
        signals,
        talk,
        gateway,
        relay: &relay,
        news,
        output: OneShotOutput::new(screen, asked.form),
        interrupts: 0,
    };
    let said = async {
        match gateway {
            Some(gateway) => {
                gateway.show_to(relay.sender());
                gateway.say(asked.message).await
            }
            None => talk
                .say(asked.message, &relay)
                .await
                .map_err(TurnFailure::Here),
        }
    };
    let mut outcome = match run.turn(said).await? {
        Ok(outcome) => outcome,
        Err(error) => return run.output.failed(talk, &error),
    };
    run.output.turn_ended(&outcome)?;
    let mut left = Vec::new();
    let deadline = tokio::time::Instant::now() + asked.wait.limit;
    let awaited = asked.wait.awaited;
    while let Some(next) = run.wait(deadline, awaited, &mut left).await? {
        match next.map_err(TurnFailure::from) {
            Ok(next) => {
                run.output.turn_ended(&next)?;
                outcome = joined(outcome, next);
            }
            Err(error) => return run.output.failed(talk, &error),
        }
    }
    if let Some(gateway) = gateway {
        let waited = run.wait_there(gateway, deadline, awaited).await;
        for next in waited? {
            match next {
                Ok(next) => outcome = joined(outcome, next),
                Err(failure) => return run.output.failed(talk, &TurnFailure::Gateway(failure)),
            }
        }
    }
    if asked.afterwards == AfterAnswer::ProcessEnds {
        left.extend(talk.background().running().in_words());
    }
    run.output.end(talk, &outcome, &left)
}

/// A message and its consequences, under way.
struct Run<'a> {
    talk: &'a Conversation,
    gateway: Option<&'a GatewayTalk>,
    relay: &'a RelaySurface,
    news: mpsc::UnboundedReceiver<TurnNews>,
    output: OneShotOutput<'a>,
    interrupts: u32,
    signals: StopSignals,
}

type Turned = Result<TurnOutcome, TurnError>;

impl Run<'_> {
    /// Runs something to its end, showing what happens meanwhile.
    async fn turn<T>(&mut self, work: impl Future<Output = T>) -> Result<T, CommandError> {
        tokio::pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                Some(item) = self.news.recv() => self.hear(item).await?,
                done = &mut work => break done,
                () = self.signals.next() => self.interrupted()?,
                () = tokio::time::sleep(self.output.pause()) => self.output.tick()?,
            }
        };
        while let Ok(item) = self.news.try_recv() {
            self.hear(item).await?;
        }
        Ok(done)
    }

    /// Shows what happened. A question waits for a person, who may press Ctrl-C instead.
    async fn hear(&mut self, item: TurnNews) -> Result<(), CommandError> {
        tokio::select! {
            biased;
            heard = self.output.hear(item) => heard,
            () = self.signals.next() => {
                self.output.question_abandoned();
                self.interrupted()
            }
        }
    }

    /// The first time the turn is stopped, the second time nothing is waited for.
    fn interrupted(&mut self) -> Result<(), CommandError> {
        self.interrupts += 1;
        self.talk.stop();
        if let Some(gateway) = self.gateway {
            gateway.stop();
        }
        match self.interrupts {
            1 => Ok(()),
            _ => Err(stopped()),
        }
    }

    /// Waits for what the agent started in the gateway, and shows what it says to the ends.
    async fn wait_there(
        &mut self,
        gateway: &GatewayTalk,
        deadline: tokio::time::Instant,
        awaited: AwaitedWork,
    ) -> Result<Vec<Result<TurnOutcome, GatewayFailure>>, CommandError> {
        let with_commands = awaited == AwaitedWork::Everything;
        let mut ended = Vec::new();
        loop {
            let running = gateway.background();
            let counts = [
                (running.subagents.len(), "sub-agent"),
                (
                    if with_commands {
                        running.commands.len()
                    } else {
                        0
                    },
                    "command",
                ),
            ];
            let counts = counts.into_iter().filter(|(count, _)| *count > 0);
            let what: Vec<String> = counts.map(|(count, of)| count_noun(count, of)).collect();
            if !what.is_empty() {
                let told = format!("waiting for {} (Ctrl-C to stop)", what.join(" and "));
                self.output.waiting(&told)?;
                self.output.turn_begins();
            }
            let woken = tokio::time::timeout_at(deadline, gateway.until_woken(with_commands));
            match self.turn(woken).await? {
                Ok(Some(Ok(outcome))) => {
                    self.output.turn_ended(&outcome)?;
                    ended.push(Ok(outcome));
                }
                Ok(Some(Err(failure))) => ended.push(Err(failure)),
                Ok(None) | Err(_) => return Ok(ended),
            }
            if self.interrupts > 0 {
                return Ok(ended);
            }
        }
    }

    /// Waits for what the agent started and lets it hear of the ends; `None` when nothing runs
    /// any more. What has to be ended goes into `left`.
    async fn wait(
        &mut self,
        deadline: tokio::time::Instant,
        awaited: AwaitedWork,
        left: &mut Vec<String>,
    ) -> Result<Option<Turned>, CommandError> {
        let (talk, relay) = (self.talk, self.relay);
        loop {
            let background = talk.background();
            let work = background.running();
            let (running, commands) = match awaited {
                AwaitedWork::Subagents => (work.subagents, Vec::new()),
                AwaitedWork::Everything => (work.subagents, work.commands),
            };
            let is_idle = running.is_empty() && commands.is_empty();
            if background.ended_untold().is_empty() && is_idle {
                return Ok(None);
            }
            if talk.background().ended_untold().is_empty() {
                let counts = [(running.len(), "sub-agent"), (commands.len(), "command")];
                let counts = counts.into_iter().filter(|(count, _)| *count > 0);
                let what: Vec<String> = counts.map(|(count, of)| count_noun(count, of)).collect();
                let told = format!("waiting for {} (Ctrl-C to stop)", what.join(" and "));
                self.output.waiting(&told)?;
                let woken = async {
                    match commands.is_empty() {
                        true => background.until_woken_or_quiet(relay).await,
                        false => background.until_woken(relay).await,
                    }
                };
                let woken = tokio::time::timeout_at(deadline, woken);
                let in_time = self.turn(woken).await?.is_ok();
                if !in_time || self.interrupts > 0 {
                    left.extend(running.iter().map(|label| format!("sub-agent `{label}`")));
                    talk.stop();
                    // Each writes down that it was stopped; whoever is late is stopped with the process.
                    let _ = tokio::time::timeout(PATIENCE, talk.background().until_quiet()).await;
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

fn stopped() -> CommandError {
    CommandError {
        code: CommandExit::Stopped.code(),
        ..CommandError::new("stopped")
    }
}

/// How long those that are stopped have to write that down.
const PATIENCE: Duration = Duration::from_secs(5);
