//! Where an agent's folders are.

use std::path::{Path, PathBuf};

use chela_core::{AgentId, vars};

use super::{ResolvedValue, ValueProvenance};
use crate::diagnostic::SourcePlace;
use crate::key_path::KeyPath;
use crate::load::LoadedConfig;
use crate::node::ConfigNode;

pub fn workspace_dir(loaded: &LoadedConfig, id: &AgentId) -> ResolvedValue<PathBuf> {
    let host = &loaded.host;
    let is_default = *id == loaded.default_agent();
    if let Some((text, from)) = own_text(loaded, id, "workspace") {
        return ResolvedValue {
            value: from_config(loaded, &text),
            from,
        };
    }
    if !is_default {
        return match nested_workspace(loaded, id) {
            Some(nested) => {
                let why = "it holds files; new agents get a folder of their own".to_owned();
                ResolvedValue::derived(nested, why)
            }
            None => ResolvedValue::derived(
                outer_workspace(loaded, id),
                "the state folder, by the agent's id",
            ),
        };
    }
    if let Some((folder, path, place)) = default_workspace(loaded) {
        return ResolvedValue {
            value: folder,
            from: ValueProvenance::Defaults { path, place },
        };
    }
    let named = loaded.env().get(vars::WORKSPACE).map(|text| text.trim());
    match named.filter(|text| !text.is_empty()) {
        Some(text) => ResolvedValue {
            value: host.expand(text),
            from: ValueProvenance::Env {
                var: vars::WORKSPACE.to_owned(),
            },
        },
        None => ResolvedValue::by_default(host.state_dir().join("workspace")),
    }
}

/// Where an agent that is not the default one has its files unless somebody says otherwise: beside
/// the default agent's workspace, not in it.
pub fn outer_workspace(loaded: &LoadedConfig, id: &AgentId) -> PathBuf {
    loaded.host.state_dir().join(format!("workspace-{id}"))
}

/// The folder inside of the default agent's workspace in which an agent has its files from before,
/// if there are any and nothing else is set.
pub fn nested_workspace(loaded: &LoadedConfig, id: &AgentId) -> Option<PathBuf> {
    if *id == loaded.default_agent() || own_text(loaded, id, "workspace").is_some() {
        return None;
    }
    let (folder, ..) = default_workspace(loaded)?;
    let nested = folder.join(id.as_str());
    let holds_files =
        |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some());
    (holds_files(&nested) && !holds_files(&outer_workspace(loaded, id))).then_some(nested)
}

/// `agents.defaults.workspace`, with where it is set.
fn default_workspace(loaded: &LoadedConfig) -> Option<(PathBuf, KeyPath, Option<SourcePlace>)> {
    let path = KeyPath::root()
        .key("agents")
        .key("defaults")
        .key("workspace");
    let node = loaded.tree.at_path(&path)?;
    let folder = from_config(loaded, filled(node)?);
    Some((folder, path, loaded.place(node.at)))
}

pub fn agent_dir(loaded: &LoadedConfig, id: &AgentId) -> ResolvedValue<PathBuf> {
    match own_text(loaded, id, "agentDir") {
        Some((text, from)) => ResolvedValue {
            value: from_config(loaded, &text),
            from,
        },
        None => {
            let agents = loaded.host.state_dir().join("agents");
            ResolvedValue::by_default(agents.join(id.as_str()).join("agent"))
        }
    }
}

/// A path as written in the config: relative to the folder of the config file.
pub fn from_config(loaded: &LoadedConfig, text: &str) -> PathBuf {
    let file = loaded.file();
    let folder = file.parent().unwrap_or(Path::new("."));
    loaded.host.expand_from(text, folder)
}

/// Where the agent's entry stands in the roster.
pub fn entry_path(loaded: &LoadedConfig, id: &AgentId) -> Option<KeyPath> {
    let list = KeyPath::root().key("agents").key("list");
    let index = loaded
        .config
        .agents
        .list
        .iter()
        .position(|entry| AgentId::normalize(&entry.id) == *id)?;
    Some(list.index(index))
}

fn own_text(loaded: &LoadedConfig, id: &AgentId, key: &str) -> Option<(String, ValueProvenance)> {
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
