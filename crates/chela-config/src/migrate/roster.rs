//! The roster: a map of agents is read as a list.

use super::agent_root::{as_list, with_fallbacks};
use super::tree::{MigrationTree, object_node, path, text_node};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind, NodeMember};

pub fn entries(tree: &mut MigrationTree<'_>) {
    map_to_list(tree, &path("agents.list"));
    map_to_list(tree, &path("agents.entries"));
}

fn map_to_list(tree: &mut MigrationTree<'_>, from: &KeyPath) {
    if !matches!(
        tree.root.at_path(from).map(|node| &node.kind),
        Some(NodeKind::Object(_))
    ) {
        return;
    }
    let Some(member) = tree.take(from) else {
        return;
    };
    let (map_at, key_at) = (member.value.at, member.key_at);
    let NodeKind::Object(members) = member.value.kind else {
        return;
    };
    let to = path("agents.list");
    tree.note(from, key_at, "`agents.list`");
    let offset = tree.agents();
    let mut added = Vec::new();
    for (index, member) in members.into_iter().enumerate() {
        let NodeMember {
            key,
            key_at,
            mut value,
        } = member;
        tree.moved_silently(&from.key(&key), &to.index(offset + index));
        if let Some(fields) = value.members_mut() {
            fields.retain(|field| field.key != "id");
            let id = text_node(&key, key_at);
            fields.insert(
                0,
                NodeMember {
                    key: "id".into(),
                    key_at,
                    value: id,
                },
            );
        }
        added.push(value);
    }
    match tree.node_mut(&to) {
        Some(ConfigNode {
            kind: NodeKind::Array(items),
            ..
        }) => items.extend(added),
        Some(_) => {}
        None => {
            tree.put(&to, map_at, ConfigNode::new(NodeKind::Array(added), map_at));
        }
    }
}

/// Keys of the roster that others have written elsewhere.
pub fn keys(tree: &mut MigrationTree<'_>) {
    let list = path("agents.list");
    for index in 0..tree.agents() {
        let entry = list.index(index);
        tree.shift_path(&entry.key("agentId"), &entry.key("id"), |value| value);
        tree.shift_path(&entry.key("displayName"), &entry.key("name"), |value| value);
    }
    default_name(tree);
    for scope in tree.agent_scopes() {
        for key in ["temperature", "maxTokens", "topP"] {
            tree.shift_path(&scope.key(key), &scope.key("params").key(key), |value| {
                value
            });
        }
        let model = scope.key("model");
        for key in ["fallbacks", "fallback", "modelFallbacks"] {
            with_fallbacks(tree, &model, &scope.key(key));
        }
        with_fallbacks(
            tree,
            &scope.key("imageModel"),
            &scope.key("imageModelFallbacks"),
        );
        tree.shift_path(&model.key("fallback"), &model.key("fallbacks"), as_list);
    }
}

/// `agents.default` names an agent; the agent carries the flag.
fn default_name(tree: &mut MigrationTree<'_>) {
    let from = path("agents.default");
    let Some(id) = tree
        .get("agents.default")
        .and_then(ConfigNode::as_str)
        .map(str::to_owned)
    else {
        return;
    };
    let items = tree.get("agents.list").map_or(&[][..], ConfigNode::items);
    let found = items
        .iter()
        .position(|entry| entry.get("id").and_then(ConfigNode::as_str) == Some(&id));
    if let Some(index) = found {
        let to = path("agents.list").index(index).key("default");
        tree.shift_path(&from, &to, |value| {
            ConfigNode::new(NodeKind::Bool(true), value.at)
        });
    }
}

/// The identity of the one agent there was.
pub fn identity(tree: &mut MigrationTree<'_>) {
    if tree.get("identity").is_none() {
        return;
    }
    let entry = default_entry(tree, "identity");
    tree.shift_path(&path("identity"), &entry.key("identity"), |value| value);
}

/// The entry of the default agent, made if there is no roster. `because` is the key it is made
/// for; its place becomes the place of the entry.
pub fn default_entry(tree: &mut MigrationTree<'_>, because: &str) -> KeyPath {
    let list = path("agents.list");
    if tree.agents() == 0 {
        let at = tree
            .get(because)
            .map_or_else(Default::default, |node| node.at);
        let main = object_node(vec![("id", text_node("main", at))], at);
        tree.take(&list);
        tree.put(&list, at, ConfigNode::new(NodeKind::Array(vec![main]), at));
    }
    let default = tree
        .get("agents.list")
        .map_or(&[][..], ConfigNode::items)
        .iter()
        .position(|entry| {
            entry
                .get("default")
                .is_some_and(|flag| flag.kind == NodeKind::Bool(true))
        });
    list.index(default.unwrap_or(0))
}
