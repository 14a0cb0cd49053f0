//! The clock of the process: jobs and heartbeats become work for the lanes when they are due.
//!
//! When something is due, and what was decided about it, is `chela-clock`'s business and on disk;
//! here it becomes a [`crate::WorkItem`], and time is looked at.

mod beat_settings;
mod beats;
mod boot;
mod by_hand;
mod job_work;

use std::sync::Arc;
use std::time::Duration;

use chela_clock::{JobBook, JobClock};
use chela_core::ok_or_warn;
use chela_store::{JobStore as _, StoreError};
use tokio::sync::watch;

use crate::lanes::WorkLanes;

pub use beat_settings::{beat_settings, owner_zone};
pub use beats::{AgentBeat, beat_id, read_state};
pub use by_hand::{
    BeatChecks, HandBeat, HandRun, HandRunError, RunPlace, run_beat_by_hand, run_job_by_hand,
};
pub use job_work::{JobWork, clock_settings};

/// The longest the clock sleeps: a job that another process made, or a clock that was set, is
/// noticed after this at the latest.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How often old runs are forgotten.
const FORGET_EVERY: u64 = 3_600_000;

/// Looks at the clock until the process ends.
pub async fn run_clock(lanes: WorkLanes, mut shutdown: watch::Receiver<bool>) {
    let mut forgotten = 0;
    boot::ask_to_boot(&lanes).await;
    while !*shutdown.borrow() {
        let now = lanes.host().unix_millis();
        let agents = lanes.agents();
        if agents.loaded().config.cron.enabled {
            ok_or_warn!(tick(&lanes, now).await, "the jobs cannot be read");
        }
        if now.saturating_sub(forgotten) > FORGET_EVERY {
            forgotten = now;
            forget_old_runs(&lanes, now).await;
        }
        let sleep = sleep_until_due(&lanes).await;
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// One look: what is due is in the inbox afterwards.
async fn tick(lanes: &WorkLanes, now: u64) -> Result<(), StoreError> {
    let clock = job_clock(lanes);
    let report = clock.tick(now).await?;
    let beats = beats::tick_beats(lanes, now).await?;
    if report.sent + beats > 0 {
        tracing::info!(jobs = report.sent, beats, "work is due");
        lanes.look_again();
    }
    for job in &report.given_up {
        tracing::warn!(job, "a job failed too often and was switched off");
    }
    Ok(())
}

fn job_clock(lanes: &WorkLanes) -> JobClock {
    let agents = lanes.agents();
    let settings = clock_settings(agents.loaded());
    let form = JobWork::new(lanes.host().clone(), Arc::clone(agents.loaded()));
    JobClock::new(lanes.store().clone(), Arc::new(form), settings)
}

async fn sleep_until_due(lanes: &WorkLanes) -> Duration {
    let next = ok_or_warn!(lanes.store().next_due().await, "what is due is not known");
    let now = lanes.host().unix_millis();
    let until = next.flatten().map(|next| next.saturating_sub(now));
    // What is overdue and was not sent is being looked at: not again at once.
    let until = until.filter(|until| *until > 0).unwrap_or(u64::MAX);
    Duration::from_millis(until).min(LONGEST_SLEEP)
}

async fn forget_old_runs(lanes: &WorkLanes, now: u64) {
    let store = lanes.store().clone();
    let work = move || JobBook::new(store).forget_old_runs(now);
    match tokio::task::spawn_blocking(work).await {
        Ok(forgotten) => {
            ok_or_warn!(forgotten, "old runs stay on record");
        }
        Err(error) => tracing::warn!(%error, "old runs stay on record"),
    }
}
