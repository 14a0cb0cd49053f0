//! Moves jobs on: what came of runs, what is tried again, what is due. Each decision is one
//! transaction, so whoever dies between two of them has done the first and not the second.

mod clock_job;

use std::collections::BTreeMap;
use std::sync::Arc;

use chela_store::{
    JobAdvance, JobChanged, JobStore, MessageOutcome, MessageStanding, NewMessage,
    OccurrenceChange, OccurrenceStep, OpenOccurrence, StoreError,
};

use crate::UnixMillis;
use crate::job::{JobEnd, LastRun};
use crate::plan::{DueAsk, SkipReason, plan_due};
use crate::run_note::{RunNote, RunStatus};
use crate::work_form::{ClockSettings, DueWork, WorkForm};
pub(crate) use clock_job::ClockJob;

/// A clock that shows this much less than it did was set back.
const SET_BACK: u64 = 5 * 60_000;
/// The most of an answer that the record keeps.
const MOST_REPLY: usize = 2_000;

/// What one look at the clock led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TickReport {
    /// Messages that were put into the inbox.
    pub sent: usize,
    /// Jobs of which word is due: they were switched off.
    pub given_up: Vec<String>,
}

/// Moves jobs on.
#[derive(Clone)]
pub struct JobClock {
    store: Arc<dyn JobStore>,
    form: Arc<dyn WorkForm>,
    settings: ClockSettings,
}

