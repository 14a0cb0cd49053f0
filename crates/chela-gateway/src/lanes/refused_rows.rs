//! What somebody put into the queue past Chela: taken out, and told.

use chela_agent::prelude::{SessionKey, Trust};
use chela_core::ok_or_warn;
use chela_store::{OutboxStore as _, RefusedRow};

use super::WorkLanes;
use crate::work_delivery::{WorkDelivery, delivery_expiry};
use crate::work_item::DeliveryTarget;

impl WorkLanes {
    /// Tells the owner of rows that were taken out since this was last looked at.
    pub(super) async fn tell_of_refused_rows(&self) {
        for row in self.0.store.take_refused() {
            ok_or_warn!(
                self.tell_of(&row).await,
                "the owner is not told of a refused row"
            );
        }
    }

    async fn tell_of(&self, row: &RefusedRow) -> Result<(), Box<dyn std::error::Error>> {
        let now = self.0.host.unix_millis();
        let loaded = self.agents();
        let loaded = loaded.loaded();
        let agent = loaded.default_agent();
        let told = WorkDelivery {
            session: SessionKey::main(&agent),
            work: row.id.clone(),
            from: "the gateway".to_owned(),
            target: DeliveryTarget::Owner.settled(&agent),
            text: format!("{row}. A command of an agent may have done it: look at what ran."),
            trust: Trust::Agent,
            best_effort: true,
            agent,
        };
        let id = format!("refused:{now}:{}", row.id);
        let notice = told.to_record(&id, now, delivery_expiry(loaded, now))?;
        self.0.store.send(notice).await?;
        self.delivery_sent().notify_one();
        Ok(())
    }
}
