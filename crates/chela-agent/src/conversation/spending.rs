//! What was spent, by the record of requests: the one sum that `chela usage`, the chat and the card
//! of a session show.

use chela_core::ok_or_warn;
use chela_ledger::{UsageScope, UsageSum};

use super::Conversation;
use crate::agent::Agents;
use crate::local::OwnerCalendar;
use crate::slash::SpentSums;
use crate::turn::TurnOutcome;

impl Conversation {
    /// `None` where nothing is on record.
    pub(super) async fn spent(&self) -> Option<SpentSums> {
        let agents = &self.scope.agents;
        let zone = &agents.loaded.config.agents.defaults.user_timezone;
        let calendar = OwnerCalendar::of(&agents.host, zone.as_deref());
        let midnight = calendar.midnight(agents.host.unix_millis());
        let session = self.transcript.session().id.to_string();
        Some(SpentSums {
            session: agents.spent_on(UsageScope::Session(&session)).await?,
            today: agents.spent_on(UsageScope::Since(midnight)).await?,
        })
    }

    /// What a turn of this conversation came to, its steps and what was asked besides.
    pub async fn turn_spent(&self, outcome: &TurnOutcome) -> Option<UsageSum> {
        let session = self.transcript.session().id.to_string();
        let (session, turn) = (session.as_str(), outcome.turn.as_str());
        let scope = UsageScope::Turn { session, turn };
        self.scope.agents.spent_on(scope).await
    }
}

impl Agents {
    pub(crate) async fn spent_on(&self, scope: UsageScope<'_>) -> Option<UsageSum> {
        let ledger = self.ledger()?;
        let sum = ledger.usage_of(scope).await;
        ok_or_warn!(sum, "what was spent cannot be read")
    }
}
