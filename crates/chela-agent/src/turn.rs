//! One turn: a message goes in, the model is called, tools run, an answer comes out.
//!
//! The order is always the same: what is accepted is on disk before the model hears of it, a call
//! is marked before it takes effect, a result is on disk before the model hears of it. The
//! request of each step is made from what is on disk, so what a later process would send is what
//! was sent. Nothing but append: an old message is never edited.

mod accept_message;
mod act;
mod agent_writes;
mod attached_pictures;
mod attachments;
mod authority_files;
mod changed_files;
mod changed_skills;
mod compaction;
mod context_overflow;
mod forked_skill;
mod guard;
mod hook_runner;
mod limits;
mod message_blocks;
mod model_call;
mod open_question;
mod open_request;
mod outlet;
mod output_taint;
mod owner_call;
mod package_text;
mod partial;
mod pending_writes;
mod phases;
mod picture_reader;
mod prompt_rewrite;
mod recorder;
mod request;
mod reserve_spending;
mod screening;
mod self_running;
mod staged_text;
mod survival;
mod told_text;
mod tool_changes;
mod tool_questions;
mod trust_notices;
mod work_rules;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use chela_core::panics::PanicReport;
use chela_core::{ContentHash, lock, ok_or_warn};
use chela_ledger::ContextRewrite;
use chela_model::{CallFailure, FallbackChain, ModelError, StopReason, Usage};
use chela_reply::{Reply, ReplyGate};
use chela_session::{EntryBody, MessageSource, OpenSession, SessionError, TranscriptEntry};
use chela_tools::HeadlessApprover;
use tracing::Instrument as _;

use crate::agent::OpenError;
use crate::assemble::AssembleError;
use crate::background::BackgroundWork;
use crate::context_builder::{ContextBuilder, ForkedSkill, RequestPrefix};
use crate::file_custody::FileCustody;
use crate::guarding::Guarding;
use crate::halt::HaltNotice;
use crate::inbound_message::InboundMessage;
pub use crate::runtime_blocks::{BlockKind, RuntimeBlock, SentBlock};
use crate::scope::ConversationScope;
use crate::subagents::UntoldRuns;
pub use crate::surface::{ContextMeter, TurnEnd, TurnEvent, TurnOutcome, TurnSurface};
use crate::transcript::Transcript;
use crate::turn_control::TurnControl;

use attached_pictures::AttachedPictures;
pub use compaction::{CompactError, CompactionOutcome};
pub(crate) use compaction::{compact, threshold, transcript_bytes};
use hook_runner::CallWord;
pub(crate) use hook_runner::{HookRunner, tell_session_end};
pub use hook_runner::{OutgoingText, pass_outgoing, preview_hooks};
use limits::{TurnLimits, TurnSpending};
use model_call::{ModelCallOutcome, cut_short};
use outlet::TurnOutlet;
pub(crate) use owner_call::run_owner_call;
pub use owner_call::{OwnerCall, OwnerCallOutcome};
use partial::PartialAnswer;
pub use pending_writes::put_back;
use recorder::TurnRecorder;
use request::RequestUse;
pub(crate) use reserve_spending::job_of;
pub(crate) use survival::survive;

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
    Halted(HaltNotice),
    #[error(
        "stopped while another process was running a turn in this conversation; the message was \
            not sent"
    )]
    StoppedWaiting,
    /// A fault in our own code, or in that of a surface. The session goes on with the next
    /// message.
    #[error("{}", survival::in_words(.0))]
    Broken(PanicReport),
}

impl From<AssembleError> for TurnError {
    fn from(error: AssembleError) -> Self {
        Self::Open(error.into())
    }
}

/// The parts of a conversation, as a turn borrows them.
#[derive(Clone, Copy)]
pub(crate) struct TurnParts<'a> {
    pub scope: &'a Arc<ConversationScope>,
    pub transcript: &'a Transcript,
    pub guarding: &'a Guarding,
    pub custody: &'a Arc<FileCustody>,
    pub background: &'a BackgroundWork,
    pub context: &'a ContextBuilder,
    pub control: &'a TurnControl,
}

impl TurnParts<'_> {
    /// What came of sub-agents since the model last heard.
    fn subagent_news(&self, branch: &[TranscriptEntry]) -> Option<UntoldRuns> {
        let scope = self.scope;
        let runs = &self.background.runs;
        runs.news_for_model(&scope.agents, &scope.key, branch)
    }

    async fn until_stopped(&self) {
        self.control.until_stopped(&self.scope.agents.host).await;
    }
}

