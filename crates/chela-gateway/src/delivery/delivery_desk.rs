//! Sees to it that what is in the outbox arrives.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chela_agent::prelude::Trust;
use chela_agent::turn::{OutgoingText, pass_outgoing};
use chela_core::ok_or_warn;
use chela_store::{
    DeliveryEnd, DeliveryRecord, DeliveryState, OutboxStore as _, SqliteRuntimeStore, StoreError,
};
use tokio::sync::watch;

use super::{CarryFault, DeliveryCarriers};
use crate::lanes::WorkLanes;
use crate::work_delivery::{WorkDelivery, delivery_expiry};
use crate::work_item::DeliveryTarget;

/// The longest the desk sleeps: what another process wrote, or a clock that was set, is noticed
/// after this at the latest.
const LONGEST_SLEEP: Duration = Duration::from_secs(2);
/// So many are looked at in one go.
const AT_ONCE: usize = 32;
/// The pauses before each further try where the config says nothing; the last counts for all after
/// it.
const PAUSES: [u64; 6] = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];

/// Delivers what is due.
#[derive(Debug, Clone)]
pub struct DeliveryDesk {
    lanes: WorkLanes,
    carriers: DeliveryCarriers,
}

impl DeliveryDesk {
    pub fn new(lanes: WorkLanes, carriers: DeliveryCarriers) -> Self {
        Self { lanes, carriers }
    }

