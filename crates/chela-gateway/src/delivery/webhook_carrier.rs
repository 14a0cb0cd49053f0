//! To a URL the config names: posted as JSON, signed, and known again by its id.

use std::time::Duration;

use serde_json::json;

use super::delivery_rules::check_webhook;
use super::request_signature::{SIGNATURE, sign};
use super::{CarryFault, CarryFuture, DeliveryCarrier};
use crate::access_token::read_secret;
use crate::lanes::WorkLanes;
use crate::work_delivery::WorkDelivery;
use crate::work_item::DeliveryTarget;

/// So long the other end may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct WebhookCarrier {
    lanes: WorkLanes,
}

impl WebhookCarrier {
    pub fn new(lanes: WorkLanes) -> Self {
        Self { lanes }
    }

    async fn post(&self, id: &str, delivery: &WorkDelivery) -> Result<String, CarryFault> {
        let DeliveryTarget::Webhook { url } = &delivery.target else {
            return Err(CarryFault::Refused("it is for no webhook".to_owned()));
        };
        let (agents, host) = (self.lanes.agents(), self.lanes.host());
        let loaded = agents.loaded();
        // The config may name other addresses than when the job was made.
        check_webhook(loaded, url).map_err(|refused| CarryFault::Refused(refused.to_string()))?;
        let Some(secret) = &loaded.config.gateway.delivery.secret else {
            return Err(CarryFault::Refused(
                "gateway.delivery.secret is not set".to_owned(),
            ));
        };
        let secret = read_secret(host, loaded, secret, "gateway.delivery.secret").await;
        let secret = secret.map_err(|error| CarryFault::Later(error.to_string()))?;
        let body = json!({
            "id": id, "agent": delivery.agent, "session": delivery.session,
            "work": delivery.work, "from": delivery.from, "text": delivery.text,
        });
        let body = body.to_string().into_bytes();
        let now = host.unix_time();
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("user-agent", "chela".to_owned()),
            ("idempotency-key", id.to_owned()),
            ("x-chela-timestamp", now.to_string()),
            (SIGNATURE, sign(&secret, now, &body)),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value));
        // Redirects are not followed: nobody but the config says where it goes.
        let posted = agents.http().post(url, &headers, body, PATIENCE).await;
        let reply = posted.map_err(CarryFault::Later)?;
        let told = format!("answered {}", reply.status);
        match reply.status {
            200..300 => Ok(told),
            // Busy, not ready, or in doubt.
            408 | 425 | 429 | 500.. => Err(CarryFault::Later(told)),
            _ => Err(CarryFault::Refused(told)),
        }
    }
}

impl DeliveryCarrier for WebhookCarrier {
    fn goes_to(&self, target: &DeliveryTarget) -> bool {
        matches!(target, DeliveryTarget::Webhook { .. })
    }

    fn carry<'a>(&'a self, id: &'a str, delivery: &'a WorkDelivery) -> CarryFuture<'a> {
        Box::pin(self.post(id, delivery))
    }
}
