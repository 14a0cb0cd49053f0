//! What somebody wants run now: by the gateway where one runs, else in this process.

use std::sync::Arc;
use std::time::Duration;

use chela_agent::prelude::{AgentId, Agents, Host, LoadedConfig};
use chela_clock::{BeatAsk, BeatSkip, BeatState, BeatVerdict, JobClock};
use chela_core::ok_or_warn;
use chela_store::{InboxStore as _, JobStore as _, SqliteRuntimeStore, StoreError};
use tokio::sync::watch;

use super::beat_settings::{beat_settings, owner_zone};
use super::beats::{AgentBeat, beat_id, read_state};
use super::job_work::{JobWork, clock_settings};
use crate::delivery::{DeliveryCarriers, DeliveryDesk};
use crate::instance::{InstanceError, InstanceLock, RunningGateway};
use crate::lanes::WorkLanes;
use crate::work_item::{EncodeError, WorkItem, WorkOutcome};

/// What came of a run, and who did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandRun {
    pub outcome: WorkOutcome,
    pub by: RunPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPlace {
    Gateway,
    Here,
}

#[derive(Debug, thiserror::Error)]
pub enum HandRunError {
    #[error("it cannot be run: {0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Prompt(#[from] chela_agent::assemble::AssembleError),
}

/// Runs a job once, now, whether it is switched on or not, and waits for what comes of it.
pub async fn run_job_by_hand(
    host: &Host,
    loaded: &Arc<LoadedConfig>,
    job: &str,
) -> Result<HandRun, HandRunError> {
    let store = open_store(host)?;
    let form = JobWork::new(host.clone(), Arc::clone(loaded));
    let clock = JobClock::new(store.clone(), Arc::new(form), clock_settings(loaded));
    let begin = async {
        let begun = clock.run_now(job, host.unix_millis()).await?;
        begun.map_err(HandRunError::Refused)
    };
    let ran = work_once(host, loaded, &store, begin).await?;
    // What came of it is on record before anybody is told.
    clock.settle_job(job, host.unix_millis()).await?;
    Ok(ran)
}

/// Whether the checks before a heartbeat count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeatChecks {
    Count,
    Ignored,
}

/// What came of a beat somebody wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandBeat {
    Ran(HandRun),
    /// No model was asked.
    Skipped(BeatSkip),
}

/// One heartbeat, now. It moves nothing: the next one comes when it was planned.
pub async fn run_beat_by_hand(
    host: &Host,
    loaded: &Arc<LoadedConfig>,
    agent: &AgentId,
    checks: BeatChecks,
) -> Result<HandBeat, HandRunError> {
    let store = open_store(host)?;
    let agents = Agents::open(host, Arc::clone(loaded));
    let view = loaded.agent(agent);
    let view = view.ok_or_else(|| HandRunError::Refused(format!("there is no agent `{agent}`")))?;
    let settings = beat_settings(&view).ok_or_else(|| {
        HandRunError::Refused(format!(
            "heartbeats of `{agent}` are off; `chela config set agents.defaults.heartbeat.every 30m` turns them on"
        ))
    })?;
    let now = host.unix_millis();
    let beat = AgentBeat {
        agents: &agents,
        store: store.as_ref(),
        zone: owner_zone(&agents, &view),
        view: &view,
        settings,
        now,
    };
    let known = store.job(&beat_id(agent)).await?;
    let state = known.as_ref().map(read_state).unwrap_or_default();
    let state = BeatState {
        asked: None,
        ..state
    };
    let ask = match (beat.judge(&state, false).await, checks) {
        (BeatVerdict::Ask(ask), _) => ask,
        (BeatVerdict::Skip(skip), BeatChecks::Count) => return Ok(HandBeat::Skipped(skip)),
        (BeatVerdict::Skip(_), BeatChecks::Ignored) => BeatAsk::default(),
    };
    let item: WorkItem = beat.item(&ask, format!("heartbeat:{agent}:hand:{now}"))?;
    let begin = async {
        store.accept(item.to_message(now)?).await?;
        Ok(item.id.clone())
    };
    let ran = work_once(host, loaded, &store, begin).await?;
    Ok(HandBeat::Ran(ran))
}

fn open_store(host: &Host) -> Result<Arc<SqliteRuntimeStore>, StoreError> {
    let path = SqliteRuntimeStore::path_in(&host.state_dir());
    Ok(Arc::new(SqliteRuntimeStore::open(&path)?))
}

/// Puts work into the inbox and sees it done.
async fn work_once(
    host: &Host,
    loaded: &Arc<LoadedConfig>,
    store: &Arc<SqliteRuntimeStore>,
    begin: impl Future<Output = Result<String, HandRunError>>,
) -> Result<HandRun, HandRunError> {
    if RunningGateway::find(host).is_some() {
        let id = begin.await?;
        return Ok(HandRun {
            outcome: wait_for_outcome(host, store, &id).await?,
            by: RunPlace::Gateway,
        });
    }
    // Nobody else may work on the inbox meanwhile.
    let _instance = InstanceLock::take(host)?;
    let agents = Agents::open(host, Arc::clone(loaded));
    let lanes = WorkLanes::open(agents, Arc::clone(store)).await?;
    let id = begin.await?;
    let (stop, stopping) = watch::channel(false);
    let working = {
        let lanes = lanes.clone();
        tokio::spawn(async move { lanes.run(stopping).await })
    };
    let outcome = lanes.wait_for(&id).await?;
    // Its answer goes where it is wanted; what does not work now is tried by the next gateway.
    let desk = DeliveryDesk::new(lanes.clone(), DeliveryCarriers::usual(&lanes));
    let due = desk.deliver_due().await;
    ok_or_warn!(due, "what is to be delivered waits for the gateway");
    lanes.settle_announcements().await?;
    stop.send_replace(true);
    if let Err(error) = working.await {
        tracing::warn!(%error, "the lanes did not end in order");
    }
    Ok(HandRun {
        outcome,
        by: RunPlace::Here,
    })
}

/// Waits for what a gateway makes of a message, for as long as there is one.
async fn wait_for_outcome(
    host: &Host,
    store: &SqliteRuntimeStore,
    id: &str,
) -> Result<WorkOutcome, HandRunError> {
    loop {
        let known = store.by_id(id).await?;
        if let Some(outcome) = known.and_then(|message| message.outcome) {
            return Ok(WorkOutcome::read(&outcome.text));
        }
        if RunningGateway::find(host).is_none() {
            let why = "the gateway ended meanwhile; it is done when the gateway runs again";
            return Err(HandRunError::Refused(why.to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
