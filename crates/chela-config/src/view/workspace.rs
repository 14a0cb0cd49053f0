//! Where an agent's folders are.

use std::path::{Path, PathBuf};

use chela_core::{AgentId, vars};

use super::{ResolvedValue, ValueProvenance};
use crate::key_path::KeyPath;
use crate::load::Loaded;
use crate::node::ConfigNode;

pub fn workspace_dir(loaded: &Loaded, id: &AgentId) -> ResolvedValue<PathBuf> {
    let host = &loaded.host;
    let is_default = *id == loaded.default_agent();
    if let Some((text, from)) = own_text(loaded, id, "workspace") {
        return ResolvedValue {
            value: from_config(loaded, &text),
            from,
        };
    }
    let defaults = KeyPath::root()
        .key("agents")
        .key("defaults")
        .key("workspace");
    if let Some(node) = loaded.tree.at_path(&defaults)
        && let Some(text) = filled(node)
    {
        let folder = from_config(loaded, text);
        let place = loaded.place(node.at);
        return if is_default {
            ResolvedValue {
                value: folder,
                from: ValueProvenance::Defaults {
                    path: defaults,
                    place,
                },
            }
        } else {
            let why = format!("the folder `{id}` in {defaults}");
            ResolvedValue {
                value: folder.join(id.as_str()),
                from: ValueProvenance::Derived { why },
            }
        };
    }
    if is_default {
        let named = loaded
            .env()
            .get(vars::WORKSPACE)
            .map(|text| text.trim())
            .filter(|text| !text.is_empty());
        return match named {
            Some(text) => ResolvedValue {
                value: host.expand(text),
                from: ValueProvenance::Env {
                    var: vars::WORKSPACE.to_owned(),
                },
            },
            None => ResolvedValue {
                value: host.state_dir().join("workspace"),
                from: ValueProvenance::Default,
            },
        };
    }
    ResolvedValue {
        value: host.state_dir().join(format!("workspace-{id}")),
        from: ValueProvenance::Derived {
            why: "the state folder, by the agent's id".to_owned(),
        },
    }
}

pub fn agent_dir(loaded: &Loaded, id: &AgentId) -> ResolvedValue<PathBuf> {
    match own_text(loaded, id, "agentDir") {
        Some((text, from)) => ResolvedValue {
            value: from_config(loaded, &text),
            from,
        },
        None => ResolvedValue {
            value: loaded
                .host
                .state_dir()
                .join("agents")
                .join(id.as_str())
                .join("agent"),
            from: ValueProvenance::Default,
        },
    }
}

/// A path as written in the config: relative to the folder of the config file.
pub fn from_config(loaded: &Loaded, text: &str) -> PathBuf {
    let file = loaded.file();
    let folder = file.parent().unwrap_or(Path::new("."));
    loaded.host.expand_from(text, folder)
}

/// Where the agent's entry stands in the roster.
pub fn entry_path(loaded: &Loaded, id: &AgentId) -> Option<KeyPath> {
    let list = KeyPath::root().key("agents").key("list");
    let index = loaded
        .config
        .agents
        .list
        .iter()
        .position(|entry| AgentId::normalize(&entry.id) == *id)?;
    Some(list.index(index))
}

fn own_text(loaded: &Loaded, id: &AgentId, key: &str) -> Option<(String, ValueProvenance)> {
    let path = entry_path(loaded, id)?.key(key);
    let node = loaded.tree.at_path(&path)?;
    let text = filled(node)?.to_owned();
    let place = loaded.place(node.at);
    let path =
        crate::migrate::written_at(&loaded.moves, &path).map_or(path, |(written, _)| written);
    Some((text, ValueProvenance::Agent { path, place }))
}

fn filled(node: &ConfigNode) -> Option<&str> {
    node.as_str().map(str::trim).filter(|text| !text.is_empty())
}
