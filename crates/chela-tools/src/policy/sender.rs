//! Tools by who wrote the message.

use std::collections::BTreeMap;

use chela_config::model::ToolPolicy;
use chela_core::Sender;

/// The keys under which a set for a sender may stand; the first that does decides.
fn keys_of(sender: &Sender) -> Vec<String> {
    let mut keys = Vec::new();
    if let (Some(channel), Some(id)) = (&sender.channel, &sender.id) {
        keys.push(format!("channel:{channel}:{id}"));
    }
    let username = sender
        .username
        .as_deref()
        .map(|name| name.trim_start_matches('@'));
    let parts = [
        ("id", sender.id.as_deref()),
        ("e164", sender.e164.as_deref()),
        ("username", username),
        ("name", sender.name.as_deref()),
    ];
    for (word, value) in parts {
        keys.extend(value.map(|value| format!("{word}:{value}")));
    }
    keys.push("*".to_owned());
    keys
}

/// The set for a sender, and the key it stands under. Without a sender only `*` counts.
pub(super) fn policy_for<'p>(
    by_sender: &'p BTreeMap<String, ToolPolicy>,
    sender: Option<&Sender>,
) -> Option<(&'p str, &'p ToolPolicy)> {
    let nobody = Sender::default();
    let keys = keys_of(sender.unwrap_or(&nobody));
    keys.iter().find_map(|key| {
        by_sender.iter().find_map(|(written, policy)| {
            let written_plain = written.trim().replace("username:@", "username:");
            (written_plain.to_lowercase() == key.to_lowercase())
                .then_some((written.as_str(), policy))
        })
    })
}
