//! A job that somebody wants run now: by the gateway where one runs, else in this process.

use std::sync::Arc;
use std::time::Duration;

use chela_agent::prelude::{Agents, Host, LoadedConfig};
use chela_clock::JobClock;
use chela_store::{InboxStore as _, SqliteRuntimeStore, StoreError};
use tokio::sync::watch;

use super::job_work::{JobWork, clock_settings};
use crate::instance::{InstanceError, InstanceLock, RunningGateway};
use crate::lanes::WorkLanes;
use crate::work_item::WorkOutcome;

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
    #[error("the job cannot be run: {0}")]
    Job(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// Runs a job once, now, whether it is switched on or not, and waits for what comes of it.
pub async fn run_job_by_hand(
    host: &Host,
    loaded: &Arc<LoadedConfig>,
    job: &str,
) -> Result<HandRun, HandRunError> {
    let path = SqliteRuntimeStore::path_in(&host.state_dir());
    let store = Arc::new(SqliteRuntimeStore::open(&path)?);
    let form = JobWork::new(host.clone(), Arc::clone(loaded));
    let clock = JobClock::new(store.clone(), Arc::new(form), clock_settings(loaded));
    let begin = async || -> Result<String, HandRunError> {
        let begun = clock.run_now(job, host.unix_millis()).await?;
        begun.map_err(HandRunError::Job)
    };
    if RunningGateway::find(host).is_some() {
        let id = begin().await?;
        let outcome = wait_for_outcome(host, &store, &id).await?;
        return Ok(HandRun {
            outcome,
            by: RunPlace::Gateway,
        });
    }
    // Nobody else may work on the inbox meanwhile.
    let _instance = InstanceLock::take(host)?;
    let lanes = WorkLanes::open(Agents::open(host, Arc::clone(loaded)), store).await?;
    let id = begin().await?;
    let (stop, stopping) = watch::channel(false);
    let working = {
        let lanes = lanes.clone();
        tokio::spawn(async move { lanes.run(stopping).await })
    };
    let outcome = lanes.wait_for(&id).await?;
    stop.send_replace(true);
    if let Err(error) = working.await {
        tracing::warn!(%error, "the lanes did not end in order");
    }
    // What came of it goes on record now: no clock runs here.
    clock.tick(host.unix_millis()).await?;
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
            return Err(HandRunError::Job(why.to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
