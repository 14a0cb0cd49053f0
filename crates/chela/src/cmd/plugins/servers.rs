//! MCP servers that come with a plugin: set up in the config, and not used before their owner says so.

use std::path::Path;

use chela_plugins::{PluginGrant, PluginManifest};
use serde_json::{Map, Value, json};

use crate::cmd::mcp::project_file::named_server;

const MOST_BYTES: u64 = 256 << 10;
const MOST_SERVERS: usize = 16;

/// A server of a plugin, as the config has it.
pub struct PluginServer {
    pub name: String,
    pub entry: Value,
    /// In words.
    pub told: String,
}

/// The servers a package names. `folder` is where it is read, `home` where it will lie.
pub fn servers_of(manifest: &PluginManifest, folder: &Path, home: &Path) -> Vec<PluginServer> {
    let mut servers = named_servers(manifest, folder, home);
    servers.extend(openclaw_server(manifest, home));
    servers
}

fn named_servers(manifest: &PluginManifest, folder: &Path, home: &Path) -> Vec<PluginServer> {
    let file = manifest
        .parts
        .servers
        .as_ref()
        .map(|name| folder.join(name));
    let file = file.filter(|file| {
        std::fs::symlink_metadata(file)
            .is_ok_and(|facts| facts.is_file() && facts.len() <= MOST_BYTES)
    });
    let told = match (&manifest.parts.inline_servers, file) {
        (Some(inline), _) => json!({ "mcpServers": inline }),
        (None, Some(file)) => std::fs::read_to_string(file)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
        (None, None) => Value::Null,
    };
    let named = told["mcpServers"].as_object().into_iter().flatten();
    let servers = named.take(MOST_SERVERS).filter_map(|(name, told)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return None;
        }
        let told = in_package(told, home);
        let named = named_server(name, &told, home)?;
        let told = named.describe();
        let mut entry = named.entry;
        let fields = entry.as_object_mut()?;
        // Its folder is shown to it as long as the plugin is on.
        fields.remove("folders");
        fields.remove("cwd");
        fields.insert("plugin".to_owned(), manifest.id.as_str().into());
        fields.insert("enabled".to_owned(), false.into());
        Some(PluginServer {
            name: format!("{}-{name}", manifest.id.replace('.', "-")),
            entry,
            told,
        })
    });
    servers.collect()
}

/// A server entry with what stands for the folder of the plugin filled in.
fn in_package(told: &Value, home: &Path) -> Value {
    let root = home.display().to_string();
    match told {
        Value::String(text) => {
            let text = text
                .replace("${PLUGIN_ROOT}", &root)
                .replace("${CLAUDE_PLUGIN_ROOT}", &root);
            match text.strip_prefix("./") {
                Some(inner) if !inner.split('/').any(|part| part == "..") => {
                    home.join(inner).display().to_string().into()
                }
                _ => text.into(),
            }
        }
        Value::Array(items) => items.iter().map(|item| in_package(item, home)).collect(),
        Value::Object(fields) => {
            let filled = fields
                .iter()
                .map(|(name, value)| (name.clone(), in_package(value, home)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

/// What the tools of an OpenClaw plugin are served by: the same module, behind the same shim.
fn openclaw_server(manifest: &PluginManifest, home: &Path) -> Option<PluginServer> {
    let (command, args) = manifest.tool_server(home)?;
    let mut fields = Map::new();
    fields.insert("command".to_owned(), command.into());
    fields.insert("args".to_owned(), json!(args));
    fields.insert("plugin".to_owned(), manifest.id.as_str().into());
    fields.insert("enabled".to_owned(), false.into());
    fields.insert("env".to_owned(), json!({ "CHELA_PLUGIN_ID": manifest.id }));
    Some(PluginServer {
        name: manifest.id.replace('.', "-"),
        entry: Value::Object(fields),
        told: "its tools, in Node behind a shim, in the sandbox".to_owned(),
    })
}

/// What tools count as, as it was granted.
pub fn effects_of<'g>(grants: impl Iterator<Item = &'g PluginGrant>) -> Value {
    let effects = grants.filter_map(|grant| match grant {
        PluginGrant::Tool { name, effect } => Some((name.clone(), Value::from(effect.as_str()))),
        _ => None,
    });
    Value::Object(effects.collect())
}
