//! `routing`, an older home of agents, bindings, queues and mentions.

use super::roster::{default_entry, entry_named};
use super::tree::{MigrationTree, path, text_node};
use crate::node::{ConfigNode, NodeKind, NodeMember};

pub fn run(tree: &mut MigrationTree<'_>) {
    if tree.get("routing").is_none() {
        return;
    }
    agents(tree);
    default_agent(tree);
    tree.shift("routing.bindings", "bindings");
    tree.shift("routing.agentToAgent", "tools.agentToAgent");
    tree.shift("routing.queue", "messages.queue");
    tree.shift("routing.allowFrom", "channels.whatsapp.allowFrom");
    tree.shift("routing.transcribeAudio", "audio.transcription");
    mention(tree);
    tree.shift("routing.groupChat", "messages.groupChat");
    tree.remove_if_empty(&path("routing"));
}

/// A map of agents, by id.
fn agents(tree: &mut MigrationTree<'_>) {
    tree.shift("routing.agents", "agents.entries");
    let Some(entries) = tree.node_mut(&path("agents.entries")) else {
        return;
    };
    for entry in entries.members_mut().into_iter().flatten() {
        // The older list of mention patterns stood in the agent itself.
        let Some(fields) = entry.value.members_mut() else {
            continue;
        };
        if let Some(index) = fields
            .iter()
            .position(|field| field.key == "mentionPatterns")
        {
            let patterns = fields.remove(index);
            let (key_at, at) = (patterns.key_at, patterns.value.at);
            let group = ConfigNode::new(NodeKind::Object(vec![patterns]), at);
            fields.push(NodeMember {
                key: "groupChat".into(),
                key_at,
                value: group,
            });
        }
    }
}

/// The id of the default agent, now a flag of that agent.
fn default_agent(tree: &mut MigrationTree<'_>) {
    let from = path("routing.defaultAgentId");
    let Some(member) = tree.take(&from) else {
        return;
    };
    let Some(id) = member.value.as_str().map(str::to_owned) else {
        return;
    };
    let yes = ConfigNode::new(NodeKind::Bool(true), member.value.at);
    let in_map = path("agents.entries").key(&id);
    let to = if tree.root.at_path(&in_map).is_some() {
        in_map.key("default")
    } else if let Some(entry) = entry_named(tree, &id) {
        entry.key("default")
    } else {
        let entry = default_entry(tree, "routing");
        if let Some(node) = tree.node_mut(&entry.key("id")) {
            *node = text_node(&id, member.value.at);
        }
        entry.key("default")
    };
    tree.moved(&from, &to, member.key_at);
    tree.put(&to, member.key_at, yes);
}

/// Whether a mention is needed, now a setting of all groups of the channels that had it.
fn mention(tree: &mut MigrationTree<'_>) {
    let from = path("routing.groupChat.requireMention");
    let Some(member) = tree.take(&from) else {
        return;
    };
    let mut named = false;
    for channel in ["whatsapp", "telegram", "imessage"] {
        let home = path("channels").key(channel);
        let configured = tree.root.at_path(&home).is_some() || tree.get(channel).is_some();
        if configured || channel == "whatsapp" {
            let to = home.key("groups").key("*").key("requireMention");
            if named {
                tree.moved_silently(&from, &to);
            } else {
                tree.moved(&from, &to, member.key_at);
                named = true;
            }
            tree.put(&to, member.key_at, member.value.clone());
        }
    }
}
