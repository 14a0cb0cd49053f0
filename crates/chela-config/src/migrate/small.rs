//! Single keys that were renamed, moved or had other values.

use super::tree::{MigrationTree, list_node, object_node, path, text_node};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind};

pub fn metadata(tree: &mut MigrationTree<'_>) {
    tree.shift("metadata", "meta");
}

pub fn heartbeat_root(tree: &mut MigrationTree<'_>) {
    for key in ["showOk", "showAlerts", "useIndicator"] {
        let from = path("heartbeat").key(key);
        tree.shift_path(
            &from,
            &path("channels.defaults.heartbeatVisibility").key(key),
            |v| v,
        );
    }
    tree.remove_if_empty("heartbeat");
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
    let name = match tree.root.at_path(&bind).and_then(ConfigNode::as_str) {
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
        let peer = path("bindings")
            .index(index)
            .key("match")
            .key("peer")
            .key("kind");
        if tree.root.at_path(&peer).and_then(ConfigNode::as_str) == Some("dm") {
            replace_word(tree, &peer, "direct");
        }
    }
}

pub fn queue_modes(tree: &mut MigrationTree<'_>) {
    let mut places = vec![path("messages.queue.mode")];
    let by_channel = path("messages.queue.byChannel");
    let channels = tree
        .root
        .at_path(&by_channel)
        .map_or(&[][..], ConfigNode::members);
    places.extend(channels.iter().map(|member| by_channel.key(&member.key)));
    for place in places {
        match tree.root.at_path(&place).and_then(ConfigNode::as_str) {
            Some("queue") => replace_word(tree, &place, "followup"),
            Some("steer-backlog" | "steer+backlog") => replace_word(tree, &place, "steer"),
            _ => {}
        }
    }
}

pub fn tts(tree: &mut MigrationTree<'_>) {
    let mut homes = vec![path("messages.tts")];
    homes.extend((0..tree.agents()).map(|index| path("agents.list").index(index).key("tts")));
    for home in homes {
        let on = match tree
            .root
            .at_path(&home.key("enabled"))
            .map(|node| &node.kind)
        {
            Some(NodeKind::Bool(on)) => *on,
            _ => continue,
        };
        let word = if on { "always" } else { "off" };
        tree.shift_path(&home.key("enabled"), &home.key("auto"), |value| {
            text_node(word, value.at)
        });
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
    tree.remove_if_empty("audio");
}

pub fn sandbox(tree: &mut MigrationTree<'_>) {
    for scope in tree.agent_scopes() {
        let home = scope.key("sandbox");
        let each = match tree
            .root
            .at_path(&home.key("perSession"))
            .map(|node| &node.kind)
        {
            Some(NodeKind::Bool(each)) => *each,
            _ => continue,
        };
        let word = if each { "session" } else { "shared" };
        tree.shift_path(&home.key("perSession"), &home.key("scope"), |v| {
            text_node(word, v.at)
        });
    }
}

/// Inside the scopes of agents, and at fixed places.
pub fn renamed(tree: &mut MigrationTree<'_>) {
    for scope in tree.agent_scopes() {
        for (from, to) in [("pdfMaxBytesMb", "pdfMaxMb"), ("timezone", "userTimezone")] {
            if scope.segments().len() == 2 {
                tree.shift_path(&scope.key(from), &scope.key(to), |v| v);
            }
        }
        let exec = scope.key("tools").key("exec");
        tree.shift_path(&exec.key("timeoutSec"), &exec.key("timeoutSeconds"), |v| v);
    }
    for (from, to) in [
        ("tools.exec.timeoutSec", "tools.exec.timeoutSeconds"),
        (
            "tools.web.fetch.maxBytes",
            "tools.web.fetch.maxResponseBytes",
        ),
        ("skills.extraDirs", "skills.load.extraDirs"),
        (
            "memory.qmd.extraPaths",
            "agents.defaults.memorySearch.extraPaths",
        ),
        ("plugins.paths", "plugins.load.paths"),
        ("update.autoUpdate", "update.auto"),
    ] {
        tree.shift(from, to);
    }
}

/// Another word for the same thing.
fn replace_word(tree: &mut MigrationTree<'_>, at: &KeyPath, word: &str) {
    let Some(node) = tree.node_mut(at) else {
        return;
    };
    let place = node.at;
    node.kind = NodeKind::String(word.to_owned());
    tree.note(at, place, &format!("`{word}`"));
}
