//! What is to be delivered of a piece of work: made of its outcome, kept by the outbox.

use std::time::Duration;

use chela_agent::prelude::{AgentId, LoadedConfig, SessionKey, Trust};
use chela_config::model::BareUnit;
use chela_store::{DeliveryRecord, NewDelivery};
use serde::{Deserialize, Serialize};

use crate::work_item::{
    DeliveryTarget, EncodeError, WorkItem, WorkOutcome, WorkSource, WorkStatus,
};

/// So long a delivery is tried where the config says nothing.
const EXPIRES: Duration = Duration::from_secs(24 * 3_600);

/// Something that is to be delivered, as the outbox keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkDelivery {
    pub agent: AgentId,
    /// Where it was said.
    pub session: SessionKey,
    /// The work it answers.
    pub work: String,
    /// Who says it, in words, such as "job tea".
    pub from: String,
    pub target: DeliveryTarget,
    pub text: String,
    /// How far the words are trusted.
    pub trust: Trust,
    /// Nobody is told when it cannot be delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best_effort: bool,
}

impl WorkDelivery {
    /// As the outbox keeps it.
    pub fn read(record: &DeliveryRecord) -> Result<Self, String> {
        let read = serde_json::from_str(&record.body);
        read.map_err(|error| format!("it cannot be read: {error}"))
    }

    pub(crate) fn to_record(
        &self,
        id: &str,
        at: u64,
        expires: u64,
    ) -> Result<NewDelivery, EncodeError> {
        Ok(NewDelivery {
            id: id.to_owned(),
            body: serde_json::to_string(self)?,
            at,
            expires,
        })
    }
}

/// What is to be delivered of an outcome, if anything is.
pub(crate) fn answer_delivery(
    item: &WorkItem,
    outcome: &WorkOutcome,
    trust: Trust,
) -> Option<WorkDelivery> {
    let is_answer = outcome.status == WorkStatus::Answered && !outcome.reply.trim().is_empty();
    let target = item.delivery.settled(&item.agent);
    // What is said in the conversation it is meant for has arrived.
    let is_there = target.session().is_some_and(|key| *key == item.session);
    if !is_answer || target == DeliveryTarget::None || is_there {
        return None;
    }
    Some(WorkDelivery {
        agent: item.agent.clone(),
        session: item.session.clone(),
        work: item.id.clone(),
        from: source_in_words(&item.source),
        target,
        text: outcome.reply.clone(),
        trust,
        best_effort: item.options.best_effort,
    })
}

/// The id of the delivery of an answer: the same answer is delivered once.
pub(crate) fn delivery_id(work: &str) -> String {
    format!("answer:{work}")
}

fn source_in_words(source: &WorkSource) -> String {
    match source {
        WorkSource::Owner { surface } => format!("the owner's program ({surface})"),
        WorkSource::Sender { channel, id } => format!("{channel}:{id}"),
        WorkSource::Cron { job } => format!("job {job}"),
        WorkSource::Heartbeat => "heartbeat".to_owned(),
        WorkSource::Hook { name } => format!("webhook {name}"),
        WorkSource::Runtime { what } => what.clone(),
        WorkSource::Announcement { from, .. } => from.clone(),
    }
}

/// When what is sent now is not tried any more.
pub fn delivery_expiry(loaded: &LoadedConfig, now: u64) -> u64 {
    let expire = &loaded.config.gateway.delivery.expire;
    let expire = expire.duration(BareUnit::Hours).unwrap_or(EXPIRES);
    now.saturating_add(u64::try_from(expire.as_millis()).unwrap_or(u64::MAX))
}
