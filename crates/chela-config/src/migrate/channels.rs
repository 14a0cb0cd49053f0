//! Channels: from the top of the file to `channels`, and keys that were renamed.

use super::tree::{MigrationTree, path};
use crate::node::ConfigNode;

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
        tree.shift_path(&path(channel), &path("channels").key(channel), |value| {
            value
        });
    }
    let mention = path("channels.telegram.requireMention");
    let all = path("channels.telegram.groups")
        .key("*")
        .key("requireMention");
    tree.shift_path(&mention, &all, |value| value);
}

/// `providers` held channels once, and others put model endpoints there.
pub fn providers(tree: &mut MigrationTree<'_>) {
    let names: Vec<String> = tree
        .get("providers")
        .map_or(&[][..], ConfigNode::members)
        .iter()
        .map(|member| member.key.clone())
        .collect();
    for name in names {
        let is_channel = CHANNELS.contains(&name.as_str());
        let home = if is_channel {
            path("channels")
        } else {
            path("models.providers")
        };
        tree.shift_path(&path("providers").key(&name), &home.key(&name), |value| {
            value
        });
        if is_channel {
            let channel = home.key(&name);
            tree.shift_path(
                &channel.key("dm").key("policy"),
                &channel.key("dmPolicy"),
                |v| v,
            );
        }
    }
    tree.remove_if_empty("providers");
}

pub fn keys(tree: &mut MigrationTree<'_>) {
    tree.shift("channels.telegram.token", "channels.telegram.botToken");
    let names: Vec<String> = tree
        .get("channels")
        .map_or(&[][..], ConfigNode::members)
        .iter()
        .map(|member| member.key.clone())
        .collect();
    for name in names {
        let channel = path("channels").key(&name);
        // Only the switches of what is shown; other programs keep other things there.
        let visibility = tree
            .root
            .at_path(&channel.key("heartbeat"))
            .is_some_and(|node| {
                node.get("showOk").is_some()
                    || node.get("showAlerts").is_some()
                    || node.get("useIndicator").is_some()
            });
        if visibility {
            tree.shift_path(
                &channel.key("heartbeat"),
                &channel.key("heartbeatVisibility"),
                |v| v,
            );
        }
    }
}
