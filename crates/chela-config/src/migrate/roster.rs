//! The roster: a map of agents is read as a list.

use super::agent_root::{as_list, with_fallbacks};
use super::tree::{MigrationTree, object_node, path, text_node};
use crate::key_path::KeyPath;
use crate::model::{AgentEntry, Agents};
use crate::node::{ConfigNode, NodeKind, NodeMember, NodeSpan};
use crate::shape::{HasShape, ValueShape};

pub fn entries(tree: &mut MigrationTree<'_>) {
    map_to_list(tree, &path("agents.list"));
    map_to_list(tree, &path("agents.entries"));
}

fn map_to_list(tree: &mut MigrationTree<'_>, from: &KeyPath) {
    let kind = tree.root.at_path(from).map(|node| &node.kind);
    let Some(NodeKind::Object(members)) = kind.cloned() else {
        return;
    };
    let Some(NodeMember { key_at, value, .. }) = tree.take(from) else {
        return;
    };
    let map_at = value.at;
    let to = path("agents.list");
    tree.note(from, key_at, "`agents.list`");
    let offset = tree.agents();
    let mut added = Vec::new();
    for (index, member) in members.into_iter().enumerate() {
        tree.moved_silently(&from.key(&member.key), &to.index(offset + index));
        added.push(entry_of(member));
    }
    add_entries(tree, map_at, added);
}

/// `agents.<id>`: an agent that stands beside `defaults`.
pub fn named(tree: &mut MigrationTree<'_>) {
    for id in tree.keys("agents") {
        let from = path("agents").key(&id);
        if !is_agent(tree, &id, &from) {
            continue;
        }
        let Some(member) = tree.take(&from) else {
            continue;
        };
        let to = path("agents.list").index(tree.agents());
        tree.note(&from, member.key_at, &format!("`{to}`"));
        tree.moved_silently(&from, &to);
        let at = member.value.at;
        add_entries(tree, at, vec![entry_of(member)]);
    }
}

/// Whether a key beside `defaults` is an agent: no slip of the pen, and it holds what agents have.
fn is_agent(tree: &MigrationTree<'_>, id: &str, from: &KeyPath) -> bool {
    let keys = |shape: &'static ValueShape| {
        let object = shape.as_object();
        object
            .into_iter()
            .flat_map(|object| object.fields)
            .map(|field| field.key)
    };
    let known = keys(Agents::SHAPE).chain(["default"]);
    let fields: Vec<&str> = keys(AgentEntry::SHAPE).collect();
    let held = tree.root.at_path(from).map(|node| node.members());
    chela_core::AgentId::parse(id).is_ok()
        && chela_core::suggest::nearest(id, known).is_none()
        && entry_named(tree, id).is_none()
        && held.is_some_and(|held| {
            held.iter()
                .any(|member| fields.contains(&member.key.as_str()))
        })
}

/// An agent of a map as an entry of the list.
fn entry_of(member: NodeMember) -> ConfigNode {
    let NodeMember {
        key,
        key_at,
        mut value,
    } = member;
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
    value
}

fn add_entries(tree: &mut MigrationTree<'_>, at: NodeSpan, added: Vec<ConfigNode>) {
    let list = path("agents.list");
    match tree.node_mut(&list) {
        Some(ConfigNode {
            kind: NodeKind::Array(items),
            ..
        }) => items.extend(added),
        Some(_) => {}
        None => {
            tree.put(&list, at, ConfigNode::new(NodeKind::Array(added), at));
        }
    }
}

/// Keys of the roster that others have written elsewhere.
pub fn keys(tree: &mut MigrationTree<'_>) {
    for entry in tree.agent_entries() {
        tree.shift_in(&entry, "agentId", "id");
        tree.shift_in(&entry, "displayName", "name");
    }
    default_name(tree);
    for scope in tree.agent_scopes() {
        for key in ["temperature", "maxTokens", "topP"] {
            tree.shift_in(&scope, key, &format!("params.{key}"));
        }
        let model = scope.key("model");
        for key in ["fallbacks", "fallback", "modelFallbacks"] {
            with_fallbacks(tree, &model, &scope.key(key));
        }
        let image = scope.key("imageModel");
        with_fallbacks(tree, &image, &scope.key("imageModelFallbacks"));
        tree.shift_path(&model.key("fallback"), &model.key("fallbacks"), as_list);
    }
}

/// `agents.default` names an agent; the agent carries the flag.
fn default_name(tree: &mut MigrationTree<'_>) {
    let from = path("agents.default");
    let Some(id) = tree.word(&from).map(str::to_owned) else {
        return;
    };
    if let Some(entry) = entry_named(tree, &id) {
        tree.shift_path(&from, &entry.key("default"), |value| {
            ConfigNode::new(NodeKind::Bool(true), value.at)
        });
    }
}

/// The entry with an id.
pub fn entry_named(tree: &MigrationTree<'_>, id: &str) -> Option<KeyPath> {
    tree.agent_entries()
        .find(|entry| tree.word(&entry.key("id")) == Some(id))
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
    let flag = |entry: &KeyPath| tree.root.at_path(&entry.key("default"));
    tree.agent_entries()
        .find(|entry| flag(entry).is_some_and(|flag| flag.kind == NodeKind::Bool(true)))
        .unwrap_or_else(|| list.index(0))
}
