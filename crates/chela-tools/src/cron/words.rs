//! Jobs and runs as an agent reads them.

use chela_clock::{DeliveryMode, JobDelivery, JobRow, RunRow, moment_in_words};
use chela_core::{ContentHash, Origin, Trust};
use chela_guard::{ExternalSource, LabelledText};
use serde_json::json;

use super::CronToolset;
use crate::ToolOutput;

impl CronToolset {
    /// A job that was made or changed, with what is next.
    pub(super) fn told(&self, deed: &str, row: &JobRow) -> ToolOutput {
        let schedule = row.spec.schedule.in_words(&self.zone);
        let next = match row.next.filter(|_| row.enabled) {
            Some(next) => format!(" Next: {}.", moment_in_words(next, &self.zone)),
            None => String::new(),
        };
        let delivery = match &row.spec.delivery {
            Some(delivery) => format!(" Its answers go to {}.", place_of(delivery)),
            None => String::new(),
        };
        let text = format!(
            "{deed} the job `{}` ({}): {schedule}, in {}.{next}{delivery} Jobs run while the gateway does; \
             missed ones: {}.",
            name_of(row),
            row.id,
            row.spec.session.in_words(),
            row.spec.missed.as_str()
        );
        let details = json!({ "job": row.id, "name": row.spec.name, "next": row.next });
        ToolOutput::said(text).with_details(details)
    }

    pub(super) fn list(&self, rows: Vec<JobRow>) -> ToolOutput {
        let rows: Vec<JobRow> = rows
            .into_iter()
            .filter(|row| row.spec.agent == self.agent)
            .collect();
        if rows.is_empty() {
            return ToolOutput::said("There are no jobs.");
        }
        let trust = rows.iter().map(|row| row.spec.made.trust).min();
        let lines: Vec<String> = rows.iter().map(|row| self.line(row)).collect();
        self.labelled(lines.join("\n"), trust.unwrap_or(Trust::Agent))
    }

    /// The runs of jobs. Of one whose words nobody answers for, or that is gone, the name and the
    /// reason are left out: here they would be the runtime's.
    pub(super) fn runs(&self, runs: Vec<RunRow>, jobs: &[JobRow]) -> ToolOutput {
        if runs.is_empty() {
            return ToolOutput::said("Nothing has run yet.");
        }
        let lines: Vec<String> = runs
            .iter()
            .map(|run| {
                let job = jobs.iter().find(|job| job.id == run.job);
                let is_known = job.is_some_and(|job| job.spec.made.trust >= Trust::Agent);
                let why = run.note.why.as_deref().filter(|_| is_known);
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let planned = moment_in_words(run.planned, &self.zone);
                let name = match is_known {
                    true => &run.note.name,
                    false => &run.job,
                };
                format!("- {name} {planned}: {}{why}", run.note.status.as_str())
            })
            .collect();
        ToolOutput::said(lines.join("\n"))
    }

    fn line(&self, row: &JobRow) -> String {
        let state = match (&row.state.end, row.next) {
            (Some(end), _) => end.in_words(),
            (None, Some(next)) => format!("next {}", moment_in_words(next, &self.zone)),
            (None, None) => "under way".to_owned(),
        };
        format!(
            "- {} ({}): {}; {state}; in {}: {}",
            row.spec.name,
            row.id,
            row.spec.schedule.in_words(&self.zone),
            row.spec.session.in_words(),
            row.spec.payload.text()
        )
    }

    /// The words of jobs are those of whoever made them.
    fn labelled(&self, text: String, trust: Trust) -> ToolOutput {
        let origin = Origin::Tool {
            call: "cron list".to_owned(),
            hash: ContentHash::of(&text),
        };
        ToolOutput::of(match trust < Trust::Agent {
            true => {
                let source = ExternalSource::Api {
                    name: "jobs".to_owned(),
                };
                LabelledText::external(&text, &source, origin, self.entropy.as_ref())
            }
            false => LabelledText::local(text, Trust::Agent, origin),
        })
    }
}

/// Where answers go, as an agent reads it.
fn place_of(delivery: &JobDelivery) -> String {
    match (delivery.mode, delivery.channel.as_deref()) {
        (DeliveryMode::None, _) => "nobody: they stay in the conversation of the run".to_owned(),
        (DeliveryMode::Announce, None | Some("owner")) => {
            "the owner's main conversation".to_owned()
        }
        (DeliveryMode::Announce, Some("last")) => {
            "the conversation the owner spoke in last".to_owned()
        }
        _ => delivery.in_words(),
    }
}

/// What a job is called where nothing says whose words that is.
pub(super) fn name_of(row: &JobRow) -> &str {
    match row.spec.made.trust >= Trust::Agent {
        true => &row.spec.name,
        false => &row.id,
    }
}
