//! A conversation: one session of one agent, held open.

mod attached;
mod compacting;
mod desk;
mod elevation;
mod ending;
mod flush;
mod lane;
mod own_tools;
mod pen;
mod prefix;
mod pruning;
mod remembering;
mod seen;
mod skill_bound;
mod take_back;
mod talk;
mod waking;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chela_config::AgentView;
use chela_core::{AgentId, Audience, SessionForm, SessionKey, Speaker, ok_or_debug, ok_or_warn};
use chela_guard::flow::{Provenance, Taint};
use chela_model::{Chain, ResolveError, Usage};
use chela_tools::exec::Commands;
use chela_tools::{Policy, PolicyAsk, Tool, Toolbox, check_own_names};
use tokio::sync::Notify;

use crate::agent::{Agents, OpenError};
use crate::assemble::{AssembleError, HookText};
use crate::halt::{Halt, LOOK_EVERY};
use crate::local;
use crate::sandbox;
use crate::subagents::{Children, Grant, Runs, kept_grant};
use crate::toolset;
use crate::turn::{ContextMeter, Surface, TurnError, TurnOutcome};
use crate::writes::Writes;
use chela_reply::{ACK_MAX_CHARS, GateSettings, WithWord};
use chela_session::{ResetRules, ResetWhy, Session, SessionError, Sessions, Settings, Source};

pub(crate) use compacting::threshold;
pub use compacting::{CompactError, Compacted};
pub(crate) use pen::Pen;
pub(crate) use prefix::Prefix;
pub(crate) use seen::{GuardMark, Seen};
pub(crate) use skill_bound::SkillBound;
pub use waking::Background;

/// Which conversation is wanted. What is left open follows from the config; who speaks is always
/// said.
#[derive(Debug, Clone)]
pub struct ConversationAsk {
    pub agent: Option<AgentId>,
    pub session: Option<SessionKey>,
    /// A model for this process alone; the session's own choice is kept.
    pub model: Option<String>,
    /// Who writes: whether it is the owner, and the rules per sender.
    pub speaker: Speaker,
    pub channel: Option<String>,
    pub tools: ToolUse,
    /// Tools of whoever embeds the agent. Policy and guard hold for them as for any other.
    pub own: OwnTools,
}

impl ConversationAsk {
    /// The main conversation of the default agent with this speaker.
    pub fn new(speaker: Speaker) -> Self {
        Self {
            agent: None,
            session: None,
            model: None,
            speaker,
            channel: None,
            tools: ToolUse::default(),
            own: OwnTools::default(),
        }
    }
}

/// Tools made elsewhere.
#[derive(Clone, Default)]
pub struct OwnTools(pub Vec<Arc<dyn Tool>>);

impl std::fmt::Debug for OwnTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|tool| &tool.spec().name))
            .finish()
    }
}

/// On whose behalf a conversation is held.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub grant: Grant,
    /// Who speaks to it.
    pub source: Source,
    /// What whoever started it had seen.
    pub seen: Option<Provenance>,
}

impl Default for Role {
    fn default() -> Self {
        Self {
            grant: Grant::whole(),
            source: Source::Person,
            seen: None,
        }
    }
}

/// Whether tools are offered at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolUse {
    #[default]
    AsConfigured,
    None,
}

/// What a person says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbound {
    pub text: String,
    pub images: Vec<Image>,
}

impl From<&str> for Inbound {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            images: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub mime: String,
    /// Base64.
    pub data: String,
}

