//! A conversation: one session of one agent, held open.
//!
//! It holds the parts a turn is run with, and says in which order things happen around a turn.
//! What a part knows it does itself: see `TurnParts`.

mod announcing;
mod command_context;
mod flush;
mod making_room;
mod opening;
mod past;
mod queued_answer;
mod recovering;
mod release;
mod remembering;
mod spawning;
mod spending;
mod take_back;
mod taking_edits;
mod wait_for_lane;
mod waking;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chela_core::{AgentId, SessionKey, ok_or_debug};
use chela_model::{FallbackChain, ResolveError};
use chela_sandbox::WorkFolder;
use chela_session::{MessageSource, OpenSession, SessionError, Sessions};
use chela_tools::{Tool, ToolNameError, Toolbox};

use crate::agent::{Agents, OpenError};
use crate::context_builder::ContextBuilder;
use crate::file_custody::FileCustody;
use crate::guarding::Guarding;
use crate::scope::ConversationScope;
use crate::surface::{ContextMeter, TurnEvent, TurnOutcome, TurnSurface};
use crate::transcript::Transcript;

use crate::turn::{
    OwnerCall, OwnerCallOutcome, TurnEnd, TurnError, TurnParts, run_owner_call, run_turn, survive,
    tell_session_end,
};
use crate::turn_control::TurnControl;

pub use announcing::ToldAnnouncement;
pub use past::{conversation_row, find_conversation};

pub use crate::background::{BackgroundWork, OwnerCommandOutcome, RunningWork};
pub use crate::inbound_message::{ExternalText, InboundImage, InboundMessage};
pub use crate::scope::{ConversationAsk, OwnTools, ToolUse};
pub use crate::transcript::NewBeginning;
pub use crate::turn::{CompactError, CompactionOutcome};
pub use recovering::MessageStanding;
pub(crate) use taking_edits::take_edits_of;

/// One session of one agent, held open. Turns run one at a time; everything else may be called
/// while one runs.
pub struct Conversation {
    /// What its calls do to the files that shape the agent. Goes before the commands do.
    custody: Arc<FileCustody>,
    context: ContextBuilder,
    /// Commands and sub-agents; they end with it.
    background: Arc<BackgroundWork>,
    guarding: Guarding,
    transcript: Arc<Transcript>,
    scope: Arc<ConversationScope>,
    control: Arc<TurnControl>,
    /// Held while a turn runs.
    turn: tokio::sync::Mutex<()>,
    models_known: AtomicBool,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("session", &self.scope.key.to_string())
            .finish_non_exhaustive()
    }
}

impl Conversation {
    /// One turn: the message goes in, the answer comes out. Dropping the future ends the turn;
    /// [`Conversation::stop`] ends it and keeps what was said so far.
    pub async fn say(
        &self,
        message: InboundMessage,
        surface: &dyn TurnSurface,
    ) -> Result<TurnOutcome, TurnError> {
        let source = self.scope.source;
        survive(&self.scope.agents, self.say_next(message, source, surface)).await
    }

    /// One turn that something other than a person begins: a job, a heartbeat, an event. Nobody
    /// speaks in it but the runtime; what the message holds of others is in its external parts.
    pub async fn hear(
        &self,
        message: InboundMessage,
        source: MessageSource,
        surface: &dyn TurnSurface,
    ) -> Result<TurnOutcome, TurnError> {
        survive(&self.scope.agents, self.say_next(message, source, surface)).await
    }

    /// One call of a tool, made by the person's program and not by a model. The message is what it
    /// is on record under; policy, guard and approvals are those of any other call.
    pub async fn call_tool(
        &self,
        message: InboundMessage,
        call: OwnerCall,
        surface: &dyn TurnSurface,
    ) -> Result<OwnerCallOutcome, TurnError> {
        let _turn = self.turn.lock().await;
        let _lane = self.wait_for_lane(Some(surface)).await?;
        self.context.begin_bounds(self.scope.source);
        self.custody.look_at_background().await;
        let outcome = tokio::select! {
            biased;
            never = self.background.runs.desk.relay(surface) => match never {},
            outcome = survive(
                &self.scope.agents,
                run_owner_call(self.parts(), message, call, surface),
            ) => outcome?,
        };
        self.custody.look_at_background().await;
        self.custody.settle_ended_files().await;
        Ok(outcome)
    }

    async fn say_next(
        &self,
        message: InboundMessage,
        source: MessageSource,
        surface: &dyn TurnSurface,
    ) -> Result<TurnOutcome, TurnError> {
        let _turn = self.turn.lock().await;
        let _lane = self.wait_for_lane(Some(surface)).await?;
        self.one_turn(message, source, surface).await
    }

