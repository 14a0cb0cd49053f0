//! Lanes: the work of one session is done in its order, one piece at a time; several sessions work
//! side by side, as many as `agents.defaults.maxConcurrent` allows.
//!
//! The inbox is the queue. Work is on disk before it is acknowledged and leaves when its outcome
//! is on disk, so a process that dies at any moment is followed by one that finds it again.

mod background_watch;
mod finish_work;
mod open_conversations;
mod queue_rules;
mod refused_rows;
mod run_work;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use chela_agent::prelude::{AgentId, Agents, Conversation, Host, LoadedConfig};
use chela_core::{lock, ok_or_warn};
use chela_sandbox::may_come_from_command;
use chela_store::{
    ClaimAsk, ClaimedMessage, InboxMessage, InboxStore, LeaseTime, MessageAccepted, RowsGuarded,
    SqliteRuntimeStore, StoreError, WorkClaim,
};
use tokio::sync::{Notify, oneshot, watch};

use crate::caller_tools::CallerCalls;
use crate::event_hub::EventHub;
use crate::letter_surface::LetterDesk;
use crate::question_board::QuestionBoard;
use crate::quotas::{QuotaReached, QuotaTally, are_set};
use crate::restart_desk::RestartDesk;
use crate::work_item::{EncodeError, WorkItem, WorkOutcome, WorkSource};
use open_conversations::OpenConversations;

/// So long the process waits before it looks for work that another process brought.
const LOOK_EVERY: Duration = Duration::from_millis(1_000);
/// A claim holds for as long as the process lives: it is the only one, and the next one releases
/// what this one leaves behind.
const CLAIM_MILLIS: u64 = 30 * 24 * 3_600 * 1_000;
/// How the ids of announcements start.
pub(crate) const ANNOUNCEMENTS: &str = "announce:";
/// So many turns run side by side where the config says nothing.
const CONCURRENT: u32 = 4;

/// The lanes of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkLanes(Arc<LaneParts>);

#[derive(Debug)]
struct LaneParts {
    host: Host,
    agents: RwLock<Arc<Agents>>,
    store: Arc<SqliteRuntimeStore>,
    /// What others put into the inbox past Chela is taken out.
    _guarded: RowsGuarded,
    hub: Arc<EventHub>,
    questions: Arc<QuestionBoard>,
    caller_calls: CallerCalls,
    restart: Arc<RestartDesk>,
    open: OpenConversations,
    running: Mutex<HashMap<String, RunningLane>>,
    waiters: Mutex<HashMap<String, Vec<oneshot::Sender<WorkOutcome>>>>,
    /// Something may have come in, or a lane is free.
    wake: Notify,
    /// A turn begins.
    began: Notify,
    /// A turn has ended.
    ended: Notify,
    /// Something is in the outbox.
    delivery_sent: Notify,
    /// The work of a job or a heartbeat has ended: its outcome is to be put on record.
    timed_ended: Notify,
    /// Conversations with something in the background that is looked after, by their place.
    watched: Mutex<HashSet<usize>>,
    counts: WorkCounts,
    quotas: QuotaTally,
}

/// What was counted since the process began.
#[derive(Debug, Default)]
pub struct WorkCounts {
    pub accepted: AtomicU64,
    pub repeated: AtomicU64,
    pub answered: AtomicU64,
    pub failed: AtomicU64,
    pub dropped: AtomicU64,
    pub steered: AtomicU64,
    pub resumed: AtomicU64,
    /// Answers that reached where they were to go, and those that never will.
    pub delivered: AtomicU64,
    pub undelivered: AtomicU64,
    /// Spans that no collector took in time.
    pub telemetry_dropped: AtomicU64,
    pub running: AtomicUsize,
}

/// A lane whose turn runs.
#[derive(Debug)]
struct RunningLane {
    agent: AgentId,
    claim: WorkClaim,
    source: WorkSource,
    /// Not there while the session is being opened.
    conversation: Option<Arc<Conversation>>,
    /// What was said into the running turn.
    steered: Vec<ClaimedMessage>,
}

/// What became of work that was handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkReceipt {
    /// It is on disk.
    New,
    /// It had come before; what came of it, if that is known yet.
    Known { outcome: Option<WorkOutcome> },
}

