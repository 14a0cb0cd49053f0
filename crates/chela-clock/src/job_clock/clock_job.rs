//! A job in the hands of the clock.

use chela_core::ok_or_warn;
use chela_store::{JobRecord, OccurrenceChange, OccurrenceStep};

use crate::UnixMillis;
use crate::job::{JobEnd, JobSpec, JobState, LastRun};
use crate::plan::SkipReason;
use crate::run_note::{RunNote, RunStatus};
use crate::work_form::ClockSettings;

/// A job as it was read, and as it is to be.
pub(crate) struct ClockJob {
    pub(crate) record: JobRecord,
    pub(crate) spec: JobSpec,
    pub(crate) state: JobState,
}

impl ClockJob {
    /// `None` for what is no job of this form.
    pub(crate) fn read(record: JobRecord) -> Option<Self> {
        // Heartbeats are jobs of another form.
        if record.plan.id.contains(':') {
            return None;
        }
        let spec = serde_json::from_str(&record.plan.spec);
        let job = &record.plan.id;
        let spec = ok_or_warn!(spec, "a job cannot be read", job)?;
        let state = serde_json::from_str(&record.plan.state);
        let state = ok_or_warn!(state, "what is known of a job cannot be read", job);
        Some(Self {
            spec,
            state: state.unwrap_or_default(),
            record,
        })
    }

    pub(super) fn session_of(&self, planned: UnixMillis) -> String {
        let (spec, id) = (&self.spec, &self.record.plan.id);
        spec.session.key(&spec.agent, id, planned).to_string()
    }

    pub(super) fn end(
        &self,
        planned: UnixMillis,
        at: UnixMillis,
        note: &RunNote,
    ) -> OccurrenceStep {
        OccurrenceStep {
            planned,
            at,
            change: OccurrenceChange::End {
                note: note.to_text(),
            },
        }
    }

    pub(super) fn skip(
        &self,
        planned: UnixMillis,
        reason: SkipReason,
        at: UnixMillis,
    ) -> OccurrenceStep {
        let note = RunNote {
            why: Some(reason.in_words().to_owned()),
            ..RunNote::new(&self.spec.name, RunStatus::Skipped)
        };
        self.end(planned, at, &note)
    }

    pub(super) fn count_failure(
        &mut self,
        planned: UnixMillis,
        at: UnixMillis,
        why: Option<String>,
        settings: &ClockSettings,
    ) {
        self.state.failures = self.state.failures.saturating_add(1);
        self.state.last = Some(LastRun {
            planned,
            at,
            status: RunStatus::Failed,
            why,
        });
        let failures = self.state.failures;
        if self.spec.schedule.is_once() {
            self.state.end = Some(JobEnd::FailedOnce);
        } else if failures >= settings.most_failures {
            self.state.end = Some(JobEnd::FailedTooOften { failures });
        }
    }
}
