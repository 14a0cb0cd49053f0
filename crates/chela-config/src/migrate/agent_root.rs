//! `agent`, from the time when there was one: now `agents.defaults`.

use super::tree::{Tree, list_node, object_node, path};
use crate::node::{Kind, Member, Node};

pub fn run(tree: &mut Tree<'_>) {
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
    with_fallbacks(tree, "agent.model", "agent.modelFallbacks");
    with_fallbacks(tree, "agent.imageModel", "agent.imageModelFallbacks");
    aliases(tree);
    allowed(tree);
    tree.shift("agent", "agents.defaults");
}

/// A model and its list of fallbacks, written apart, become one.
fn with_fallbacks(tree: &mut Tree<'_>, model: &str, fallbacks: &str) {
    let Some(list) = tree.take(&path(fallbacks)) else {
        return;
    };
    let target = path(model);
    tree.moved(&path(fallbacks), &target.key("fallbacks"), list.key_at);
    let primary = tree.take(&target);
    let mut members = Vec::new();
    if let Some(primary) = primary {
        match primary.value.kind {
            Kind::Object(inner) => {
                let value = Node::new(Kind::Object(inner), primary.value.at);
                tree.put(&target, primary.key_at, value);
                tree.put(&target.key("fallbacks"), list.key_at, list.value);
                return;
            }
            _ => members.push(("primary", primary.value)),
        }
    }
    members.push(("fallbacks", list.value));
    tree.put(&target, list.key_at, object_node(members, list.key_at));
}

/// `modelAliases`: alias to model, now an alias of each model.
fn aliases(tree: &mut Tree<'_>) {
    let from = path("agent.modelAliases");
    let Some(map) = tree.take(&from) else { return };
    let to = path("agents.defaults.models");
    tree.moved(&from, &to, map.key_at);
    let Kind::Object(members) = map.value.kind else {
        return;
    };
    for Member {
        key: alias,
        key_at,
        value,
    } in members
    {
        let Some(model) = value.as_str().map(str::to_owned) else {
            continue;
        };
        let name = Node::new(Kind::String(alias), value.at);
        tree.put(
            &to.key(model),
            key_at,
            object_node(vec![("alias", name)], value.at),
        );
    }
}

/// `allowedModels`: now `modelPolicy.allow`.
fn allowed(tree: &mut Tree<'_>) {
    tree.shift_as(
        "agent.allowedModels",
        "agents.defaults.modelPolicy.allow",
        |value| {
            let at = value.at;
            match value.kind {
                Kind::Array(items) => list_node(items, at),
                other => list_node(vec![Node::new(other, at)], at),
            }
        },
    );
}