/// Why work was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(
        "{waiting} messages wait in this session already, as many as messages.queue.cap allows; try again when it has answered"
    )]
    QueueFull { waiting: u64 },
    #[error("the gateway is shutting down; send it again when it is back")]
    ShuttingDown,
    #[error(transparent)]
    Quota(#[from] QuotaReached),
    #[error("there is no agent `{0}`; `chela agents list` shows them")]
    NoAgent(String),
}

/// Somebody who waits for what comes of a piece of work.
#[derive(Debug)]
pub(crate) struct WorkWaiter {
    lanes: WorkLanes,
    id: String,
    outcome: oneshot::Receiver<WorkOutcome>,
}

impl WorkWaiter {
    /// Once only.
    pub async fn outcome(&mut self) -> WorkOutcome {
        let outcome = (&mut self.outcome).await;
        // Only a process that ends forgets who waits.
        outcome.unwrap_or_else(|_| WorkOutcome::failed("the gateway is shutting down"))
    }
}

impl Drop for WorkWaiter {
    fn drop(&mut self) {
        self.outcome.close();
        let mut waiters = lock(&self.lanes.0.waiters);
        if let Some(of_work) = waiters.get_mut(&self.id) {
            of_work.retain(|waiter| !waiter.is_closed());
            if of_work.is_empty() {
                waiters.remove(&self.id);
            }
        }
    }
}

impl WorkLanes {
    /// The lanes over a store that no other process works on.
    pub async fn open(
        agents: Arc<Agents>,
        store: Arc<SqliteRuntimeStore>,
    ) -> Result<Self, StoreError> {
        let judged = agents.host().clone();
        let may_write = Box::new(move |pid| !may_come_from_command(&judged, pid));
        let guarded = store.guard_rows(may_write).await?;
        let released = store.release_claims().await?;
        if released > 0 {
            tracing::info!(released, "work of a process that died is taken up again");
        }
        let now = agents.host().unix_millis();
        let quotas = QuotaTally::load(&agents.loaded().config.gateway.quotas, &store, now).await?;
        let (hub, questions) = (Arc::<EventHub>::default(), Arc::<QuestionBoard>::default());
        agents.watch_letters(Arc::new(LetterDesk {
            host: agents.host().clone(),
            hub: Arc::clone(&hub),
            questions: Arc::clone(&questions),
        }));
        Ok(Self(Arc::new(LaneParts {
            host: agents.host().clone(),
            agents: RwLock::new(agents),
            store,
            _guarded: guarded,
            hub,
            questions,
            caller_calls: CallerCalls::default(),
            restart: Arc::default(),
            open: OpenConversations::default(),
            running: Mutex::default(),
            waiters: Mutex::default(),
            wake: Notify::new(),
            began: Notify::new(),
            ended: Notify::new(),
            delivery_sent: Notify::new(),
            timed_ended: Notify::new(),
            watched: Mutex::default(),
            counts: WorkCounts::default(),
            quotas,
        })))
    }

    /// Takes work in: when this returns, it is on disk. Whoever asked may go meanwhile, such as a
    /// caller who hangs up: what was begun is brought to its end.
    pub async fn submit(&self, item: WorkItem) -> Result<WorkReceipt, SubmitError> {
        let lanes = self.clone();
        let submitted = tokio::spawn(async move { lanes.submit_whole(item).await });
        match submitted.await {
            Ok(receipt) => receipt,
            Err(error) => {
                tracing::error!(%error, "work was not taken in");
                Err(SubmitError::ShuttingDown)
            }
        }
    }

    async fn submit_whole(&self, item: WorkItem) -> Result<WorkReceipt, SubmitError> {
        let agents = self.agents();
        if !agents.loaded().agents().contains(&item.agent) {
            return Err(SubmitError::NoAgent(item.agent.to_string()));
        }
        let quotas = &agents.loaded().config.gateway.quotas;
        // What came before is not counted again.
        if are_set(quotas)
            && let Some(known) = self.0.store.by_id(&item.id).await?
        {
            return Ok(self.known_receipt(&known));
        }
        let now = self.0.host.unix_millis();
        let message = item.to_message(now)?;
        self.0.quotas.reserve(quotas, &item, now)?;
        let accepted = self.accept_with_room(&item, message).await;
        if !matches!(accepted, Ok(MessageAccepted::New)) {
            self.0.quotas.take_back(&item);
        }
        match accepted? {
            MessageAccepted::Known(known) => Ok(self.known_receipt(&known)),
            MessageAccepted::Full { waiting } => Err(SubmitError::QueueFull { waiting }),
            MessageAccepted::New => {
                self.0.counts.accepted.fetch_add(1, Ordering::Relaxed);
                self.join_running_turn(&item).await?;
                self.look_again();
                Ok(WorkReceipt::New)
            }
        }
    }

