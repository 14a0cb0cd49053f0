//! Work of the chat that takes time: what it is begun with, and what is done when it has ended.

use std::io::Write;
use std::pin::Pin;
use std::time::{Duration, Instant};

use chela_agent::conversation::{
    CompactError, CompactionOutcome, InboundMessage, OwnerCommandOutcome,
};
use chela_agent::slash::{self, CommandContext, SessionSetting};
use chela_agent::turn::{TurnEnd, TurnEvent, TurnOutcome, TurnSurface};

use super::ChatRoom;
use crate::chat::clean::clean_line;
use crate::chat::ink::{StyledLine, look};
use crate::chat::relay::RelaySurface;
use crate::chat::turn_errors::{self, TurnFailure};
use crate::chat::view::{ReasoningDisplay, ToolDetail, ViewSettings, usage_line};

/// How long a command may run that the person typed.
const OWNER_COMMAND_TIME: Duration = Duration::from_secs(600);

/// Work that takes time.
pub(super) enum ChatWork {
    Say(InboundMessage),
    Compact(Option<String>),
    /// A command the person typed.
    Command(String),
    /// Something in the background has ended: the agent is to hear of it.
    Wake,
}

/// What came of it.
pub(super) enum DoneWork {
    Turn(Result<TurnOutcome, TurnFailure>),
    Compact(Result<CompactionOutcome, CompactError>),
    Command(String, Result<OwnerCommandOutcome, String>),
    /// There was nothing to be woken for.
    Nothing,
}

/// Dropping it stops it.
pub(super) type RunningWork<'a> = Pin<Box<dyn Future<Output = DoneWork> + 'a>>;

