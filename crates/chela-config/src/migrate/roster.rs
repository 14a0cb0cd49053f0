//! The roster: a map of agents is read as a list.

use super::tree::{Tree, object_node, path, text_node};
use crate::key_path::KeyPath;
use crate::node::{Kind, Member, Node};

pub fn entries(tree: &mut Tree<'_>) {
    let from = path("agents.entries");
    if !matches!(
        tree.get("agents.entries").map(|node| &node.kind),
        Some(Kind::Object(_))
    ) {
        return;
    }
    let Some(member) = tree.take(&from) else {
        return;
    };
    let (map_at, key_at) = (member.value.at, member.key_at);
    let Kind::Object(members) = member.value.kind else {
        return;
    };
    let to = path("agents.list");
    tree.note(&from, key_at, "`agents.list`");
    let offset = tree.agents();
    let mut added = Vec::new();
    for (
        index,
        Member {
            key,
            key_at,
            mut value,
        },
    ) in members.into_iter().enumerate()
    {
        tree.moved_silently(&from.key(&key), &to.index(offset + index));
        if let Some(fields) = value.members_mut() {
            fields.retain(|field| field.key != "id");
            fields.insert(
                0,
                Member {
                    key: "id".into(),
                    key_at,
                    value: text_node(&key, key_at),
                },
            );
        }
        added.push(value);
    }
    match tree.node_mut(&to) {
        Some(Node {
            kind: Kind::Array(items),
            ..
        }) => items.extend(added),
        Some(_) => {}
        None => {
            tree.put(&to, map_at, Node::new(Kind::Array(added), map_at));
        }
    }
}

/// The identity of the one agent there was.
pub fn identity(tree: &mut Tree<'_>) {
    if tree.get("identity").is_none() {
        return;
    }
    let entry = default_entry(tree, "identity");
    tree.shift_path(&path("identity"), &entry.key("identity"), |value| value);
}

/// The entry of the default agent, made if there is no roster. `because` is the key it is made
/// for; its place becomes the place of the entry.
pub fn default_entry(tree: &mut Tree<'_>, because: &str) -> KeyPath {
    let list = path("agents.list");
    if tree.agents() == 0 {
        let at = tree
            .get(because)
            .map_or_else(Default::default, |node| node.at);
        let main = object_node(vec![("id", text_node("main", at))], at);
        tree.take(&list);
        tree.put(&list, at, Node::new(Kind::Array(vec![main]), at));
    }
    let default = tree
        .get("agents.list")
        .map_or(&[][..], Node::items)
        .iter()
        .position(|entry| {
            entry
                .get("default")
                .is_some_and(|flag| flag.kind == Kind::Bool(true))
        });
    list.index(default.unwrap_or(0))
}
