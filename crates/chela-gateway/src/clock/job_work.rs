//! A job that is due, as work for the lanes.

use std::sync::Arc;

use chela_agent::prelude::{ExternalSource, ExternalText, Host, LoadedConfig, SessionKey, Trust};
use chela_clock::{
    ClockSettings, DueWork, JobDelivery, JobMaker, LocalZone, RunOutcome, RunStatus, WorkForm,
    reminder_text,
};
use chela_store::NewMessage;

use crate::work_item::{
    DeliveryTarget, WorkItem, WorkOptions, WorkOutcome, WorkSource, WorkStatus,
};

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
            delivery: delivery_of(&spec.delivery),
            options: WorkOptions {
                model: spec.model.clone(),
                timeout_seconds: spec.timeout_seconds,
                ..WorkOptions::default()
            },
            // What the agent wrote names nothing; what the owner wrote is the owner's.
            text_trust: (spec.made.by == JobMaker::Agent).then_some(Trust::Agent),
        })
    }
}

fn delivery_of(delivery: &JobDelivery) -> DeliveryTarget {
    match delivery {
        JobDelivery::None => DeliveryTarget::None,
        JobDelivery::Session { key } => DeliveryTarget::Session {
            key: SessionKey::clone(key),
        },
        JobDelivery::Channel { channel, to } => DeliveryTarget::Channel {
            channel: channel.clone(),
            to: to.clone(),
        },
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
            micro_dollars: None,
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
