//! Single keys that were renamed, moved or had other values.

use super::tree::{MigrationTree, list_node, object_node, path, text_node};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind};

pub fn metadata(tree: &mut MigrationTree<'_>) {
    tree.shift("metadata", "meta");
}

pub fn heartbeat_root(tree: &mut MigrationTree<'_>) {
    for key in ["showOk", "showAlerts", "useIndicator"] {
        let to = format!("channels.defaults.heartbeatVisibility.{key}");
        tree.shift(&format!("heartbeat.{key}"), &to);
    }
    tree.remove_if_empty(&path("heartbeat"));
    tree.shift("heartbeat", "agents.defaults.heartbeat");
}

pub fn tool_roots(tree: &mut MigrationTree<'_>) {
    tree.shift("sandbox", "agents.defaults.sandbox");
    tree.shift("exec", "tools.exec");
}

pub fn mcp_root(tree: &mut MigrationTree<'_>) {
    tree.shift("mcpServers", "mcp.servers");
    tree.shift("mcp.mcpServers", "mcp.servers");
}

pub fn gateway(tree: &mut MigrationTree<'_>) {
    tree.shift("gateway.token", "gateway.auth.token");
    let bind = path("gateway.bind");
    let name = match tree.word(&bind) {
        Some("127.0.0.1" | "localhost" | "::1") => "loopback",
        Some("0.0.0.0" | "::" | "all" | "any") => "lan",
        Some("tailscale") => "tailnet",
        _ => return,
    };
    replace_word(tree, &bind, name);
}

pub fn session(tree: &mut MigrationTree<'_>) {
    tree.shift("session.resetByType.dm", "session.resetByType.direct");
    if tree.get("session.reset").is_none() {
        tree.shift_as("session.idleMinutes", "session.reset", |value| {
            let at = value.at;
            object_node(
                vec![("mode", text_node("idle", at)), ("idleMinutes", value)],
                at,
            )
        });
    }
    tree.shift_as(
        "session.maintenance.pruneDays",
        "session.maintenance.pruneAfter",
        |value| match &value.kind {
            NodeKind::Number(days) => text_node(&format!("{days}d"), value.at),
            _ => value,
        },
    );
}

pub fn peer_kind(tree: &mut MigrationTree<'_>) {
    let count = tree.get("bindings").map_or(0, |list| list.items().len());
    for index in 0..count {
        let binding = path("bindings").index(index);
        let peer = binding.key("match").key("peer").key("kind");
        if tree.word(&peer) == Some("dm") {
            replace_word(tree, &peer, "direct");
        }
    }
}

pub fn queue_modes(tree: &mut MigrationTree<'_>) {
    let mut places = vec![path("messages.queue.mode")];
    let by_channel = path("messages.queue.byChannel");
    let channels = tree.keys("messages.queue.byChannel");
    places.extend(channels.into_iter().map(|name| by_channel.key(name)));
    for place in places {
        match tree.word(&place) {
            Some("queue") => replace_word(tree, &place, "followup"),
            Some("steer-backlog" | "steer+backlog") => replace_word(tree, &place, "steer"),
            _ => {}
        }
    }
}

pub fn tts(tree: &mut MigrationTree<'_>) {
    let agents = tree.agent_entries().map(|entry| entry.key("tts"));
    for home in std::iter::once(path("messages.tts")).chain(agents) {
        tree.switch_to_word(&home, "enabled", "auto", ["off", "always"]);
    }
}

/// A command line that writes down what was said.
pub fn transcription(tree: &mut MigrationTree<'_>) {
    if tree.get("audio.transcription.command").is_none() {
        return;
    }
    tree.shift_as("audio.transcription", "tools.media.audio.models", |value| {
        let at = value.at;
        let words = value
            .get("command")
            .map_or(&[][..], ConfigNode::items)
            .to_vec();
        let mut model = vec![("type", text_node("cli", at))];
        let mut words = words.into_iter();
        if let Some(program) = words.next() {
            model.push(("command", program));
        }
        model.push(("args", list_node(words.collect(), at)));
        if let Some(limit) = value.get("timeoutSeconds") {
            model.push(("timeoutSeconds", limit.clone()));
        }
        list_node(vec![object_node(model, at)], at)
    });
    tree.remove_if_empty(&path("audio"));
}

pub fn sandbox(tree: &mut MigrationTree<'_>) {
    for scope in tree.agent_scopes() {
        let words = ["shared", "session"];
        tree.switch_to_word(&scope.key("sandbox"), "perSession", "scope", words);
    }
}

/// Inside the scopes of agents, and at fixed places.
pub fn renamed(tree: &mut MigrationTree<'_>) {
    for scope in tree.agent_scopes() {
        for (from, to) in [("pdfMaxBytesMb", "pdfMaxMb"), ("timezone", "userTimezone")] {
            if scope.segments().len() == 2 {
                tree.shift_in(&scope, from, to);
            }
        }
        let (from, to) = ("tools.exec.timeoutSec", "tools.exec.timeoutSeconds");
        tree.shift_in(&scope, from, to);
    }
    tree.shift("tools.exec.timeoutSec", "tools.exec.timeoutSeconds");
    tree.shift(
        "tools.web.fetch.maxBytes",
        "tools.web.fetch.maxResponseBytes",
    );
    tree.shift("skills.extraDirs", "skills.load.extraDirs");
    tree.shift(
        "memory.qmd.extraPaths",
        "agents.defaults.memorySearch.extraPaths",
    );
    tree.shift("plugins.paths", "plugins.load.paths");
    tree.shift("update.autoUpdate", "update.auto");
}

/// Another word for the same thing.
/// Values that are written plainly and stand for a word.
pub fn plain_values(tree: &mut MigrationTree<'_>) {
    for scope in tree.agent_scopes() {
        for key in ["timeFormat", "elevatedDefault"] {
            let at = scope.key(key);
            let word = match tree.root.at_path(&at).map(|node| &node.kind) {
                Some(NodeKind::Number(hours)) if key == "timeFormat" => match hours.as_u64() {
                    Some(12) => "12",
                    Some(24) => "24",
                    _ => continue,
                },
                Some(NodeKind::Bool(on)) if key == "elevatedDefault" => match on {
                    true => "on",
                    false => "off",
                },
                _ => continue,
            };
            replace_word(tree, &at, word);
        }
    }
}

fn replace_word(tree: &mut MigrationTree<'_>, at: &KeyPath, word: &str) {
    let Some(node) = tree.node_mut(at) else {
        return;
    };
    let place = node.at;
    node.kind = NodeKind::String(word.to_owned());
    tree.note(at, place, &format!("`{word}`"));
}
