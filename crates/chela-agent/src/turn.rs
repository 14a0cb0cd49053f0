//! One turn: a message goes in, the model is called, tools run, an answer comes out.
//!
//! The order is always the same: what is accepted is on disk before the model hears of it, a call
//! is marked before it takes effect, a result is on disk before the model hears of it. The
//! request of each step is made from what is on disk, so what a later process would send is what
//! was sent. Nothing but append: an old message is never edited.

mod act;
mod approving;
mod book;
mod changes;
mod event;
mod guard;
mod held;
mod hook_runner;
mod inbound;
mod limits;
mod outlet;
mod page;
mod partial;
mod phases;
mod printed;
mod remembered;
mod request;
mod rewritten;
mod room;
mod screening;
mod survival;
mod tail;
mod told;
mod tool_changes;
mod wrote;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use chela_core::panics::PanicReport;
use chela_core::{ContentHash, ok_or_warn};
use chela_ledger::Rewrite;
use chela_model::{
    Chain, Event, Failure, Message, ModelError, Part, Response, Stage, StopReason, Usage,
};
use chela_tools::Headless;
use tokio::time::sleep;
use tracing::Instrument;

use crate::agent::OpenError;
use crate::conversation::{Conversation, Inbound, Prefix};
use crate::halt::Halt;
use crate::hooks::CallWord;
use chela_reply::{Gate, GateSettings, Reply};
use chela_session::{AppendBatch, Body, Meta, Session, SessionError, Source, UsageOfCall};
use hook_runner::HookRunner;
use limits::Spent;
use outlet::Outlet;

pub(crate) use book::{Book, Call};
pub use event::{ContextMeter, Ended, Surface, TurnEvent, TurnOutcome};
pub use held::put_back;
pub(crate) use page::Reckoning;
pub(crate) use partial::Partial;
pub(crate) use request::thinking_named;
pub(crate) use survival::survive;
pub use tail::{Block, BlockKind, Sent};

/// Why a turn came to nothing. The message that began it is kept.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{}", .0.in_words())]
    Halted(Halt),
    /// A fault in our own code, or in that of a surface. The session goes on with the next
    /// message.
    #[error("{}", survival::in_words(.0))]
    Broken(PanicReport),
}

/// Runs one turn to its end.
pub(crate) async fn run(
    talk: &Conversation,
    message: Inbound,
    source: Source,
    surface: &dyn Surface,
) -> Result<TurnOutcome, TurnError> {
    to_its_end(Turn::accept(talk, message, source, surface).await?).await
}

/// Runs a turn nobody asked for: `ask` is the runtime's, and what is answered is kept in the
/// conversation but shown to nobody. `chain` answers in place of the session's models.
pub(crate) async fn run_unheard(
    talk: &Conversation,
    ask: String,
    chain: Option<Chain>,
) -> Result<TurnOutcome, TurnError> {
    let message = Inbound {
        text: ask,
        images: Vec::new(),
    };
    let mut turn = Turn::accept(talk, message, Source::Event, &Headless).await?;
    turn.chain = chain.unwrap_or(turn.chain);
    to_its_end(turn).await
}

async fn to_its_end(turn: Turn<'_>) -> Result<TurnOutcome, TurnError> {
    let (talk, session) = (turn.talk, turn.session.clone());
    let hooks = turn.hooks.clone();
    // The ids of the spans are those of the ledger. They count at every level.
    let span = tracing::error_span!(
        "turn",
        turn = turn.book.turn(),
        session = session.id.as_str()
    );
    let outcome = survive(talk, run_steps(turn))
        .instrument(span.clone())
        .await;
    hooks.end(&outcome).instrument(span.clone()).await;
    span.in_scope(|| log_end(&outcome));
    if let Err(TurnError::Broken(_)) = &outcome {
        let how = "failed".to_owned();
        let ended = talk.sessions.append(&session, Body::TurnEnded { how });
        ok_or_warn!(ended.await, "a turn that broke has no outcome on disk");
    }
    outcome
}

fn log_end(outcome: &Result<TurnOutcome, TurnError>) {
    match outcome {
        Ok(outcome) => tracing::info!(
            ended = outcome.ended.as_str(),
            model = outcome.model,
            steps = outcome.steps,
            calls = outcome.tool_calls,
            tokens_in = outcome.usage.input,
            tokens_out = outcome.usage.output,
            "the turn ended"
        ),
        Err(error) => tracing::warn!(%error, "the turn failed"),
    }
}