    /// A turn, by whoever has the right to run one.
    async fn one_turn(
        &self,
        message: InboundMessage,
        source: MessageSource,
        surface: &dyn TurnSurface,
    ) -> Result<TurnOutcome, TurnError> {
        self.context.begin_bounds(source);
        self.custody.look_at_background().await;
        self.take_owner_edits(source, surface).await;
        self.know_models().await;
        for failed in self.context.meet_new_servers().await {
            surface.event(TurnEvent::Notice(failed));
        }
        self.make_room_before(surface).await;
        if source == MessageSource::Person
            && let Some(notice) = self.scope.agents.take_upkeep_notice()
        {
            surface.event(TurnEvent::Notice(notice));
        }
        let outcome = tokio::select! {
            biased;
            never = self.background.runs.desk.relay(surface) => match never {},
            outcome = run_turn(self.parts(), message, source, surface) => outcome?,
        };
        // Whoever stopped it wants no further call.
        if outcome.ended != TurnEnd::Stopped {
            self.make_room_after(surface).await;
        }
        self.custody.look_at_background().await;
        self.custody.settle_ended_files().await;
        self.scope.agents.keep_house();
        Ok(outcome)
    }

    fn parts(&self) -> TurnParts<'_> {
        TurnParts {
            scope: &self.scope,
            transcript: &self.transcript,
            guarding: &self.guarding,
            custody: &self.custody,
            background: &self.background,
            context: &self.context,
            control: &self.control,
        }
    }

    /// Asks a local server what it runs, once: the window of its model decides how much of the
    /// prompt fits.
    pub async fn know_models(&self) {
        let Some(chain) = ok_or_debug!(self.chain(), "there is no model to ask about") else {
            return;
        };
        // Before anything is written or sent, so that neither holds it.
        chain.primary().fetch_key().await;
        if !self.models_known.swap(true, Ordering::SeqCst) {
            let agents = &self.scope.agents;
            agents.models.learn(&agents.http, &chain).await;
        }
    }

    /// A message for the turn that runs: it is read between two steps. When none runs, it waits
    /// for the next one.
    pub fn steer(&self, message: impl Into<InboundMessage>) {
        self.control.steer(message.into());
    }

    /// What was said to a turn that had already made its last step, taken out: whoever holds the
    /// conversation begins the next turn with it.
    pub fn take_unheard(&self) -> Vec<InboundMessage> {
        self.control.take_steering()
    }

    /// Ends the turn that runs, at once, also inside a tool, and the sub-agents that run.
    pub fn stop(&self) {
        tracing::info!(key = %self.scope.key, "told to stop");
        self.background.runs.stop();
        self.control.stop();
    }

    /// Begins anew under the same key. The old conversation is kept.
    pub async fn begin_anew(&self) -> Result<NewBeginning, SessionError> {
        self.background.runs.stop();
        let old = self.transcript.session();
        tell_session_end(&self.scope, old.id.as_str(), "reset").await;
        self.transcript.begin_anew().await
    }

    /// What runs beside the turns.
    pub fn background(&self) -> &BackgroundWork {
        &self.background
    }

    /// How many questions wait for the owner.
    pub fn questions_waiting(&self) -> usize {
        self.guarding.questions_waiting()
    }

    pub fn agent(&self) -> &AgentId {
        &self.scope.view.id
    }

    pub fn key(&self) -> &SessionKey {
        &self.scope.key
    }

    pub fn session(&self) -> OpenSession {
        self.transcript.session()
    }

    pub fn store(&self) -> &Arc<Sessions> {
        &self.transcript.sessions
    }

    pub fn agents(&self) -> &Arc<Agents> {
        &self.scope.agents
    }

    /// How full the context was at the last call.
    pub fn meter(&self) -> ContextMeter {
        self.transcript.meter()
    }

    /// The models that answer here now.
    pub fn chain(&self) -> Result<FallbackChain, ResolveError> {
        self.transcript.chain()
    }

    /// The tools of this session.
    pub async fn toolbox(&self) -> Result<Toolbox, OpenError> {
        self.context.toolbox().await
    }

    /// The folders a person names files in: where they work, then the workspace.
    pub fn file_roots(&self) -> Vec<PathBuf> {
        let workspace = self.scope.view.workspace.value.clone();
        let besides = self.scope.ask.folders.iter();
        let besides = besides.map(|folder| folder.path.clone());
        besides.chain(std::iter::once(workspace)).collect()
    }

    /// The folder the person stands in and lets the agent work in.
    pub fn work_folder(&self) -> Option<&Path> {
        let first = self.scope.ask.folders.first();
        first.map(|folder| folder.path.as_path())
    }

    /// The folders besides the workspace it may work in.
    pub fn work_folders(&self) -> &[WorkFolder] {
        &self.scope.ask.folders
    }

    /// Brings in a tool. The model is told with the next message; what a session began with stays
    /// as it is until it is read anew anyway.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<(), ToolNameError> {
        self.context.add_tool(tool)
    }

    /// Takes a tool away, at once: a call that was not made yet is answered that it is gone. Says
    /// whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.context.remove_tool(name)
    }
}
