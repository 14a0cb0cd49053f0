//! Where work ends: its outcome goes to disk, then to whoever waits.

use std::time::Duration;

use chela_core::lock;
use chela_store::{ClaimState, InboxStore, MessageOutcome, WorkClaim};

use super::WorkLanes;
use crate::work_item::WorkOutcome;

/// A disk that is full may have room again; so often it is tried.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

impl WorkLanes {
    /// Ends a piece of work. Nobody hears of an outcome that is not on disk, unless the disk
    /// refuses it for good: then the process that comes next does the work again.
    pub(super) async fn finish_work(&self, claim: &WorkClaim, outcome: WorkOutcome) {
        for again in 0..TRIES {
            let text = outcome.to_text();
            let at = self.0.host.unix_millis();
            match self
                .0
                .store
                .finish(claim, MessageOutcome { text, at })
                .await
            {
                Ok(ClaimState::Held) => break,
                Ok(ClaimState::Lost) => {
                    tracing::warn!(work = claim.name, "its outcome was written by someone else");
                    break;
                }
                Err(error) => {
                    tracing::error!(%error, again, work = claim.name, "its outcome is not on disk");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        let waiters = lock(&self.0.waiters).remove(&claim.name);
        for waiter in waiters.into_iter().flatten() {
            // Whoever waited may have gone.
            let _ = waiter.send(outcome.clone());
        }
        self.0.hub.end_work(&claim.name);
    }
}