/// Step by step, until one is the last.
async fn run_steps(mut turn: Turn<'_>) -> Result<TurnOutcome, TurnError> {
    tracing::info!(
        agent = %turn.talk.view.id,
        key = %turn.talk.key,
        model = turn.chain.primary().reference(),
        tools = turn.prefix.tools.len(),
        "a turn begins"
    );
    loop {
        if let Some(limit) = turn.spent.exhausted(turn.now()) {
            tracing::info!(limit, "the turn came to a limit");
            return turn.end(Ended::Limit(limit)).await;
        }
        if Halt::is_set(&turn.talk.agents.host) {
            tracing::info!("stopped: every agent is stopped");
            return turn.end(Ended::Stopped).await;
        }
        turn.steered().await?;
        turn.precheck().await?;
        let span = tracing::error_span!("step", step = turn.spent.steps + 1);
        match turn.step().instrument(span).await {
            Ok(Step::Again) => {}
            Ok(Step::End(ended)) => return turn.end(ended).await,
            Err(TurnError::Model(error)) if error.failure == Failure::ContextOverflow => {
                tracing::info!("the request is too long for the model: making room");
                turn.make_room(error).await?;
            }
            Err(error) => return Err(turn.fail(error).await),
        }
    }
}

/// A turn under way.
struct Turn<'a> {
    talk: &'a Conversation,
    surface: &'a dyn Surface,
    outlet: Outlet<'a>,
    session: Session,
    chain: Chain,
    prefix: std::sync::Arc<Prefix>,
    /// The volatile zone, where it stands at the end of the system prompt.
    system_tail: String,
    spent: Spent,
    book: Book,
    /// The conversation was rewritten since the request before.
    rewrite: Option<Rewrite>,
    usage: Usage,
    meter: ContextMeter,
    reply: Reply,
    /// The model has been told in this turn what foreign text is.
    noticed: AtomicBool,
    /// What the model is to be told about its repetitions.
    warned: Vec<String>,
    /// A request that is too long is shortened once.
    made_room: bool,
    /// Whoever steps in from outside.
    hooks: HookRunner,
    /// What they said about the calls at hand.
    hook_words: Mutex<HookWords>,
}

/// By the id of a call and what it does: ids alone may come again.
type HookWords = HashMap<(String, ContentHash), (CallWord, String)>;

/// How a step ended.
enum Step {
    /// Tools have run: the model is to see what came of it.
    Again,
    End(Ended),
}

/// What came of a model call.
enum Heard {
    Answer(Response),
    /// The person or the clock ended it.
    Interrupted(Ended),
}

impl<'a> Turn<'a> {
    fn now(&self) -> SystemTime {
        self.talk.agents.host.clock.now()
    }

    /// One model call, and the tools it asks for.
    async fn step(&mut self) -> Result<Step, TurnError> {
        self.catch_up(&self.prefix.toolbox).await?;
        let request = self.request().await?;
        let target = self.chain.current();
        self.surface.event(TurnEvent::Calling {
            model: target.reference().to_owned(),
            step: self.spent.steps + 1,
        });
        let page = match self.open_page(&request).await {
            Ok(page) => page,
            Err(ended) => return Ok(Step::End(ended)),
        };
        let mut gate = Gate::new(self.gate_settings());
        let mut partial = Partial::default();
        let heard = self
            .call(&request, &page.sent, &mut gate, &mut partial)
            .await;
        self.close_page(page, &request, &heard, &partial).await?;
        let response = match heard? {
            Heard::Answer(response) => response,
            Heard::Interrupted(ended) => {
                self.keep_partial(&partial).await?;
                self.reply = self.close(gate).await;
                return Ok(Step::End(ended));
            }
        };
        self.spent.steps += 1;
        self.account(&request, &response);
        let calls = self.keep(&response).await?;
        self.reply = self.close(gate).await;
        if calls.is_empty() {
            if response.stop == StopReason::Length {
                let notice = "The answer was cut off: it reached the model's output limit.";
                self.surface.event(TurnEvent::Notice(notice.to_owned()));
            }
            // Somebody spoke while the model did: it should hear that before it ends.
            return Ok(match self.steered().await? {
                true => Step::Again,
                false => Step::End(Ended::Done),
            });
        }
        self.act(&calls).await
    }

