//! Into a session: the words are said there once its turn is over, and open surfaces hear of it.

use chela_agent::prelude::{AgentId, SessionKey};
use chela_core::{SessionForm, ok_or_warn};
use chela_session::SessionFilter;

use super::{CarryFault, CarryFuture, DeliveryCarrier};
use crate::lanes::{ANNOUNCEMENTS, SubmitError, WorkLanes};
use crate::work_delivery::WorkDelivery;
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource};

/// Hands announcements to the lanes: from then on they are in the inbox, and no crash loses them.
#[derive(Debug)]
pub(crate) struct SessionCarrier {
    lanes: WorkLanes,
}

impl SessionCarrier {
    pub fn new(lanes: WorkLanes) -> Self {
        Self { lanes }
    }

    async fn announce(&self, id: &str, delivery: &WorkDelivery) -> Result<String, CarryFault> {
        let key = match &delivery.target {
            DeliveryTarget::Session { key } => key.clone(),
            DeliveryTarget::Last => self.last_heard(&delivery.agent).await,
            _ => SessionKey::main(&delivery.agent),
        };
        let item = WorkItem {
            id: format!("{ANNOUNCEMENTS}{id}"),
            agent: delivery.agent.clone(),
            session: key.clone(),
            source: WorkSource::Announcement {
                from: delivery.from.clone(),
            },
            text: delivery.text.clone(),
            external: Vec::new(),
            images: Vec::new(),
            delivery: DeliveryTarget::None,
            options: WorkOptions::default(),
            text_trust: Some(delivery.trust),
        };
        match self.lanes.submit(item).await {
            Ok(_) => Ok(format!("announced in {key}")),
            Err(error @ SubmitError::NoAgent(_)) => Err(CarryFault::Refused(error.to_string())),
            Err(error) => Err(CarryFault::Later(error.to_string())),
        }
    }

    /// The conversation of an agent in which a person spoke last; the main one where nobody did.
    async fn last_heard(&self, agent: &AgentId) -> SessionKey {
        let main = SessionKey::main(agent);
        let agents = self.lanes.agents();
        let sessions = ok_or_warn!(agents.sessions(agent), "the sessions cannot be read");
        let Some(sessions) = sessions else {
            return main;
        };
        let all = sessions.list(&SessionFilter::default()).await;
        let all = ok_or_warn!(all, "the sessions cannot be listed").unwrap_or_default();
        // The newest comes first.
        let of_person = |key: &SessionKey| {
            matches!(
                key.form,
                SessionForm::Main { .. } | SessionForm::Chat { .. }
            )
        };
        let last = all.into_iter().map(|info| info.key).find(of_person);
        last.unwrap_or(main)
    }
}

impl DeliveryCarrier for SessionCarrier {
    fn goes_to(&self, target: &DeliveryTarget) -> bool {
        matches!(
            target,
            DeliveryTarget::Owner | DeliveryTarget::Last | DeliveryTarget::Session { .. }
        )
    }

    fn carry<'a>(&'a self, id: &'a str, delivery: &'a WorkDelivery) -> CarryFuture<'a> {
        Box::pin(self.announce(id, delivery))
    }
}