/// One session of one agent, held open. Turns run one at a time; everything else may be called
/// while one runs.
pub struct Conversation {
    pub(crate) agents: Arc<Agents>,
    pub(crate) view: AgentView,
    pub(crate) key: SessionKey,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) ask: ConversationAsk,
    /// Tools of whoever embeds the agent, as they are now.
    own: Mutex<Vec<Arc<dyn Tool>>>,
    /// What its calls do to the files that shape the agent. Goes before the commands do.
    pub(crate) writes: Writes,
    /// The commands it started; they end with it.
    pub(crate) commands: Commands,
    /// The sub-agents it started; they end with it.
    pub(crate) children: Children,
    /// What it may have at most.
    pub(crate) grant: Grant,
    pub(crate) source: Source,
    /// What it has read and been told, for the guard.
    pub(crate) seen: Arc<Seen>,
    /// Questions that wait for the owner.
    waiting: AtomicUsize,
    /// What its file tools write into the journal with.
    pub(crate) pen: Arc<Pen>,
    state: Mutex<State>,
    /// Held while a turn runs.
    pub(crate) turn: tokio::sync::Mutex<()>,
    steering: Mutex<VecDeque<String>>,
    models_known: AtomicBool,
    stopping: AtomicBool,
    stopped: Notify,
}

/// A question that waits.
pub(crate) struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What changes while a conversation goes on.
struct State {
    session: Session,
    /// What was chosen for it, as of the last turn or command.
    settings: Settings,
    prefix: Option<Arc<Prefix>>,
    /// What hooks add to the files it begins with.
    bootstrap: Vec<HookText>,
    last: Usage,
    meter: ContextMeter,
    /// Who answered last in place of the chosen model, and why.
    fallback: Option<(String, String)>,
    bounds: skill_bound::SkillBounds,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("session", &self.key.to_string())
            .finish_non_exhaustive()
    }
}

impl Conversation {
    pub(crate) async fn open(agents: Arc<Agents>, ask: ConversationAsk) -> Result<Self, OpenError> {
        Self::open_as(agents, ask, Role::default()).await
    }

    pub(crate) async fn open_as(
        agents: Arc<Agents>,
        ask: ConversationAsk,
        role: Role,
    ) -> Result<Self, OpenError> {
        check_own_names(&ask.own.0)?;
        let (agent, key) = agents
            .assembler
            .who_of(ask.agent.as_ref(), ask.session.as_ref())?;
        let view = agents.view(&agent)?;
        let sessions = agents.sessions(&agent)?;
        let session = sessions
            .current(&key, &agents.reset_rules(&key, ask.channel.as_deref()))
            .await?;
        let info = sessions.info(&session).await?;
        // A sub-agent has what it was given when it was started, whoever talks to it later.
        let branch = sessions.branch(&session).await?;
        let kept = match key.is_subagent() {
            true => kept_grant(&branch, &key),
            false => None,
        };
        let spool = agents.spool(&agent, &key);
        let skills = agents.assembler.skills(&agent)?;
        let place = sandbox::Session {
            host: &agents.host,
            loaded: &agents.loaded,
            view: &view,
            key: &key,
            channel: ask.channel.as_deref(),
            skills: &skills,
        };
        let secrecy = toolset::Secrecy {
            handles: agents.handles(&agent),
            redactor: agents.redactor(),
        };
        let commands = toolset::commands(&place, spool, &secrecy);
        // Without them commands and file tools say what is wrong when they are used.
        ok_or_warn!(
            commands.sandbox().make_folders(&agents.host),
            "the sandbox has no folders"
        );
        let seen = Arc::new(Seen::inheriting(role.seen));
        let writes = Writes::new(
            Arc::clone(&agents),
            agent.clone(),
            commands.processes.clone(),
        );
        let talk = Self {
            writes,
            commands,
            pen: Arc::new(Pen::new(agents.journal(&agent), &key, Arc::clone(&seen))),
            state: Mutex::new(State {
                meter: ContextMeter {
                    used: info.totals.context,
                    window: None,
                },
                session,
                settings: info.settings,
                prefix: None,
                bootstrap: Vec::new(),
                last: Usage::default(),
                fallback: None,
                bounds: skill_bound::SkillBounds::of(&branch),
            }),
            agents,
            view,
            key,
            sessions,
            own: Mutex::new(ask.own.0.clone()),
            ask,
            children: Children(Arc::new(Runs::default())),
            grant: kept.map_or(role.grant.clone(), |kept| kept.meet(&role.grant)),
            source: role.source,
            seen,
            waiting: AtomicUsize::new(0),
            turn: tokio::sync::Mutex::default(),
            steering: Mutex::default(),
            models_known: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            stopped: Notify::new(),
        };
        talk.note_replaced(&talk.session()).await;
        Ok(talk)
    }