    /// Delivers until the process ends.
    pub async fn run(&self, mut stopping: watch::Receiver<bool>) {
        while !*stopping.borrow() {
            let woken = self.lanes.delivery_sent().notified();
            let delivered = self.deliver_due().await;
            ok_or_warn!(delivered, "the outbox cannot be read");
            let sleep = self.sleep_until_due().await;
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(sleep) => {}
                _ = stopping.changed() => {}
            }
        }
    }

    /// Tries everything that is due now, once.
    pub async fn deliver_due(&self) -> Result<(), StoreError> {
        let now = self.lanes.host().unix_millis();
        let due = self.store().due_deliveries(now, AT_ONCE).await?;
        // What goes to the same place goes in its order; places do not wait for each other.
        let mut places: Vec<(String, Vec<DeliveryRecord>)> = Vec::new();
        for record in due {
            let place = match WorkDelivery::read(&record) {
                Ok(delivery) => format!("{} {:?}", delivery.agent, delivery.target),
                Err(_) => String::new(),
            };
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, records)) => records.push(record),
                None => places.push((place, vec![record])),
            }
        }
        let all = places.into_iter().map(|(_, records)| async move {
            for record in records {
                ok_or_warn!(self.try_once(&record).await, "a delivery is not on record");
            }
        });
        futures_util::future::join_all(all).await;
        Ok(())
    }

    async fn try_once(&self, record: &DeliveryRecord) -> Result<(), StoreError> {
        let now = self.lanes.host().unix_millis();
        let delivery = match WorkDelivery::read(record) {
            Ok(delivery) => delivery,
            Err(why) => return self.end(record, DeliveryState::Failed, why).await,
        };
        if record.expires <= now {
            let why = match record.why.is_empty() {
                true => "nothing tried it in time".to_owned(),
                false => record.why.clone(),
            };
            return self
                .give_up(record, &delivery, (DeliveryState::Expired, why))
                .await;
        }
        let Some(carrier) = self.carriers.for_target(&delivery.target) else {
            let why = format!("nothing here delivers to {}", delivery.target.in_words());
            return self
                .give_up(record, &delivery, (DeliveryState::Failed, why))
                .await;
        };
        let Some(delivery) = self.hooked(delivery.clone()).await else {
            let why = "a hook kept it back".to_owned();
            return self
                .give_up(record, &delivery, (DeliveryState::Failed, why))
                .await;
        };
        match carrier.carry(&record.id, &delivery).await {
            Ok(told) => {
                self.lanes
                    .counts()
                    .delivered
                    .fetch_add(1, Ordering::Relaxed);
                tracing::info!(delivery = record.id, told, "delivered");
                self.end(record, DeliveryState::Delivered, told).await
            }
            Err(CarryFault::Refused(why)) => {
                self.give_up(record, &delivery, (DeliveryState::Failed, why))
                    .await
            }
            Err(CarryFault::Later(why)) => {
                let due = now
                    .saturating_add(self.pause_after(record.tries))
                    .min(record.expires);
                tracing::warn!(delivery = record.id, why, due, "not delivered: tried again");
                self.store().note_try(&record.id, &why, due).await.map(drop)
            }
        }
    }

    /// A delivery as hooks leave it. What one of them wrote is a stranger's.
    async fn hooked(&self, delivery: WorkDelivery) -> Option<WorkDelivery> {
        let outgoing = OutgoingText {
            agent: &delivery.agent,
            session: &delivery.session,
            to: &delivery.target.in_words(),
            text: &delivery.text,
        };
        let text = pass_outgoing(&self.lanes.agents(), outgoing).await?;
        Some(match text == delivery.text {
            true => delivery,
            false => WorkDelivery {
                text,
                trust: delivery.trust.join(Trust::External),
                ..delivery
            },
        })
    }

    /// It does not arrive any more: the owner hears of it, once.
    async fn give_up(
        &self,
        record: &DeliveryRecord,
        delivery: &WorkDelivery,
        (state, why): (DeliveryState, String),
    ) -> Result<(), StoreError> {
        self.lanes
            .counts()
            .undelivered
            .fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            delivery = record.id,
            why,
            state = state.as_str(),
            "not delivered"
        );
        let main = DeliveryTarget::Owner.settled(&delivery.agent);
        let reached_owner = delivery.target.settled(&delivery.agent) != main;
        if !delivery.best_effort && reached_owner {
            let told = WorkDelivery {
                from: "the gateway".to_owned(),
                target: DeliveryTarget::Owner,
                text: format!(
                    "What {} said in {} was not delivered to {}: {why}. `chela gateway \
                     deliveries` shows it and can try again.",
                    delivery.from,
                    delivery.session,
                    delivery.target.in_words()
                ),
                trust: chela_agent::prelude::Trust::Agent,
                ..delivery.clone()
            };
            let now = self.lanes.host().unix_millis();
            let expires = delivery_expiry(self.lanes.agents().loaded(), now);
            // Under an id of its own: however often this happens, it is told once.
            let id = format!("undelivered:{}", record.id);
            match told.to_record(&id, now, expires) {
                Ok(notice) => {
                    self.store().send(notice).await?;
                }
                Err(error) => tracing::error!(%error, "the owner cannot be told"),
            }
        }
        self.end(record, state, why).await
    }

    async fn end(
        &self,
        record: &DeliveryRecord,
        state: DeliveryState,
        why: String,
    ) -> Result<(), StoreError> {
        let at = self.lanes.host().unix_millis();
        let end = DeliveryEnd { state, why, at };
        self.store().end_delivery(&record.id, end).await.map(drop)
    }

    fn pause_after(&self, tries: u64) -> u64 {
        let agents = self.lanes.agents();
        let own = &agents.loaded().config.gateway.delivery.backoff_ms;
        let pauses: &[u64] = match own.is_empty() {
            true => &PAUSES,
            false => own,
        };
        let at = usize::try_from(tries).unwrap_or(usize::MAX);
        let pause = pauses.get(at).or(pauses.last());
        pause.copied().unwrap_or(60_000)
    }

    async fn sleep_until_due(&self) -> Duration {
        let next = ok_or_warn!(
            self.store().next_delivery().await,
            "what is due is not known"
        );
        let now = self.lanes.host().unix_millis();
        let until = next.flatten().map(|next| next.saturating_sub(now));
        let until = until.unwrap_or(u64::MAX).max(20);
        Duration::from_millis(until).min(LONGEST_SLEEP)
    }

    fn store(&self) -> &Arc<SqliteRuntimeStore> {
        self.lanes.store()
    }
}
