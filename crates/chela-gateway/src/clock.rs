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
    boot::ask_to_boot(&lanes).await;
    let mut clock = GatewayClock::new(lanes);
    while !*shutdown.borrow() {
        let due = clock.look().await;
        let now = clock.lanes.host().unix_millis();
        // What is overdue and was not sent is being looked at: not again at once.
        let until = due.map(|due| due.saturating_sub(now));
        let until = until.filter(|until| *until > 0).unwrap_or(u64::MAX);
        let sleep = Duration::from_millis(until).min(LONGEST_SLEEP);
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = clock.lanes.timed_work_ended() => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// The clock over the lanes. It is told the time by their `Host`, and never sleeps by itself.
#[derive(Debug)]
pub struct GatewayClock {
    lanes: WorkLanes,
    forgotten: u64,
}

impl GatewayClock {
    pub fn new(lanes: WorkLanes) -> Self {
        Self {
            lanes,
            forgotten: 0,
        }
    }

    /// One look at jobs and heartbeats: what came of runs is on record afterwards, what is due is
    /// in the inbox. Says when something is due next.
    pub async fn look(&mut self) -> Option<u64> {
        let now = self.lanes.host().unix_millis();
        let agents = self.lanes.agents();
        if agents.loaded().config.cron.enabled {
            ok_or_warn!(tick(&self.lanes, now).await, "the jobs cannot be read");
        }
        // Also where nobody says anything for long: that is when notes are written.
        agents.keep_house();
        if now.saturating_sub(self.forgotten) > FORGET_EVERY {
            self.forgotten = now;
            forget_old_runs(&self.lanes, now).await;
        }
        let next = self.lanes.store().next_due().await;
        ok_or_warn!(next, "what is due is not known").flatten()
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
