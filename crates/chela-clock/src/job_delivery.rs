//! Where the answer of a job goes, besides its own conversation.

use serde::{Deserialize, Serialize};

/// Where an answer goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobDelivery {
    pub mode: DeliveryMode,
    /// Of an announcement: `owner` (unless given), `last`, `session` or a channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The session, the address in the channel, or the URL of the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Nobody is told when it cannot be delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best_effort: bool,
}

/// How an answer is delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMode {
    /// It stays in the conversation of the run.
    None,
    /// Said where the owner, or whoever is named, reads it.
    #[default]
    Announce,
    /// Posted to a URL.
    Webhook,
}

impl JobDelivery {
    pub fn of(mode: DeliveryMode) -> Self {
        Self {
            mode,
            channel: None,
            to: None,
            best_effort: false,
        }
    }

    /// What one word means: `owner`, `last`, `none`, a session's key, `channel:address`, or a URL.
    pub fn of_word(word: &str) -> Self {
        let word = word.trim();
        let announce = |channel: &str, to: Option<&str>| Self {
            channel: Some(channel.to_owned()),
            to: to.map(str::to_owned),
            ..Self::of(DeliveryMode::Announce)
        };
        match (word, word.split_once(':')) {
            ("none", _) => Self::of(DeliveryMode::None),
            (_, Some(("http" | "https", _))) => Self {
                to: Some(word.to_owned()),
                ..Self::of(DeliveryMode::Webhook)
            },
            (_, Some(("agent", _))) => announce("session", Some(word)),
            (_, Some((channel, address))) => announce(channel, Some(address)),
            (name, None) => announce(name, None),
        }
    }

    pub fn in_words(&self) -> String {
        let to = self.to.as_deref().unwrap_or_default();
        match (self.mode, self.channel.as_deref()) {
            (DeliveryMode::None, _) => "nowhere: it stays in its conversation".to_owned(),
            (DeliveryMode::Webhook, _) => format!("webhook {to}"),
            (DeliveryMode::Announce, None | Some("owner")) => "your main conversation".to_owned(),
            (DeliveryMode::Announce, Some("last")) => {
                "the conversation you spoke in last".to_owned()
            }
            (DeliveryMode::Announce, Some("session")) => format!("session {to}"),
            (DeliveryMode::Announce, Some(channel)) => format!("{channel} {to}"),
        }
    }
}
