//! What holds between keys: the roster and who refers to it.

use std::collections::BTreeMap;

use chela_core::AgentId;
use chela_core::suggest::nearest;

use super::{CheckFinding, CheckedTree};
use crate::diagnostic::Severity;
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind, NodeSpan};

pub fn check(root: &ConfigNode, checked: &mut CheckedTree) {
    let list = root.get("agents").and_then(|agents| agents.get("list"));
    let known = roster(list, checked);
    if known.is_empty() {
        return;
    }
    for (at, path, id) in references(root) {
        if id != "*" && !known.contains_key(AgentId::normalize(id).as_str()) {
            let hint = match nearest(id, known.keys().map(String::as_str)) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("the agents are {}", listed(&known)),
            };
            let message = format!("there is no agent `{id}`");
            checked.findings.push(CheckFinding {
                hint: Some(hint),
                ..CheckFinding::new(Severity::Warning, "unknown-agent", (path, at), message)
            });
        }
    }
    exec_policies(root, checked);
}

/// The ids of the roster; says which are odd, double or doubly the default.
fn roster(list: Option<&ConfigNode>, checked: &mut CheckedTree) -> BTreeMap<String, usize> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut default: Option<usize> = None;
    let path = KeyPath::root().key("agents").key("list");
    for (index, entry) in list.map_or(&[][..], ConfigNode::items).iter().enumerate() {
        let entry_path = path.index(index);
        if let Some(node) = entry.get("id")
            && let Some(text) = node.as_str()
        {
            let id = AgentId::normalize(text);
            let mut say = |severity, code, message, hint, consequence| {
                let place = (entry_path.key("id"), node.at);
                checked.findings.push(CheckFinding {
                    hint: Some(hint),
                    consequence,
                    ..CheckFinding::new(severity, code, place, message)
                });
            };
            if id.as_str() != text {
                let hint = "use a-z, 0-9, `_` and `-`".to_owned();
                let message = format!("`{text}` is treated as `{id}`");
                say(Severity::Warning, "agent-id", message, hint, None);
            }
            match known.get(id.as_str()) {
                Some(first) => {
                    let message = format!("a second agent named `{id}`");
                    let hint = format!("the first is `agents.list[{first}]`; give each its own id");
                    let consequence = Some("the first is used");
                    say(
                        Severity::Error,
                        "duplicate-agent",
                        message,
                        hint,
                        consequence,
                    );
                    drop_whole(checked, entry_path.clone());
                    continue;
                }
                None => {
                    known.insert(id.to_string(), index);
                }
            }
        }
        if let Some(node) = entry.get("default")
            && node.kind == NodeKind::Bool(true)
        {
            match default {
                None => default = Some(index),
                Some(first) => {
                    let path = entry_path.key("default");
                    let (place, message) = ((path.clone(), node.at), "a second default agent");
                    let hint = format!("`agents.list[{first}]` is the default already; keep one");
                    checked.findings.push(CheckFinding {
                        hint: Some(hint),
                        consequence: Some("the first is used"),
                        ..CheckFinding::new(Severity::Error, "two-defaults", place, message)
                    });
                    drop_whole(checked, path);
                }
            }
        }
    }
    known
}

/// Adds a path to drop, in place of any drops inside it, keeping the order of the walk.
pub(super) fn drop_whole(checked: &mut CheckedTree, path: KeyPath) {
    checked.drops.retain(|drop| !drop.starts_with(&path));
    if !checked.drops.iter().any(|drop| path.starts_with(drop)) {
        checked.drops.push(path);
        checked.drops.sort();
    }
}

/// Every place that names an agent.
fn references(root: &ConfigNode) -> Vec<(NodeSpan, KeyPath, &str)> {
    let mut found = Vec::new();
    let top = KeyPath::root();
    let bindings = root.get("bindings").map_or(&[][..], ConfigNode::items);
    for (index, binding) in bindings.iter().enumerate() {
        if let Some(node) = binding.get("agentId")
            && let Some(id) = node.as_str()
        {
            found.push((node.at, top.key("bindings").index(index).key("agentId"), id));
        }
    }
    for member in root.get("broadcast").map_or(&[][..], ConfigNode::members) {
        for (index, node) in member.value.items().iter().enumerate() {
            if let Some(id) = node.as_str() {
                found.push((
                    node.at,
                    top.key("broadcast").key(&member.key).index(index),
                    id,
                ));
            }
        }
    }
    for keys in [
        &["systemAgent", "agentId"][..],
        &["agents", "defaults", "heartbeat", "agentId"],
    ] {
        let path = keys.iter().fold(top.clone(), |path, key| path.key(*key));
        if let Some(node) = root.at_path(&path)
            && let Some(id) = node.as_str()
        {
            found.push((node.at, path, id));
        }
    }
    found
}

fn listed(known: &BTreeMap<String, usize>) -> String {
    let names: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// `mode` says it all; the older pair beside it contradicts it.
fn exec_policies(root: &ConfigNode, checked: &mut CheckedTree) {
    let top = KeyPath::root();
    let list = top.key("agents").key("list");
    let agents = root.at_path(&list).map_or(0, |list| list.items().len());
    let agents = (0..agents).map(|index| list.index(index));
    for home in std::iter::once(top).chain(agents) {
        let path = home.key("tools").key("exec");
        let Some(exec) = root.at_path(&path) else {
            continue;
        };
        let (Some(_), Some(member)) = (exec.get("mode"), exec.member("security")) else {
            continue;
        };
        let path = path.key("security");
        let (place, message) = (
            (path.clone(), member.key_at),
            "`security` cannot be set together with `mode`",
        );
        let hint = "`mode` sets both what may run and when to ask; remove `security`";
        checked.findings.push(CheckFinding {
            hint: Some(hint.to_owned()),
            consequence: Some("`mode` is used"),
            ..CheckFinding::new(Severity::Error, "exec-mode-twice", place, message)
        });
        drop_whole(checked, path);
    }
}