    fn known_receipt(&self, known: &InboxMessage) -> WorkReceipt {
        self.0.counts.repeated.fetch_add(1, Ordering::Relaxed);
        tracing::info!(work = known.id, "came again: nothing is done twice");
        let outcome = known.outcome.as_ref();
        WorkReceipt::Known {
            outcome: outcome.map(|outcome| WorkOutcome::read(&outcome.text)),
        }
    }

    /// Something was written into the inbox by other means than [`WorkLanes::submit`].
    pub fn look_again(&self) {
        self.0.wake.notify_one();
    }

    /// The work of a job or a heartbeat ended since this was last waited for.
    pub(crate) async fn timed_work_ended(&self) {
        self.0.timed_ended.notified().await;
    }

    /// Waits for what will come of a piece of work, from before it is handed in.
    pub(crate) fn waiter(&self, id: &str) -> WorkWaiter {
        let (sender, outcome) = oneshot::channel();
        lock(&self.0.waiters)
            .entry(id.to_owned())
            .or_default()
            .push(sender);
        WorkWaiter {
            lanes: self.clone(),
            id: id.to_owned(),
            outcome,
        }
    }

    /// What came of a piece of work, as soon as that is known.
    pub async fn wait_for(&self, id: &str) -> Result<WorkOutcome, StoreError> {
        let mut waiter = self.waiter(id);
        let known = self.0.store.by_id(id).await?;
        match known.and_then(|message| message.outcome) {
            Some(known) => Ok(WorkOutcome::read(&known.text)),
            None => Ok(waiter.outcome().await),
        }
    }

    /// Waits until what was announced by a command stands in its sessions.
    pub(crate) async fn settle_announcements(&self) -> Result<(), StoreError> {
        let waiting = self.0.store.unanswered(None).await?;
        for message in waiting
            .iter()
            .filter(|one| one.id.starts_with(ANNOUNCEMENTS))
        {
            self.wait_for(&message.id).await?;
        }
        Ok(())
    }

    /// Whether a turn of an agent runs now.
    pub fn is_busy(&self, agent: &AgentId) -> bool {
        let running = lock(&self.0.running);
        running.values().any(|lane| lane.agent == *agent)
    }

    /// Whether a turn runs in a lane.
    pub(crate) fn is_running(&self, lane: &str) -> bool {
        lock(&self.0.running).contains_key(lane)
    }

    /// Stops the turn that runs in a session. Says whether one did.
    pub fn stop_turn(&self, lane: &str) -> bool {
        let running = lock(&self.0.running);
        let conversation = running.get(lane).and_then(|lane| lane.conversation.clone());
        drop(running);
        match conversation {
            Some(conversation) => {
                conversation.stop();
                true
            }
            None => false,
        }
    }

