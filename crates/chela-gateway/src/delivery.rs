//! Deliveries: an answer goes where it is wanted, besides the conversation it was given in.
//!
//! What is to be delivered is written into the outbox together with the outcome it belongs to
//! ([`answer_delivery`]), and [`DeliveryDesk`] sees to it that it arrives: tried again with growing
//! pauses until it does, is refused, or its time is over. Who brings it is a [`DeliveryCarrier`];
//! a network that Chela learns to speak brings one of its own ([`DeliveryCarriers::add`]).

mod delivery_desk;
mod delivery_rules;
mod request_signature;
mod session_carrier;
mod webhook_carrier;

use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use chela_agent::prelude::{AgentId, SessionKey, Trust};
use chela_store::{DeliveryRecord, NewDelivery};
use serde::{Deserialize, Serialize};

use crate::lanes::WorkLanes;
use crate::work_item::{
    DeliveryTarget, EncodeError, WorkItem, WorkOutcome, WorkSource, WorkStatus,
};

pub use delivery_desk::{DeliveryDesk, delivery_expiry};
pub use delivery_rules::{DeliveryRefused, check_job_delivery};
pub(crate) use delivery_rules::{target_of_beat, target_of_hook, target_of_job};
pub(crate) use request_signature::check_signature;
pub(crate) use session_carrier::SessionCarrier;
pub(crate) use webhook_carrier::WebhookCarrier;

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

/// Brings deliveries to one kind of place.
pub trait DeliveryCarrier: std::fmt::Debug + Send + Sync {
    /// Whether this one goes there.
    fn goes_to(&self, target: &DeliveryTarget) -> bool;

    /// Brings it. The id is the same whenever it is tried, so that whoever gets it twice can tell.
    /// Done means that it will not be lost any more.
    fn carry<'a>(&'a self, id: &'a str, delivery: &'a WorkDelivery) -> CarryFuture<'a>;
}

/// A delivery under way: what was answered, or why it did not work.
pub type CarryFuture<'a> = Pin<Box<dyn Future<Output = Result<String, CarryFault>> + Send + 'a>>;

/// Why a delivery did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CarryFault {
    /// It may work later.
    #[error("{0}")]
    Later(String),
    /// It never will as it is.
    #[error("{0}")]
    Refused(String),
}

/// The carriers there are.
#[derive(Debug, Clone, Default)]
pub struct DeliveryCarriers(Arc<RwLock<Vec<Arc<dyn DeliveryCarrier>>>>);

impl DeliveryCarriers {
    /// The ones that are always there: sessions and webhooks.
    pub fn usual(lanes: &WorkLanes) -> Self {
        let carriers = Self::default();
        carriers.add(Arc::new(SessionCarrier::new(lanes.clone())));
        carriers.add(Arc::new(WebhookCarrier::new(lanes.clone())));
        carriers
    }

    pub fn add(&self, carrier: Arc<dyn DeliveryCarrier>) {
        let mut carriers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        carriers.push(carrier);
    }

    pub(crate) fn for_target(&self, target: &DeliveryTarget) -> Option<Arc<dyn DeliveryCarrier>> {
        let carriers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        carriers
            .iter()
            .find(|carrier| carrier.goes_to(target))
            .cloned()
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

pub(crate) fn source_in_words(source: &WorkSource) -> String {
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