/// Runs one turn to its end.
pub(crate) async fn run_turn(
    parts: TurnParts<'_>,
    message: InboundMessage,
    source: MessageSource,
    surface: &dyn TurnSurface,
) -> Result<TurnOutcome, TurnError> {
    run_to_completion(RunningTurn::accept(parts, message, source, surface).await?).await
}

/// Runs a turn nobody asked for: `ask` is the runtime's, and what is answered is kept in the
/// conversation but shown to nobody. `chain` answers in place of the session's models.
pub(crate) async fn run_unheard(
    parts: TurnParts<'_>,
    ask: String,
    chain: Option<FallbackChain>,
) -> Result<TurnOutcome, TurnError> {
    let message = InboundMessage {
        text: ask,
        ..InboundMessage::default()
    };
    let mut turn =
        RunningTurn::accept(parts, message, MessageSource::Event, &HeadlessApprover).await?;
    turn.chain = chain.unwrap_or(turn.chain);
    run_to_completion(turn).await
}

async fn run_to_completion(turn: RunningTurn<'_>) -> Result<TurnOutcome, TurnError> {
    let (parts, session) = (turn.parts, turn.session.clone());
    let (hooks, surface) = (turn.hooks.clone(), turn.surface);
    // The ids of the spans are those of the ledger. They count at every level.
    let span = tracing::error_span!(
        "turn",
        turn = turn.recorder.turn(),
        session = session.id.as_str()
    );
    let outcome = survive(&parts.scope.agents, run_steps(turn))
        .instrument(span.clone())
        .await;
    hooks.end(&outcome).instrument(span.clone()).await;
    hooks.tell(surface);
    span.in_scope(|| log_end(&outcome));
    if let Err(TurnError::Broken(_)) = &outcome {
        let how = "failed".to_owned();
        let ended = parts
            .transcript
            .sessions
            .append(&session, EntryBody::TurnEnded { how });
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
async fn run_steps(mut turn: RunningTurn<'_>) -> Result<TurnOutcome, TurnError> {
    tracing::info!(
        agent = %turn.parts.scope.view.id,
        key = %turn.parts.scope.key,
        model = turn.chain.primary().reference(),
        tools = turn.prefix.text.tools.len(),
        "a turn starts"
    );
    if let Some(fork) = turn.fork.take() {
        return match turn.run_fork(fork).await {
            Ok(ended) => turn.end(ended).await,
            Err(error) => Err(turn.fail(error).await),
        };
    }
    loop {
        turn.spent.set_limits(TurnLimits::of(turn.parts.scope));
        if let Some(limit) = turn.spent.exhausted(turn.now()) {
            tracing::info!(limit, "the turn came to a limit");
            return turn.end(TurnEnd::Limit(limit)).await;
        }
        if HaltNotice::is_set(&turn.parts.scope.agents.host) {
            tracing::info!("stopped: every agent is stopped");
            return turn.end(TurnEnd::Stopped).await;
        }
        if let Err(error) = turn.get_ready().await {
            return Err(turn.fail(error).await);
        }
        let span = tracing::error_span!("step", step = turn.spent.steps + 1);
        match turn.step().instrument(span).await {
            Ok(StepEnd::Again) => {}
            Ok(StepEnd::End(ended)) => return turn.end(ended).await,
            Err(TurnError::Model(error)) if error.failure == CallFailure::ContextOverflow => {
                tracing::info!("the request is too long for the model: compacting");
                if let Err(error) = turn.make_room(error).await {
                    return Err(turn.fail(error).await);
                }
            }
            Err(error) => return Err(turn.fail(error).await),
        }
    }
}

/// A turn under way.
struct RunningTurn<'a> {
    parts: TurnParts<'a>,
    surface: &'a dyn TurnSurface,
    outlet: TurnOutlet<'a>,
    session: OpenSession,
    /// What began it.
    source: MessageSource,
    chain: FallbackChain,
    prefix: std::sync::Arc<RequestPrefix>,
    /// The tools that results told of since the session began, in that order.
    found: Vec<String>,
    /// One of these has to be called first.
    must_call: Vec<String>,
    /// The volatile zone, where it stands at the end of the system prompt.
    system_tail: String,
    spent: TurnSpending,
    recorder: TurnRecorder,
    /// The conversation was rewritten since the request before.
    rewrite: Option<ContextRewrite>,
    usage: Usage,
    /// Of requests beside the conversation.
    usage_aside: Mutex<Usage>,
    /// Why the model stopped speaking last.
    stop: Option<StopReason>,
    meter: ContextMeter,
    reply: Reply,
    /// The work of a skill that is done in a sub-agent, in place of the model's.
    fork: Option<ForkedSkill>,
    /// The model has been told in this turn what foreign text is.
    noticed: AtomicBool,
    /// What the model is to be told about its repetitions.
    warned: Vec<String>,
    /// A request that is too long is shortened once.
    made_room: bool,
    /// Pictures that came with the message.
    attached: AttachedPictures,
    /// Whoever steps in from outside.
    hooks: HookRunner,
    /// What they said about the calls at hand.
    hook_words: Mutex<HookWords>,
}

/// By the id of a call and what it does: ids alone may come again.
type HookWords = HashMap<(String, ContentHash), CallWord>;

/// How a step ended.
enum StepEnd {
    /// Tools have run: the model is to see what came of it.
    Again,
    End(TurnEnd),
}

impl<'a> RunningTurn<'a> {
    fn now(&self) -> SystemTime {
        self.parts.scope.agents.host.clock.now()
    }

    /// One model call, and the tools it asks for.
    async fn step(&mut self) -> Result<StepEnd, TurnError> {
        let branch = self.catch_up(&self.prefix.toolbox).await?;
        let mut request = self.request(branch, RequestUse::Send).await?;
        let target = self.chain.current();
        self.surface.event(TurnEvent::Calling {
            model: target.reference().to_owned(),
            step: self.spent.steps + 1,
        });
        let open = match self.open_request(&mut request).await {
            Ok(open) => open,
            Err(ended) => return Ok(StepEnd::End(ended)),
        };
        let mut gate = ReplyGate::new(self.gate_settings());
        let mut partial = PartialAnswer::default();
        let heard = self
            .call(&request.asked, &open.sent, &mut gate, &mut partial)
            .await;
        self.close_request(open, &request, &heard, &partial).await?;
        let response = match heard? {
            ModelCallOutcome::Answer(response) => response,
            ModelCallOutcome::Interrupted(ended) => {
                self.keep_partial(&partial).await?;
                self.reply = self.close(gate).await;
                return Ok(StepEnd::End(ended));
            }
        };
        self.spent.steps += 1;
        self.stop = Some(response.stop);
        self.account(&request, &response);
        let calls = self.keep(&response).await?;
        self.reply = self.close(gate).await;
        if calls.is_empty() {
            if let Some(notice) = cut_short(response.stop) {
                self.surface.event(TurnEvent::Notice(notice.to_owned()));
            }
            // Somebody spoke while the model did: it should hear that before it ends.
            return Ok(match self.steered().await? {
                true => StepEnd::Again,
                false => StepEnd::End(TurnEnd::Done),
            });
        }
        self.act(&calls).await
    }

    fn hook_words(&self) -> MutexGuard<'_, HookWords> {
        lock(&self.hook_words)
    }

    async fn end(self, ended: TurnEnd) -> Result<TurnOutcome, TurnError> {
        self.record_end(ended.as_str()).await?;
        let mut usage = self.usage;
        usage += *lock(&self.usage_aside);
        Ok(TurnOutcome {
            session: self.parts.scope.key.clone(),
            turn: self.recorder.turn().to_owned(),
            model: self.chain.current().reference().to_owned(),
            reply: self.reply,
            usage,
            context: self.meter,
            steps: self.spent.steps,
            tool_calls: self.spent.tool_calls,
            stop: self.stop,
            ended,
        })
    }

    /// The turn has an outcome even when it failed: it is not tried again by itself.
    /// Before a step: takes in what was said meanwhile, and sees that it fits.
    async fn get_ready(&mut self) -> Result<(), TurnError> {
        self.look_at_attached().await?;
        self.steered().await?;
        // What was said meanwhile may have brought more.
        self.look_at_attached().await?;
        self.precheck().await
    }

    async fn fail(&self, error: TurnError) -> TurnError {
        let why = self.parts.scope.agents.redactor();
        let why = why.redact(&error.to_string()).into_owned();
        match self.record_end(&format!("failed: {why}")).await {
            Ok(()) => error,
            Err(worse) => worse.into(),
        }
    }

    async fn record_end(&self, how: &str) -> Result<(), SessionError> {
        let how = how.to_owned();
        self.parts
            .transcript
            .sessions
            .append(&self.session, EntryBody::TurnEnded { how })
            .await
            .map(drop)
    }
}
