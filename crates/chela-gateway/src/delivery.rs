//! Deliveries: an answer goes where it is wanted, besides the conversation it was given in.
//!
//! What is to be delivered is written into the outbox together with the outcome it belongs to
//! ([`WorkDelivery`]), and [`DeliveryDesk`] sees to it that it arrives: tried again with growing
//! pauses until it does, is refused, or its time is over. Who brings it is a [`DeliveryCarrier`];
//! a network that Chela learns to speak brings one of its own ([`DeliveryCarriers::add`]).

mod delivery_desk;
mod delivery_rules;
mod request_signature;
mod session_carrier;
mod webhook_carrier;

use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use crate::lanes::WorkLanes;
use crate::work_delivery::WorkDelivery;
use crate::work_item::DeliveryTarget;

pub use delivery_desk::DeliveryDesk;
pub use delivery_rules::{DeliveryRefused, check_job_delivery};
pub(crate) use delivery_rules::{target_of_beat, target_of_hook, target_of_job};
pub(crate) use request_signature::{SIGNATURE, check_signature};
pub(crate) use session_carrier::SessionCarrier;
pub(crate) use webhook_carrier::WebhookCarrier;

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