    pub fn agents(&self) -> Arc<Agents> {
        let agents = self.0.agents.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&agents)
    }

    pub fn host(&self) -> &Host {
        &self.0.host
    }

    pub fn store(&self) -> &Arc<SqliteRuntimeStore> {
        &self.0.store
    }

    pub fn hub(&self) -> &Arc<EventHub> {
        &self.0.hub
    }

    pub fn questions(&self) -> &Arc<QuestionBoard> {
        &self.0.questions
    }

    /// Calls of the tools of programs.
    pub(crate) fn caller_calls(&self) -> &CallerCalls {
        &self.0.caller_calls
    }

    /// Says something into the turn of a piece of work, if it still runs.
    pub(crate) fn steer_work(&self, work: &str, text: &str) {
        let running = lock(&self.0.running);
        let lane = running.values().find(|lane| lane.claim.name == work);
        if let Some(conversation) = lane.and_then(|lane| lane.conversation.as_ref()) {
            conversation.steer(text);
        }
    }

    /// Told when something is in the outbox.
    pub(crate) fn delivery_sent(&self) -> &Notify {
        &self.0.delivery_sent
    }

    pub fn counts(&self) -> &WorkCounts {
        &self.0.counts
    }

    /// Works with another config from the next turn on. Turns that run go on with theirs; rules and
    /// limits are looked up in the newest one.
    pub(crate) async fn use_config(
        &self,
        loaded: Arc<LoadedConfig>,
        opened: impl FnOnce(&Arc<Agents>),
    ) {
        let next = self.agents().with_config(loaded);
        opened(&next);
        next.scan_skills_beside();
        let quotas = next.loaded().config.gateway.quotas.clone();
        *self
            .0
            .agents
            .write()
            .unwrap_or_else(PoisonError::into_inner) = next;
        let now = self.0.host.unix_millis();
        let followed = self.0.quotas.follow(&quotas, &self.0.store, now).await;
        ok_or_warn!(followed, "what was used before is not counted");
        self.look_again();
    }

    /// The restart desk of the process, for tools that may ask for one.
    pub(crate) fn restart(&self) -> &Arc<RestartDesk> {
        &self.0.restart
    }

    /// How many conversations are in memory.
    pub fn open_count(&self) -> usize {
        self.0.open.count()
    }

    /// Does the work that comes in, until `stopping` says so and nothing runs any more.
    pub async fn run(&self, mut stopping: watch::Receiver<bool>) {
        loop {
            if *stopping.borrow() {
                break;
            }
            let woken = self.0.wake.notified();
            let begun = self.begin_what_waits().await;
            self.tell_of_refused_rows().await;
            self.0
                .open
                .close_idle(self.0.host.unix_millis(), self.idle_millis());
            if let Err(error) = begun {
                tracing::error!(%error, "the inbox cannot be read: trying again");
            }
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                _ = stopping.changed() => {}
            }
        }
        loop {
            let ended = self.0.ended.notified();
            if self.0.counts.running.load(Ordering::SeqCst) == 0 {
                break;
            }
            ended.await;
        }
        // The agents were promised to hear of the ends of their commands.
        for conversation in self.0.open.all() {
            let noted = conversation.note_left_commands().await;
            ok_or_warn!(noted, "commands that end with the process are not told of");
        }
    }

    /// Begins work for as long as some waits and there is room.
    async fn begin_what_waits(&self) -> Result<(), StoreError> {
        loop {
            let running = self.0.counts.running.load(Ordering::SeqCst);
            let room = self.most_at_once().saturating_sub(running);
            if room == 0 {
                return Ok(());
            }
            let claimed = self.0.store.claim_up_to(self.claim_ask(), room).await?;
            let is_all = claimed.len() < room;
            for one in claimed {
                self.0.counts.running.fetch_add(1, Ordering::SeqCst);
                let lanes = self.clone();
                tokio::spawn(async move { lanes.run_and_look(one).await });
            }
            if is_all {
                return Ok(());
            }
        }
    }

    /// Does a piece of work, and has it looked for the next where there may be one.
    async fn run_and_look(&self, claimed: ClaimedMessage) {
        let more = self.run_claimed(claimed).await;
        let running = self.0.counts.running.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.notify_waiters();
        // What came while there was no room was not looked for.
        if more || running >= self.most_at_once() {
            self.look_again();
        }
    }

    fn most_at_once(&self) -> usize {
        let most = self.agents().loaded().config.agents.defaults.max_concurrent;
        usize::try_from(most.unwrap_or(CONCURRENT)).unwrap_or(1)
    }

    fn idle_millis(&self) -> u64 {
        let minutes = self
            .agents()
            .loaded()
            .config
            .gateway
            .conversation_idle_minutes;
        minutes.saturating_mul(60_000)
    }

    fn claim_ask(&self) -> ClaimAsk {
        ClaimAsk {
            worker: std::process::id().to_string(),
            time: LeaseTime {
                now: self.0.host.unix_millis(),
                ttl: CLAIM_MILLIS,
            },
        }
    }
}
