//! Channels: from the top of the file to `channels`, and keys that were renamed.

use super::tree::{MigrationTree, path};

const CHANNELS: [&str; 11] = [
    "whatsapp",
    "telegram",
    "discord",
    "slack",
    "signal",
    "imessage",
    "msteams",
    "googlechat",
    "mattermost",
    "matrix",
    "feishu",
];

/// Before `routing` gives its own settings to the channels: what a channel says itself wins.
pub fn roots(tree: &mut MigrationTree<'_>) {
    for channel in CHANNELS {
        tree.shift(channel, &format!("channels.{channel}"));
    }
    let telegram = path("channels.telegram");
    tree.shift_in(&telegram, "requireMention", "groups.*.requireMention");
}

/// `providers` held channels once, and others put model endpoints there.
pub fn providers(tree: &mut MigrationTree<'_>) {
    for name in tree.keys("providers") {
        let is_channel = CHANNELS.contains(&name.as_str());
        let home = path(if is_channel {
            "channels"
        } else {
            "models.providers"
        })
        .key(&name);
        tree.shift_path(&path("providers").key(&name), &home, |value| value);
        if is_channel {
            tree.shift_in(&home, "dm.policy", "dmPolicy");
        }
    }
    tree.remove_if_empty(&path("providers"));
}

pub fn keys(tree: &mut MigrationTree<'_>) {
    tree.shift("channels.telegram.token", "channels.telegram.botToken");
    for name in tree.keys("channels") {
        let channel = path("channels").key(&name);
        let heartbeat = tree.root.at_path(&channel.key("heartbeat"));
        // Only the switches of what is shown; other programs keep other things there.
        let shown = ["showOk", "showAlerts", "useIndicator"];
        if heartbeat.is_some_and(|node| shown.iter().any(|key| node.get(key).is_some())) {
            tree.shift_in(&channel, "heartbeat", "heartbeatVisibility");
        }
    }
}
