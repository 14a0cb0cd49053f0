//! Memory search: one home for both roots, and what is left of QMD.

use super::tree::{MigrationTree, list_node, object_node, path};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind};

pub fn roots(tree: &mut MigrationTree<'_>) {
    tree.shift("memorySearch", "agents.defaults.memorySearch");
    tree.shift("memory.search", "agents.defaults.memorySearch");
    tree.shift("memory.query", "agents.defaults.memorySearch.query");
    for scope in tree.agent_scopes() {
        tree.shift_in(&scope, "memory.search", "memorySearch");
        tree.shift_in(&scope, "memory.query", "memorySearch.query");
        tree.remove_if_empty(&scope.key("memory"));
    }
    tree.remove_if_empty(&path("memory"));
}

pub fn qmd(tree: &mut MigrationTree<'_>) {
    let backend = path("memory.backend");
    if tree.word(&backend) == Some("qmd")
        && let Some(member) = tree.take(&backend)
    {
        let hint = "memory search reads its paths itself; nothing needs to be installed";
        let message = "the memory system `qmd` is retired";
        tree.warn(&backend, member.key_at, message, hint);
    }
    let shared = path("agents.defaults.memorySearch");
    paths(tree, &path("memory.qmd.paths"), &shared);
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
