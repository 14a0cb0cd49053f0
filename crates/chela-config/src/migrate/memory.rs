//! Memory search: one home for both roots, and what is left of QMD.

use super::tree::{MigrationTree, list_node, object_node, path};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind};

pub fn roots(tree: &mut MigrationTree<'_>) {
    tree.shift("memorySearch", "agents.defaults.memorySearch");
    tree.shift("memory.search", "agents.defaults.memorySearch");
    tree.shift("memory.query", "agents.defaults.memorySearch.query");
    for scope in tree.agent_scopes() {
        tree.shift_path(
            &scope.key("memory").key("search"),
            &scope.key("memorySearch"),
            |v| v,
        );
        tree.shift_path(
            &scope.key("memory").key("query"),
            &scope.key("memorySearch").key("query"),
            |v| v,
        );
        let home = scope.key("memory");
        if matches!(tree.root.at_path(&home).map(|node| &node.kind), Some(NodeKind::Object(m)) if m.is_empty())
        {
            tree.take(&home);
        }
    }
    tree.remove_if_empty("memory");
}

pub fn qmd(tree: &mut MigrationTree<'_>) {
    let backend = path("memory.backend");
    if tree.root.at_path(&backend).and_then(ConfigNode::as_str) == Some("qmd")
        && let Some(member) = tree.take(&backend)
    {
        let hint = "memory search reads its paths itself; nothing needs to be installed";
        tree.warn(
            &backend,
            member.key_at,
            "the memory system `qmd` is retired",
            hint,
        );
    }
    paths(
        tree,
        &path("memory.qmd.paths"),
        &path("agents.defaults.memorySearch"),
    );
    for scope in tree.agent_scopes() {
        let search = scope.key("memorySearch");
        paths(tree, &search.key("qmd").key("extraCollections"), &search);
    }
}

/// Paths with patterns, added to the extra paths of a search.
fn paths(tree: &mut MigrationTree<'_>, from: &KeyPath, search: &KeyPath) {
    let Some(member) = tree.take(from) else {
        return;
    };
    let to = search.key("extraPaths");
    tree.moved(from, &to, member.key_at);
    let at = member.value.at;
    let NodeKind::Array(items) = member.value.kind else {
        return;
    };
    let more = items.into_iter().map(plain);
    match tree.node_mut(&to) {
        Some(ConfigNode {
            kind: NodeKind::Array(known),
            ..
        }) => known.extend(more),
        _ => {
            let list = list_node(more.collect(), at);
            tree.put(&to, member.key_at, list);
        }
    }
}

/// `{ path }` alone is just the path.
fn plain(item: ConfigNode) -> ConfigNode {
    let at = item.at;
    match (item.get("path"), item.get("pattern")) {
        (Some(path), None) => path.clone(),
        (Some(path), Some(pattern)) => object_node(
            vec![("path", path.clone()), ("pattern", pattern.clone())],
            at,
        ),
        _ => item,
    }
}