    /// One turn: the message goes in, the answer comes out. Dropping the future ends the turn;
    /// [`Conversation::stop`] ends it and keeps what was said so far.
    pub async fn say(
        &self,
        message: Inbound,
        surface: &dyn Surface,
    ) -> Result<TurnOutcome, TurnError> {
        crate::turn::survive(self, self.say_next(message, surface)).await
    }

    async fn say_next(
        &self,
        message: Inbound,
        surface: &dyn Surface,
    ) -> Result<TurnOutcome, TurnError> {
        let _turn = self.turn.lock().await;
        if let Some(halt) = Halt::look(&self.agents.host) {
            return Err(TurnError::Halted(halt));
        }
        let _lane = self.lane(surface).await;
        self.one_turn(message, self.source, surface).await
    }

    /// A turn, by whoever has the right to run one.
    async fn one_turn(
        &self,
        message: Inbound,
        source: Source,
        surface: &dyn Surface,
    ) -> Result<TurnOutcome, TurnError> {
        self.stopping.store(false, Ordering::SeqCst);
        self.begin_bounds(source);
        self.note_background();
        self.know_models().await;
        self.make_room_before(surface).await;
        let outcome = tokio::select! {
            biased;
            never = self.children.0.desk.relay(surface) => match never {},
            outcome = crate::turn::run(self, message, source, surface) => outcome?,
        };
        self.make_room_after(surface).await;
        self.note_background();
        self.agents.keep_house();
        Ok(outcome)
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
            self.agents.models.learn(&self.agents.http, &chain).await;
        }
    }

    /// A message for the turn that runs: it is read between two steps. When none runs, it waits
    /// for the next one.
    pub fn steer(&self, text: impl Into<String>) {
        self.steering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(text.into());
    }

    /// Ends the turn that runs, at once, also inside a tool, and the sub-agents that run.
    pub fn stop(&self) {
        tracing::info!(key = %self.key, "told to stop");
        self.children.0.stop();
        self.stopping.store(true, Ordering::SeqCst);
        self.stopped.notify_waiters();
    }

    /// Waits until somebody says stop, here or for everything.
    pub(crate) async fn until_stopped(&self) {
        loop {
            let notified = self.stopped.notified();
            if self.stopping.load(Ordering::SeqCst) || Halt::is_set(&self.agents.host) {
                return;
            }
            let _ = tokio::time::timeout(LOOK_EVERY, notified).await;
        }
    }

    /// Whether this session has read text from outside.
    pub fn taint(&self) -> Taint {
        self.seen.taint()
    }

    /// How many questions wait for the owner.
    pub fn questions_waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// One question more waits, for as long as this is kept.
    pub(crate) fn waits(&self) -> Waits<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waits(&self.waiting)
    }

    /// The owner says that what was read so far is no reason to ask. The words keep their labels.
    pub async fn release_taint(&self) -> Result<(), SessionError> {
        self.sessions
            .append(&self.session(), GuardMark::Released.into())
            .await?;
        self.seen.with(Provenance::release);
        Ok(())
    }

    /// What was said to a turn that had already made its last step, taken out: whoever holds the
    /// conversation begins the next turn with it.
    pub fn take_unheard(&self) -> Vec<String> {
        self.take_steering()
    }

    pub(crate) fn take_steering(&self) -> Vec<String> {
        self.steering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .collect()
    }

    pub fn agent(&self) -> &AgentId {
        &self.view.id
    }

    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    pub fn session(&self) -> Session {
        self.with(|state| state.session.clone())
    }

    pub fn store(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    pub fn agents(&self) -> &Arc<Agents> {
        &self.agents
    }

    /// What was chosen for this session over the config.
    pub(crate) fn settings(&self) -> Settings {
        self.with(|state| state.settings.clone())
    }

    /// Another process may have chosen something else meanwhile.
    pub(crate) async fn refresh_settings(&self) -> Result<(), SessionError> {
        let settings = self.info().await?.settings;
        self.with(|state| state.settings = settings);
        Ok(())
    }

    /// How full the context was at the last call.
    pub fn meter(&self) -> ContextMeter {
        self.with(|state| state.meter)
    }

    /// The models that answer here now.
    pub fn chain(&self) -> Result<Chain, ResolveError> {
        let chosen = match &self.ask.model {
            Some(model) => Some(model.clone()),
            None => self.settings().model,
        };
        self.agents.chain(&self.view, chosen.as_deref())
    }

    /// The tools of this session.
    pub async fn toolbox(&self) -> Result<Toolbox, OpenError> {
        let prefix = self.prefix().await?;
        Ok(self.current_tools(&prefix))
    }

    /// The message's own limits on tools: they are enforced when a tool runs, so that the list a
    /// model was told of does not move.
    pub(crate) fn policy_now(&self, model: Option<(&str, &str)>) -> Policy {
        self.bounded(Policy::of(&PolicyAsk {
            loaded: &self.agents.loaded,
            view: &self.view,
            session: &self.key,
            provider: model.map(|(provider, _)| provider),
            model: model.map(|(_, model)| model),
            sender: self.ask.speaker.sender(),
            sandboxed: self.commands.sandbox().sandboxed(),
        }))
    }

    /// The session as it stands now: begins anew where the reset rules say so.
    pub(crate) async fn roll_over(&self) -> Result<Session, SessionError> {
        let rules = self
            .agents
            .reset_rules(&self.key, self.ask.channel.as_deref());
        let session = self.sessions.current(&self.key, &rules).await?;
        let moved = self.with(|state| {
            let moved = state.session.id != session.id;
            if moved {
                state.prefix = None;
                state.meter = ContextMeter::default();
            }
            state.session = session.clone();
            moved
        });
        self.refresh_settings().await?;
        if moved {
            tracing::info!(key = %self.key, session = session.id.as_str(), "the session begins anew");
            self.agents.assembler.refresh(&self.view.id);
            self.note_replaced(&session).await;
        }
        Ok(session)
    }

    /// Begins anew under the same key. The old conversation is kept.
    pub async fn begin_anew(&self) -> Result<Session, SessionError> {
        self.children.0.stop();
        let old = self.session();
        let session = self.sessions.reset(&old, ResetWhy::Asked).await?;
        self.with(|state| {
            state.prefix = None;
            state.meter = ContextMeter::default();
            state.last = Usage::default();
            state.session = session.clone();
        });
        self.refresh_settings().await?;
        self.agents.assembler.refresh(&self.view.id);
        self.write_note_of(&old).await;
        Ok(session)
    }

    /// How what the model says here is to be read.
    pub(crate) fn gate_settings(&self) -> GateSettings {
        let heartbeat = &self.view.heartbeat.value.settings;
        let attended = self.key.audience() == Audience::Private;
        GateSettings {
            heartbeat: matches!(self.key.form, SessionForm::Heartbeat { .. })
                .then(|| usize::try_from(heartbeat.ack_max_chars).unwrap_or(ACK_MAX_CHARS)),
            tag_reasoning: false,
            with_word: match attended {
                true => WithWord::Deliver,
                false => WithWord::Silence,
            },
        }
    }

    /// What hooks add to the files of this session, from now on.
    pub(crate) fn begin_with(&self, bootstrap: Vec<HookText>) {
        self.with(|state| state.bootstrap = bootstrap);
    }

    pub(crate) fn heard(
        &self,
        usage: Usage,
        meter: ContextMeter,
        fallback: Option<(String, String)>,
    ) {
        self.with(|state| {
            state.last = usage;
            state.meter = meter;
            state.fallback = fallback;
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Agents {
    fn reset_rules(&self, key: &SessionKey, channel: Option<&str>) -> ResetRules {
        let zone = &self.loaded.config.agents.defaults.user_timezone;
        let offset = local::offset_minutes(&self.host, zone.as_deref());
        ResetRules::of(&self.loaded, key, channel, offset)
    }
}

impl From<AssembleError> for TurnError {
    fn from(error: AssembleError) -> Self {
        Self::Open(error.into())
    }
}