    /// Calls the model, showing what it says while it says it.
    async fn call(
        &mut self,
        request: &chela_model::Request,
        encoded: &chela_model::EncodedRequest,
        gate: &mut Gate,
        partial: &mut Partial,
    ) -> Result<Heard, TurnError> {
        let stage = match self.spent.steps {
            0 => Stage::Fresh,
            _ => Stage::Underway,
        };
        let surface = self.surface;
        let settings = self.gate_settings();
        let outlet = &self.outlet;
        let mut sink = |event: Event| match event {
            Event::Text(text) => {
                partial.text.push_str(&text);
                gate.push(&text)
                    .into_iter()
                    .for_each(|shown| outlet.show(shown));
            }
            Event::Reasoning(text) => {
                partial.reasoning.push_str(&text);
                gate.push_reasoning(&text)
                    .into_iter()
                    .for_each(|shown| outlet.show(shown));
            }
            Event::ToolCall { .. } => {}
            Event::Restarted { why } => {
                tracing::info!(
                    why,
                    "the answer broke off: what was said of it is taken back"
                );
                *gate = Gate::new(settings);
                partial.restart();
                outlet.drop_held();
                surface.event(TurnEvent::Restarted { why });
            }
            Event::Waiting { why, wait } => {
                let seconds = wait.as_secs().max(1);
                surface.event(TurnEvent::Notice(format!(
                    "{why} Trying again in {seconds} s."
                )));
            }
        };
        let time_left = self.spent.time_left(self.now());
        let http = &self.talk.agents.http;
        let answer = self.chain.answer(http, request, encoded, stage, &mut sink);
        tokio::select! {
            biased;
            () = self.talk.until_stopped() => Ok(Heard::Interrupted(Ended::Stopped)),
            () = sleep(time_left) => Ok(Heard::Interrupted(Ended::Limit(self.spent.out_of_time()))),
            response = answer => match response {
                Ok(response) => Ok(Heard::Answer(response)),
                Err(error) => {
                    self.keep_partial(partial).await?;
                    Err(error.into())
                }
            },
        }
    }

    /// Puts an answer on disk, with what it cost; gives the calls it asks for.
    async fn keep(&self, response: &Response) -> Result<Vec<chela_model::ToolCall>, SessionError> {
        let message = Message::Assistant {
            content: response.content.clone(),
            model: Some(response.model.clone()),
        };
        let calls = message.tool_calls().cloned().collect();
        let answer = Body::Message {
            message,
            meta: Meta {
                usage: Some(response.usage),
                stop: Some(response.stop),
                ..Meta::default()
            },
        };
        let batch = AppendBatch {
            bodies: std::slice::from_ref(&answer),
            usage: Some(UsageOfCall {
                usage: response.usage,
                context: self.meter.used,
            }),
        };
        self.talk
            .sessions
            .append_batch(&self.session, batch, answer.durability())
            .await?;
        Ok(calls)
    }

    /// What was said before the stream ended early is part of the conversation too.
    async fn keep_partial(&self, partial: &Partial) -> Result<(), SessionError> {
        let mut content = Vec::new();
        if !partial.reasoning.is_empty() {
            content.push(Part::Reasoning {
                text: partial.reasoning.clone(),
                signature: None,
                redacted: false,
            });
        }
        if partial.text.is_empty() {
            return Ok(());
        }
        content.push(Part::text(partial.text.clone()));
        let message = Message::Assistant {
            content,
            model: Some(self.chain.current().reference().to_owned()),
        };
        let meta = Meta {
            cut: true,
            ..Meta::default()
        };
        self.talk
            .sessions
            .append(&self.session, Body::Message { message, meta })
            .await
            .map(drop)
    }

    fn account(&mut self, request: &chela_model::Request, response: &Response) {
        self.usage += response.usage;
        let target = self.chain.current();
        self.meter = ContextMeter {
            used: match response.usage.input {
                0 => request::estimate(request),
                input => input,
            },
            window: target.info().context_window,
        };
        let chosen = self.chain.primary().reference();
        let fallback = (response.model != chosen)
            .then(|| (response.model.clone(), format!("{chosen} did not answer")));
        self.talk.heard(response.usage, self.meter, fallback);
        self.surface.event(TurnEvent::Called {
            usage: response.usage,
            context: self.meter,
        });
    }

    fn gate_settings(&self) -> GateSettings {
        self.talk.gate_settings()
    }

    /// What the gate still held back, and what the answer comes to.
    async fn close(&self, gate: Gate) -> Reply {
        let finished = gate.finish();
        finished
            .shown
            .into_iter()
            .for_each(|shown| self.outlet.show(shown));
        self.before_agent_reply(finished.reply).await
    }

    fn hook_words(&self) -> MutexGuard<'_, HookWords> {
        self.hook_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn end(self, ended: Ended) -> Result<TurnOutcome, TurnError> {
        self.record_end(ended.as_str()).await?;
        Ok(TurnOutcome {
            session: self.talk.key.clone(),
            model: self.chain.current().reference().to_owned(),
            reply: self.reply,
            usage: self.usage,
            context: self.meter,
            steps: self.spent.steps,
            tool_calls: self.spent.tool_calls,
            ended,
        })
    }

    /// The turn has an outcome even when it failed: it is not tried again by itself.
    async fn fail(&self, error: TurnError) -> TurnError {
        match self.record_end("failed").await {
            Ok(()) => error,
            Err(worse) => worse.into(),
        }
    }

    async fn record_end(&self, how: &str) -> Result<(), SessionError> {
        let how = how.to_owned();
        self.talk
            .sessions
            .append(&self.session, Body::TurnEnded { how })
            .await
            .map(drop)
    }
}
