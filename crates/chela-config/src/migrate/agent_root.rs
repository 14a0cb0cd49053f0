//! `agent`, from the time when there was one: now `agents.defaults`.

use super::tree::{MigrationTree, list_node, object_node, path};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind, NodeMember};

pub fn run(tree: &mut MigrationTree<'_>) {
    if tree.get("agent").is_none() {
        return;
    }
    // What belongs to the tools now.
    tree.shift("agent.tools", "tools");
    tree.shift("agent.elevated", "tools.elevated");
    tree.shift("agent.bash", "tools.exec");
    tree.shift("agent.exec", "tools.exec");
    tree.shift("agent.sandbox.tools", "tools.sandbox.tools");
    tree.shift("agent.subagents.tools", "tools.subagents.tools");
    tree.shift("agent.identity", "identity");
    tree.shift("agent.thinkingLevel", "agents.defaults.thinkingDefault");
    aliases(tree);
    let policy = "agents.defaults.modelPolicy.allow";
    tree.shift_as("agent.allowedModels", policy, as_list);
    tree.shift("agent", "agents.defaults");
}

/// A model and its list of fallbacks, written apart, become one.
pub fn with_fallbacks(tree: &mut MigrationTree<'_>, model: &KeyPath, fallbacks: &KeyPath) {
    let Some(list) = tree.take(fallbacks) else {
        return;
    };
    let to = model.key("fallbacks");
    tree.moved(fallbacks, &to, list.key_at);
    if let Some(primary) = tree.take(model) {
        let value = match primary.value.kind {
            NodeKind::Object(_) => primary.value,
            _ => {
                tree.moved_silently(model, &model.key("primary"));
                object_node(vec![("primary", primary.value)], primary.key_at)
            }
        };
        tree.put(model, primary.key_at, value);
    }
    tree.put(&to, list.key_at, as_list(list.value));
}

/// One model is a list of one.
pub fn as_list(value: ConfigNode) -> ConfigNode {
    let at = value.at;
    match value.kind {
        NodeKind::Array(items) => list_node(items, at),
        kind => list_node(vec![ConfigNode::new(kind, at)], at),
    }
}

/// `modelAliases`: alias to model, now an alias of each model.
fn aliases(tree: &mut MigrationTree<'_>) {
    let from = path("agent.modelAliases");
    let Some(map) = tree.take(&from) else { return };
    let to = path("agents.defaults.models");
    tree.moved(&from, &to, map.key_at);
    let NodeKind::Object(members) = map.value.kind else {
        return;
    };
    for NodeMember {
        key: alias,
        key_at,
        value,
    } in members
    {
        let Some(model) = value.as_str().map(str::to_owned) else {
            continue;
        };
        let name = ConfigNode::new(NodeKind::String(alias), value.at);
        tree.put(
            &to.key(model),
            key_at,
            object_node(vec![("alias", name)], value.at),
        );
    }
}