impl<'a, W: Write> ChatRoom<'a, W> {
    pub(super) fn start_work(
        &mut self,
        next: ChatWork,
        relay: &'a RelaySurface,
    ) -> RunningWork<'a> {
        let now = Instant::now();
        self.busy = Some(now);
        self.has_work = true;
        self.view.begin(self.settings(), now);
        self.is_command = matches!(next, ChatWork::Command(_));
        let talk = self.talk;
        match next {
            ChatWork::Say(message) => {
                let renew_logins = self.renew_logins;
                if let Some(gateway) = self.gateway_there() {
                    return Box::pin(async move { DoneWork::Turn(gateway.say(message).await) });
                }
                Box::pin(async move {
                    for told in renew_logins().await {
                        relay.event(TurnEvent::Notice(told));
                    }
                    DoneWork::Turn(talk.say(message, relay).await.map_err(TurnFailure::Here))
                })
            }
            ChatWork::Compact(keep) => {
                Box::pin(async move { DoneWork::Compact(talk.compact(keep.as_deref()).await) })
            }
            ChatWork::Command(line) => Box::pin(async move {
                let outcome = talk
                    .background()
                    .run_for_owner(&line, talk.work_folder(), OWNER_COMMAND_TIME)
                    .await;
                DoneWork::Command(line, outcome)
            }),
            ChatWork::Wake => Box::pin(async move {
                match talk.wake(relay).await {
                    Ok(Some(outcome)) => DoneWork::Turn(Ok(outcome)),
                    Ok(None) => DoneWork::Nothing,
                    Err(error) => DoneWork::Turn(Err(error.into())),
                }
            }),
        }
    }

    pub(super) async fn end_work(&mut self, done: DoneWork) {
        let now = Instant::now();
        self.has_work = false;
        let took = self
            .busy
            .take()
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.questions.tidy();
        match done {
            DoneWork::Nothing => {
                self.view.broke();
                return self.run_held_lines().await;
            }
            DoneWork::Turn(Ok(outcome)) => {
                self.wakes = true;
                self.view.end(&outcome);
                self.footer(&outcome, took).await;
                if outcome.ended == TurnEnd::Done {
                    self.take_up_unheard();
                }
            }
            DoneWork::Turn(Err(error)) => {
                self.wakes = false;
                self.view.broke();
                let width = self.stage.width().saturating_sub(1);
                for line in turn_errors::error_lines(&error, self.talk, width) {
                    self.view.say(line);
                }
            }
            DoneWork::Command(line, outcome) => {
                self.view.broke();
                self.show_ran(&line, outcome);
                self.take_up_unheard();
            }
            DoneWork::Compact(Ok(compacted)) => {
                self.view.broke();
                self.view.meter = self.talk.status().await.context;
                self.view
                    .say(StyledLine::new(compacted.in_words(), look::DIM));
                self.take_up_unheard();
            }
            DoneWork::Compact(Err(error)) => {
                self.view.broke();
                self.view
                    .say(StyledLine::new(error.to_string(), look::WARN));
            }
        }
        self.view.say(StyledLine::default());
        self.put_back_settings().await;
        self.model = self.talk.model().selected;
        self.give_back_unheard();
        self.run_held_lines().await;
    }

    /// What was said to a turn that was stopped or failed before it read it: back on the line, so
    /// that no later turn, perhaps of another conversation, hears it unasked.
    fn give_back_unheard(&mut self) {
        if self.next.is_some() {
            return;
        }
        for message in self.talk.take_unheard() {
            self.history.add_taken_back(&message.text);
            let told = format!("· not read: {} (Up brings it back)", message.text);
            let told = clean_line(&told);
            self.view.say(StyledLine::new(told, look::WARN));
        }
    }

    pub(super) async fn put_back_settings(&mut self) {
        if let Some(for_now) = self.for_now.take() {
            for_now.put_back().await;
        }
    }

    /// A word that came when the turn had already made its last step begins the next one.
    fn take_up_unheard(&mut self) {
        if self.next.is_some() {
            return;
        }
        let unheard = self.talk.take_unheard();
        if !unheard.is_empty() {
            let texts: Vec<&str> = unheard.iter().map(|word| word.text.as_str()).collect();
            self.next = Some(ChatWork::Say(InboundMessage {
                text: texts.join("\n\n"),
                pasted: unheard
                    .iter()
                    .flat_map(|word| word.pasted.clone())
                    .collect(),
                images: unheard
                    .iter()
                    .flat_map(|word| word.images.clone())
                    .collect(),
                ..InboundMessage::default()
            }));
        }
    }

    /// Tokens under the reply, when the person wants them.
    async fn footer(&mut self, outcome: &TurnOutcome, took: Duration) {
        let line = match slash::value(self.talk, SessionSetting::Usage).as_str() {
            "tokens" => usage_line(&outcome.usage, took, None),
            "full" => {
                let spent = self.talk.turn_spent(outcome).await;
                let priced = spent.filter(|sum| sum.requests > sum.unpriced);
                usage_line(&outcome.usage, took, priced.map(|sum| sum.cost))
            }
            _ => return,
        };
        self.view.say(line);
    }

    pub(super) fn settings(&self) -> ViewSettings {
        ViewSettings {
            reasoning: match slash::value(self.talk, SessionSetting::Reasoning).as_str() {
                "on" => ReasoningDisplay::After,
                "stream" => ReasoningDisplay::AsItComes,
                _ => ReasoningDisplay::Off,
            },
            tools: match slash::value(self.talk, SessionSetting::Verbose).as_str() {
                "on" => ToolDetail::Some,
                "full" => ToolDetail::All,
                _ => ToolDetail::Folded,
            },
        }
    }
}

/// Waits for something else while the work goes on; what came of the work, where it ended first.
pub(super) async fn beside<T>(
    work: &mut Option<RunningWork<'_>>,
    other: impl Future<Output = T>,
) -> (T, Option<DoneWork>) {
    let mut other = std::pin::pin!(other);
    let mut ended = None;
    loop {
        tokio::select! {
            biased;
            value = &mut other => return (value, ended),
            done = finish(work), if work.is_some() => {
                *work = None;
                ended = Some(done);
            }
        }
    }
}

/// Waits for the work under way; never ends without any.
pub(super) async fn finish(work: &mut Option<RunningWork<'_>>) -> DoneWork {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
