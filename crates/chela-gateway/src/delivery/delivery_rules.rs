//! Where deliveries may go: what is asked for becomes a target, or is refused with a reason.

use chela_agent::prelude::{AgentId, LoadedConfig, SessionKey};
use chela_clock::{DeliveryMode, JobDelivery};
use chela_guard::WebAddress;

use crate::work_item::DeliveryTarget;

/// Why nothing can be delivered there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryRefused {
    #[error(
        "no channel `{0}` is set up: answers go to `owner` (your main conversation), `last`, a session, or a webhook"
    )]
    NoChannel(String),
    #[error("`{key}` is not a session to deliver to: {why}")]
    Session { key: String, why: String },
    #[error("`{0}` is not a URL that a webhook can have")]
    Url(String),
    #[error(
        "webhooks go only to addresses the config names, and gateway.delivery.webhooks does not name {0}"
    )]
    NotNamed(String),
    #[error("webhooks are signed: set gateway.delivery.secret")]
    NoSecret,
}

/// Looks at the delivery of a job before anybody relies on it.
pub fn check_job_delivery(
    loaded: &LoadedConfig,
    agent: &AgentId,
    delivery: &JobDelivery,
) -> Result<(), DeliveryRefused> {
    match target_of_job(agent, delivery)? {
        DeliveryTarget::Webhook { url } => check_webhook(loaded, &url),
        _ => Ok(()),
    }
}

/// The target a job means.
pub(crate) fn target_of_job(
    agent: &AgentId,
    delivery: &JobDelivery,
) -> Result<DeliveryTarget, DeliveryRefused> {
    let to = delivery.to.as_deref().unwrap_or_default().trim();
    match (delivery.mode, delivery.channel.as_deref().map(str::trim)) {
        (DeliveryMode::None, _) => Ok(DeliveryTarget::None),
        (DeliveryMode::Webhook, _) => Ok(DeliveryTarget::Webhook { url: to.to_owned() }),
        (DeliveryMode::Announce, Some("session")) => session_target(agent, to),
        (DeliveryMode::Announce, channel) => named_target(agent, channel.unwrap_or("owner")),
    }
}

/// The target a webhook names: a channel, and a session or an address there.
pub(crate) fn target_of_hook(
    agent: &AgentId,
    channel: Option<&str>,
    to: Option<&str>,
) -> Result<DeliveryTarget, DeliveryRefused> {
    match channel.map(str::trim) {
        Some("session") => session_target(agent, to.unwrap_or_default().trim()),
        channel => named_target(agent, channel.unwrap_or("owner")),
    }
}

/// The target that `heartbeat.target` means.
pub(crate) fn target_of_beat(
    agent: &AgentId,
    target: &str,
) -> Result<DeliveryTarget, DeliveryRefused> {
    named_target(agent, target.trim())
}

fn named_target(agent: &AgentId, name: &str) -> Result<DeliveryTarget, DeliveryRefused> {
    match name {
        "none" => Ok(DeliveryTarget::None),
        "owner" | "main" | "" => Ok(DeliveryTarget::Owner),
        "last" => Ok(DeliveryTarget::Last),
        key if key.starts_with("agent:") => session_target(agent, key),
        other => Err(DeliveryRefused::NoChannel(other.to_owned())),
    }
}

fn session_target(agent: &AgentId, key: &str) -> Result<DeliveryTarget, DeliveryRefused> {
    let refused = |why: &str| DeliveryRefused::Session {
        key: key.to_owned(),
        why: why.to_owned(),
    };
    let whole = match key.starts_with("agent:") {
        true => key.to_owned(),
        false => format!("agent:{agent}:{key}"),
    };
    let parsed = SessionKey::parse(&whole).map_err(|error| refused(&error.to_string()))?;
    if parsed.agent.as_deref() != Some(agent.as_str()) {
        return Err(refused("it belongs to another agent"));
    }
    match parsed.is_reserved() {
        true => Err(refused("only the runtime opens such sessions")),
        false => Ok(DeliveryTarget::Session { key: parsed }),
    }
}

/// Whether the config names this address: the same server, and a path below the one it gives.
pub(super) fn check_webhook(loaded: &LoadedConfig, url: &str) -> Result<(), DeliveryRefused> {
    let settings = &loaded.config.gateway.delivery;
    let wanted = WebAddress::parse(url).map_err(|_| DeliveryRefused::Url(url.to_owned()))?;
    let is_plain = wanted.url().username().is_empty() && wanted.url().password().is_none();
    if !is_plain {
        return Err(DeliveryRefused::Url(
            "an address with a password in it".to_owned(),
        ));
    }
    let is_named = settings
        .webhooks
        .iter()
        .filter_map(|named| WebAddress::parse(named).ok())
        .any(|named| is_below(&named, &wanted));
    match (is_named, settings.secret.is_some()) {
        (false, _) => Err(DeliveryRefused::NotNamed(wanted.server())),
        (true, false) => Err(DeliveryRefused::NoSecret),
        (true, true) => Ok(()),
    }
}

fn is_below(named: &WebAddress, wanted: &WebAddress) -> bool {
    let (named, wanted) = (named.url(), wanted.url());
    let is_same_server = named.scheme() == wanted.scheme()
        && named.host_str() == wanted.host_str()
        && named.port_or_known_default() == wanted.port_or_known_default();
    let folder = named.path().trim_end_matches('/');
    let rest = wanted.path().strip_prefix(folder);
    is_same_server && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use chela_agent::prelude::{AgentId, Host, load_text};
    use chela_clock::{DeliveryMode, JobDelivery};

    use super::{DeliveryRefused, check_job_delivery};

    fn webhook(url: &str) -> Result<(), DeliveryRefused> {
        let text =
            r#"{ gateway: { delivery: { webhooks: ["https://example.org/in"], secret: "s" } } }"#;
        let loaded = load_text(&Host::fixed("/nowhere"), text);
        let delivery = JobDelivery {
            to: Some(url.to_owned()),
            ..JobDelivery::of(DeliveryMode::Webhook)
        };
        check_job_delivery(&loaded, &AgentId::main(), &delivery)
    }

    #[test]
    fn a_webhook_goes_only_where_the_config_says() {
        assert_eq!(webhook("https://example.org/in"), Ok(()));
        assert_eq!(webhook("https://EXAMPLE.org:443/in/box?a=1"), Ok(()));
        for other in [
            "https://example.org/inbox",
            "https://example.org/in/../admin",
            "http://example.org/in",
            "https://example.org:8443/in",
            "https://example.org.evil.test/in",
            "https://169.254.169.254/in",
            "https://user@example.org/in",
            "file:///etc/passwd",
        ] {
            assert!(webhook(other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_channel_nobody_speaks_is_refused() {
        let loaded = load_text(&Host::fixed("/nowhere"), "{}");
        let announce = |channel: &str, to: Option<&str>| {
            let delivery = JobDelivery {
                channel: Some(channel.to_owned()),
                to: to.map(str::to_owned),
                ..JobDelivery::of(DeliveryMode::Announce)
            };
            check_job_delivery(&loaded, &AgentId::main(), &delivery)
        };
        assert_eq!(announce("owner", None), Ok(()));
        assert_eq!(announce("last", None), Ok(()));
        assert_eq!(announce("session", Some("explicit:notes")), Ok(()));
        assert!(announce("session", Some("agent:other:main")).is_err());
        assert!(announce("session", Some("cron:x")).is_err());
        let refused = announce("telegram", Some("42"));
        assert_eq!(refused, Err(DeliveryRefused::NoChannel("telegram".into())));
    }
}