impl std::fmt::Debug for JobClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobClock")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl JobClock {
    pub fn new(store: Arc<dyn JobStore>, form: Arc<dyn WorkForm>, settings: ClockSettings) -> Self {
        Self {
            store,
            form,
            settings,
        }
    }

    /// Everything that is to be decided at this moment.
    pub async fn tick(&self, now: UnixMillis) -> Result<TickReport, StoreError> {
        let mut report = TickReport::default();
        let mut jobs = self.jobs().await?;
        let open = self.store.open_occurrences().await?;
        for one in &open {
            if let Some(job) = jobs.get_mut(&one.record.job) {
                self.look_at_open(job, one, now, &mut report).await?;
            }
        }
        for job in jobs.values_mut() {
            self.mend_clock(job, now).await?;
            let is_due = job.record.plan.next.is_some_and(|next| next <= now);
            if job.record.plan.enabled && is_due {
                let runs_on = open.iter().any(|one| {
                    one.record.job == job.record.plan.id && one.message == MessageStanding::Waits
                });
                self.fire(job, now, runs_on, &mut report).await?;
            }
            if job.state.end == Some(JobEnd::Done) {
                let id = job.record.plan.id.clone();
                self.store
                    .remove(&id, removed_note(&job.spec.name, now))
                    .await?;
            }
        }
        Ok(report)
    }

    /// Puts on record what came of the runs of a job that have ended.
    pub async fn settle_job(&self, id: &str, now: UnixMillis) -> Result<(), StoreError> {
        let Some(mut job) = self.store.job(id).await?.and_then(ClockJob::read) else {
            return Ok(());
        };
        let mut report = TickReport::default();
        let open = self.store.open_occurrences().await?;
        for one in open.iter().filter(|one| one.record.job == id) {
            if matches!(one.message, MessageStanding::Finished(_)) {
                self.look_at_open(&mut job, one, now, &mut report).await?;
            }
        }
        Ok(())
    }

    /// A run that nobody planned: now, whether the job is switched on or not. Gives the id of its
    /// message, `None` when there is no such job.
    pub async fn run_now(
        &self,
        id: &str,
        now: UnixMillis,
    ) -> Result<Result<String, String>, StoreError> {
        for _ in 0..8 {
            let Some(record) = self.store.job(id).await? else {
                return Ok(Err(format!("there is no job {id}")));
            };
            let Some(mut job) = ClockJob::read(record) else {
                return Ok(Err(format!("job {id} cannot be read")));
            };
            let message = message_id(id, now, 1);
            let note = RunNote {
                by_hand: true,
                ..RunNote::new(&job.spec.name, RunStatus::Running)
            };
            let made = match self.message(&job, now, now, &message) {
                Ok(made) => made,
                Err(why) => return Ok(Err(why)),
            };
            let change = OccurrenceChange::Send {
                message: made,
                note: note.to_text(),
            };
            let step = OccurrenceStep {
                planned: now,
                at: now,
                change,
            };
            if self.advance(&mut job, vec![step]).await? == JobChanged::Changed {
                return Ok(Ok(message));
            }
        }
        Ok(Err(format!("job {id} is being changed by someone else")))
    }

    async fn jobs(&self) -> Result<BTreeMap<String, ClockJob>, StoreError> {
        let records = self.store.list().await?;
        let read = records.into_iter().filter_map(ClockJob::read);
        Ok(read.map(|job| (job.record.plan.id.clone(), job)).collect())
    }

    /// A clock that was set back would have every job wait until it has caught up: what is next
    /// follows from what the clock shows now. Moments that were worked on are on record and are
    /// not worked on again.
    async fn mend_clock(&self, job: &mut ClockJob, now: UnixMillis) -> Result<(), StoreError> {
        let is_set_back = job.state.planned_at > now.saturating_add(SET_BACK);
        if !is_set_back || job.spec.schedule.is_once() {
            return Ok(());
        }
        tracing::warn!(job = job.spec.name, "the clock was set back: planned again");
        job.record.plan.next = job.spec.schedule.next_after(now);
        job.state.planned_at = now;
        self.advance(job, Vec::new()).await.map(drop)
    }

    async fn fire(
        &self,
        job: &mut ClockJob,
        now: UnixMillis,
        runs_on: bool,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        let Some(planned) = job.record.plan.next else {
            return Ok(());
        };
        let plan = plan_due(DueAsk {
            schedule: &job.spec.schedule,
            planned,
            missed: job.spec.missed,
            grace: job.spec.grace,
            now,
        });
        let mut steps = Vec::new();
        for (moment, reason) in &plan.skipped {
            steps.push(job.skip(*moment, *reason, now));
        }
        let mut sent = 0;
        for moment in &plan.send {
            if runs_on {
                steps.push(job.skip(*moment, SkipReason::Busy, now));
                continue;
            }
            match self.message(
                job,
                *moment,
                now,
                &message_id(&job.record.plan.id, *moment, 1),
            ) {
                Ok(message) => {
                    sent += 1;
                    let note = RunNote::new(&job.spec.name, RunStatus::Running).to_text();
                    steps.push(OccurrenceStep {
                        planned: *moment,
                        at: now,
                        change: OccurrenceChange::Send { message, note },
                    });
                }
                Err(why) => {
                    tracing::warn!(job = job.spec.name, why, "a job cannot be run");
                    let note = RunNote {
                        why: Some(why.clone()),
                        ..RunNote::new(&job.spec.name, RunStatus::Failed)
                    };
                    job.count_failure(*moment, now, Some(why), &self.settings);
                    steps.push(job.end(*moment, now, &note));
                }
            }
        }
        job.record.plan.next = plan.next;
        job.state.planned_at = now;
        if plan.next.is_none() && sent == 0 && job.state.end.is_none() {
            job.state.end = Some(JobEnd::MissedOnce);
        }
        if let Some((moment, reason)) = plan.skipped.last()
            && sent == 0
        {
            job.state.last = Some(LastRun {
                planned: *moment,
                at: now,
                status: RunStatus::Skipped,
                why: Some(reason.in_words().to_owned()),
            });
        }
        if job.state.end.is_some() {
            job.record.plan.enabled = false;
        }
        if self.advance(job, steps).await? == JobChanged::Changed {
            report.sent += sent;
        }
        Ok(())
    }

    /// An occurrence that is not over: did it end, is it to be tried again?
    async fn look_at_open(
        &self,
        job: &mut ClockJob,
        one: &OpenOccurrence,
        now: UnixMillis,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        let planned = one.record.planned;
        match &one.message {
            MessageStanding::Waits => Ok(()),
            MessageStanding::None if one.record.due.is_none_or(|due| due > now) => Ok(()),
            MessageStanding::None => {
                let id = message_id(&one.record.job, planned, one.record.tries + 1);
                let step = match self.message(job, planned, now, &id) {
                    Ok(message) => OccurrenceStep {
                        planned,
                        at: now,
                        change: OccurrenceChange::Send {
                            message,
                            note: one.record.note.clone(),
                        },
                    },
                    Err(why) => {
                        let note = RunNote {
                            why: Some(why),
                            status: RunStatus::Failed,
                            ..RunNote::read(&one.record.note)
                        };
                        job.end(planned, now, &note)
                    }
                };
                let is_sent = matches!(step.change, OccurrenceChange::Send { .. });
                let changed = self.advance(job, vec![step]).await?;
                report.sent += usize::from(is_sent && changed == JobChanged::Changed);
                Ok(())
            }
            MessageStanding::Forgotten => {
                let note = RunNote {
                    status: RunStatus::Lost,
                    why: Some("nobody knows what came of it".to_owned()),
                    ..RunNote::read(&one.record.note)
                };
                let step = job.end(planned, now, &note);
                self.advance(job, vec![step]).await.map(drop)
            }
            MessageStanding::Finished(outcome) => self.settle(job, one, outcome, report).await,
        }
    }

    async fn settle(
        &self,
        job: &mut ClockJob,
        one: &OpenOccurrence,
        outcome: &MessageOutcome,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        let ended = self.form.outcome(&outcome.text);
        let planned = one.record.planned;
        let before = RunNote::read(&one.record.note);
        let note = RunNote {
            status: ended.status,
            why: ended.why.clone(),
            reply: ended.reply.chars().take(MOST_REPLY).collect(),
            session: Some(job.session_of(planned)),
            model: ended.model.clone(),
            input_tokens: before.input_tokens + ended.input_tokens,
            output_tokens: before.output_tokens + ended.output_tokens,
            micro_dollars: sum(before.micro_dollars, ended.micro_dollars),
            ..before
        };
        let retries = job.spec.retries.unwrap_or(self.settings.retries);
        let tries = u32::try_from(one.record.tries).unwrap_or(u32::MAX);
        if ended.status == RunStatus::Failed && tries <= retries {
            let at = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
            let pause = self.settings.pauses.get(at).or(self.settings.pauses.last());
            let step = OccurrenceStep {
                planned,
                at: outcome.at,
                change: OccurrenceChange::Again {
                    due: outcome.at.saturating_add(pause.copied().unwrap_or(60_000)),
                    note: RunNote {
                        status: RunStatus::Retrying,
                        ..note
                    }
                    .to_text(),
                },
            };
            return self.advance(job, vec![step]).await.map(drop);
        }
        job.state.runs += 1;
        match ended.status {
            RunStatus::Failed => {
                job.count_failure(planned, outcome.at, ended.why, &self.settings);
            }
            status => {
                job.state.failures = 0;
                job.state.last = Some(LastRun {
                    planned,
                    at: outcome.at,
                    status,
                    why: ended.why,
                });
                if job.spec.schedule.is_once() && !note.by_hand {
                    job.state.end = Some(JobEnd::Done);
                }
            }
        }
        if job.state.end.is_some() && job.record.plan.enabled {
            job.record.plan.enabled = false;
            if matches!(job.state.end, Some(JobEnd::FailedTooOften { .. })) {
                report.given_up.push(job.spec.name.clone());
            }
        }
        let step = job.end(planned, outcome.at, &note);
        self.advance(job, vec![step]).await.map(drop)
    }

    fn message(
        &self,
        job: &ClockJob,
        planned: UnixMillis,
        now: UnixMillis,
        id: &str,
    ) -> Result<NewMessage, String> {
        self.form.message(&DueWork {
            job: &job.record.plan.id,
            spec: &job.spec,
            planned,
            now,
            message: id,
        })
    }

    /// Writes a decision down. One that was made about a job as it no longer is counts for
    /// nothing: the next look decides anew.
    async fn advance(
        &self,
        job: &mut ClockJob,
        steps: Vec<OccurrenceStep>,
    ) -> Result<JobChanged, StoreError> {
        let plan = &job.record.plan;
        let changed = self
            .store
            .advance(JobAdvance {
                id: plan.id.clone(),
                revision: job.record.revision,
                next: plan.next,
                enabled: plan.enabled,
                state: serde_json::to_string(&job.state)?,
                steps,
            })
            .await?;
        match changed {
            JobChanged::Changed => job.record.revision += 1,
            JobChanged::Outdated => {
                tracing::debug!(job = job.spec.name, "someone else changed the job");
                job.record.plan.next = None;
            }
        }
        Ok(changed)
    }
}

fn message_id(job: &str, planned: UnixMillis, tries: u64) -> String {
    match tries {
        0 | 1 => format!("cron:{job}:{planned}"),
        tries => format!("cron:{job}:{planned}:{tries}"),
    }
}

pub(crate) fn removed_note(name: &str, now: UnixMillis) -> MessageOutcome {
    MessageOutcome {
        text: RunNote::new(name, RunStatus::Removed).to_text(),
        at: now,
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests;
