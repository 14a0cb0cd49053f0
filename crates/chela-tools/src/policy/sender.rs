//! Tools by who wrote the message.

use std::collections::BTreeMap;

use chela_config::model::ToolPolicy;

/// Who wrote a message, as far as the channel says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    pub channel: Option<String>,
    pub id: Option<String>,
    /// Phone number, `+49…`.
    pub e164: Option<String>,
    pub username: Option<String>,
    pub name: Option<String>,
}

impl Sender {
    /// The keys under which a set for this sender may stand; the first that does decides.
    fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if let (Some(channel), Some(id)) = (&self.channel, &self.id) {
            keys.push(format!("channel:{channel}:{id}"));
        }
        let username = self
            .username
            .as_deref()
            .map(|name| name.trim_start_matches('@'));
        let parts = [
            ("id", self.id.as_deref()),
            ("e164", self.e164.as_deref()),
            ("username", username),
            ("name", self.name.as_deref()),
        ];
        for (word, value) in parts {
            keys.extend(value.map(|value| format!("{word}:{value}")));
        }
        keys.push("*".to_owned());
        keys
    }
}

/// The set for a sender, and the key it stands under. Without a sender only `*` counts.
pub(super) fn policy_for<'p>(
    by_sender: &'p BTreeMap<String, ToolPolicy>,
    sender: Option<&Sender>,
) -> Option<(&'p str, &'p ToolPolicy)> {
    let nobody = Sender::default();
    let keys = sender.unwrap_or(&nobody).keys();
    keys.iter().find_map(|key| {
        by_sender.iter().find_map(|(written, policy)| {
            let written_plain = written.trim().replace("username:@", "username:");
            (written_plain.to_lowercase() == key.to_lowercase())
                .then_some((written.as_str(), policy))
        })
    })
}
