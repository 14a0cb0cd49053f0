//! Where work ends: its outcome goes to disk, then to whoever waits.

use std::time::Duration;

use chela_agent::prelude::Trust;
use chela_core::{lock, ok_or_warn};
use chela_store::{ClaimState, MessageOutcome, NewDelivery, OutboxStore as _, WorkClaim};

use super::WorkLanes;
use crate::work_delivery::{answer_delivery, delivery_expiry, delivery_id};
use crate::work_item::{WorkItem, WorkOutcome};

/// A disk that is full may have room again; so often it is tried.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

impl WorkLanes {
    /// Ends a piece of work. Nobody hears of an outcome that is not on disk, unless the disk
    /// refuses it for good: then the process that comes next does the work again.
    pub(super) async fn finish_work(&self, claim: &WorkClaim, outcome: WorkOutcome) {
        self.finish_and_send(claim, outcome, Vec::new()).await;
    }

    /// What is to be delivered of an outcome, as the outbox takes it.
    pub(super) fn delivery_of(
        &self,
        item: &WorkItem,
        outcome: &WorkOutcome,
        trust: Trust,
    ) -> Vec<NewDelivery> {
        let Some(delivery) = answer_delivery(item, outcome, trust) else {
            return Vec::new();
        };
        let now = self.0.host.unix_millis();
        let expires = delivery_expiry(self.agents().loaded(), now);
        let record = delivery.to_record(&delivery_id(&item.id), now, expires);
        let record = ok_or_warn!(record, "an answer cannot be written down for its delivery");
        record.into_iter().collect()
    }

    /// The same with what is to be delivered of it: both are on disk, or neither is.
    /// Says whether more waits.
    pub(super) async fn finish_and_send(
        &self,
        claim: &WorkClaim,
        outcome: WorkOutcome,
        deliveries: Vec<NewDelivery>,
    ) -> bool {
        // Where that is not known it is looked for.
        let mut more = true;
        for again in 0..TRIES {
            let text = outcome.to_text();
            let at = self.0.host.unix_millis();
            match self
                .0
                .store
                .finish_and_send(claim, MessageOutcome { text, at }, deliveries.clone())
                .await
            {
                Ok(ended) => {
                    more = ended.more;
                    if ended.claim == ClaimState::Lost {
                        tracing::warn!(
                            work = claim.name,
                            "its outcome was written by someone else"
                        );
                    }
                    break;
                }
                Err(error) => {
                    tracing::error!(%error, again, work = claim.name, "its outcome is not on disk");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        if !deliveries.is_empty() {
            self.0.delivery_sent.notify_one();
        }
        let waiters = lock(&self.0.waiters).remove(&claim.name);
        for waiter in waiters.into_iter().flatten() {
            // Whoever waited may have gone.
            let _ = waiter.send(outcome.clone());
        }
        self.0.hub.end_work(&claim.name);
        more
    }
}
