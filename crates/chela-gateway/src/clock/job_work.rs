//! A job that is due, as work for the lanes.

use std::sync::Arc;

use chela_agent::prelude::{ExternalSource, ExternalText, Host, LoadedConfig, Trust};
use chela_clock::{
    ClockSettings, DueWork, LocalZone, RunOutcome, RunStatus, WorkForm, reminder_text,
};
use chela_store::NewMessage;

use crate::delivery::target_of_job;
use crate::work_item::{WorkItem, WorkOptions, WorkOutcome, WorkSource, WorkStatus};

/// Makes work of jobs, with the agents there are.
#[derive(Debug)]
pub struct JobWork {
    host: Host,
    loaded: Arc<LoadedConfig>,
}

impl JobWork {
    pub fn new(host: Host, loaded: Arc<LoadedConfig>) -> Self {
        Self { host, loaded }
    }

    /// The work of a run.
    pub fn item(&self, due: &DueWork<'_>) -> Result<WorkItem, String> {
        let spec = due.spec;
        let view = self.loaded.agent(&spec.agent);
        let view = view.ok_or_else(|| format!("there is no agent `{}` any more", spec.agent))?;
        let zone = LocalZone::first_of([
            view.user_timezone.value.as_deref(),
            self.host.facts.time_zone.as_deref(),
        ]);
        let text = reminder_text(spec, due.planned, due.now, &zone);
        let settled = spec.settled_delivery();
        let delivery = target_of_job(&spec.agent, &settled).map_err(|error| error.to_string())?;
        let external = text.foreign.map(|text| ExternalText {
            source: ExternalSource::Api {
                name: format!("job {}", spec.name),
            },
            text,
        });
        Ok(WorkItem {
            id: due.message.to_owned(),
            agent: spec.agent.clone(),
            session: spec.session.key(&spec.agent, due.job, due.planned),
            source: WorkSource::Cron {
                job: spec.name.clone(),
            },
            text: text.told,
            external: external.into_iter().collect(),
            images: Vec::new(),
            delivery,
            options: WorkOptions {
                model: spec.model.clone(),
                timeout_seconds: spec.timeout_seconds,
                best_effort: settled.best_effort,
                ..WorkOptions::default()
            },
            // What the agent wrote names nothing, in a job of the owner's that it changed either; what
            // the owner wrote is the owner's.
            text_trust: (!spec.has_owners_words()).then_some(Trust::Agent),
        })
    }
}

impl WorkForm for JobWork {
    fn message(&self, due: &DueWork<'_>) -> Result<NewMessage, String> {
        let message = self.item(due)?.to_message(due.now);
        message.map_err(|error| error.to_string())
    }

    fn outcome(&self, text: &str) -> RunOutcome {
        let outcome = WorkOutcome::read(text);
        RunOutcome {
            status: match outcome.status {
                WorkStatus::Answered => RunStatus::Ok,
                WorkStatus::Silent => RunStatus::Silent,
                WorkStatus::Stopped => RunStatus::Stopped,
                WorkStatus::Failed | WorkStatus::Dropped => RunStatus::Failed,
            },
            why: outcome.error,
            reply: outcome.reply,
            model: outcome.model,
            input_tokens: outcome.input_tokens,
            output_tokens: outcome.output_tokens,
            micro_dollars: outcome.micro_dollars,
        }
    }
}

/// How often what failed is tried again, as the config says.
pub fn clock_settings(loaded: &LoadedConfig) -> ClockSettings {
    let retry = &loaded.config.cron.retry;
    let usual = ClockSettings::default();
    ClockSettings {
        retries: retry.max_attempts.unwrap_or(usual.retries),
        pauses: match retry.backoff_ms.is_empty() {
            true => usual.pauses,
            false => retry.backoff_ms.clone(),
        },
        most_failures: usual.most_failures,
    }
}

#[cfg(test)]
mod tests {
    use chela_agent::prelude::{AgentId, load_text};
    use chela_clock::{
        JobMaker, JobOrigin, JobPayload, JobSchedule, JobSpec, MissedPolicy, SessionTarget,
    };

    use super::*;

    fn item(by: JobMaker, trust: Trust) -> WorkItem {
        let host = Host::fixed("/nowhere");
        let form = JobWork::new(host.clone(), Arc::new(load_text(&host, "{}")));
        let spec = JobSpec {
            name: "tea".to_owned(),
            agent: AgentId::main(),
            schedule: JobSchedule::At { at: 1_000 },
            session: SessionTarget::Isolated,
            payload: JobPayload::Message {
                text: "Mail it to ann@example.org".to_owned(),
            },
            model: None,
            timeout_seconds: None,
            missed: MissedPolicy::Once,
            grace: 0,
            retries: None,
            delivery: None,
            made: JobOrigin {
                by,
                at: 0,
                session: None,
                trust,
                context: Vec::new(),
            },
        };
        let due = DueWork {
            job: "3f2a",
            spec: &spec,
            planned: 1_000,
            now: 1_000,
            message: "cron:3f2a:1000",
        };
        form.item(&due).unwrap()
    }

    #[test]
    fn the_words_of_a_job_are_trusted_as_far_as_whoever_made_it() {
        let owner = item(JobMaker::Owner, Trust::Operator);
        assert!(owner.text.contains("ann@example.org") && owner.external.is_empty());
        assert_eq!(owner.text_trust, None);
        let agent = item(JobMaker::Agent, Trust::Agent);
        assert!(agent.text.contains("ann@example.org"));
        assert_eq!(agent.text_trust, Some(Trust::Agent));
        let changed = item(JobMaker::Owner, Trust::Agent);
        assert_eq!(changed.text_trust, Some(Trust::Agent));
        let foreign = item(JobMaker::Agent, Trust::External);
        assert!(
            !foreign.text.contains("ann@example.org"),
            "{}",
            foreign.text
        );
        assert!(foreign.external[0].text.contains("ann@example.org"));
        assert_eq!(foreign.session.to_string(), "agent:main:cron:3f2a:1000");
    }
}
