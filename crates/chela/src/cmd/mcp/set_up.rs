//! Changes of `mcp.servers` in the config.

use chela_config::KeyPath;
use chela_config::model::McpEffect;
use chela_config::text::edit;
use chela_core::Host;
use chela_ledger::AuditKind;
use chela_mcp::{KeptLogin, McpRecord};
use serde_json::{Value, json};

use super::{CommandSetup, prefix, unknown};
use crate::chat::clean_line;
use crate::cmd::change_records::record_change;
use crate::cmd::{CommandOutcome, config};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Whether a server is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerUse {
    On,
    Off,
}

/// Writes one server into the config, or changes what is written of it.
pub fn write_server(host: &Host, name: &str, entry: &Value) -> Result<(), CommandError> {
    let body = json!({ "change": "mcp server set up", "about": name });
    record_change(host, AuditKind::ConfigChange, &body);
    let patch = json!({ "mcp": { "servers": { name: entry } } });
    config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })?;
    Ok(())
}

pub fn enable(host: &Host, screen: &mut Screen, name: &str, wanted: ServerUse) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let servers = &setup.loaded.config.mcp.servers;
    if !servers.contains_key(name) {
        return Err(unknown(name, servers.keys().map(String::as_str)));
    }
    write_server(host, name, &json!({ "enabled": wanted == ServerUse::On }))?;
    screen.line(match wanted {
        ServerUse::On => format!("{} is used again.", clean_line(name)),
        ServerUse::Off => format!(
            "{} is not used any more. Conversations that are open lose its tools with their next \
             message.",
            clean_line(name)
        ),
    })?;
    Ok(CommandExit::Fine)
}

pub fn remove(host: &Host, screen: &mut Screen, name: &str) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let servers = &setup.loaded.config.mcp.servers;
    if !servers.contains_key(name) {
        return Err(unknown(name, servers.keys().map(String::as_str)));
    }
    let body = json!({ "change": "mcp server removed", "about": name });
    record_change(host, AuditKind::ConfigChange, &body);
    let patch = json!({ "mcp": { "servers": { name: null } } });
    config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })?;
    let files = prefix(name);
    McpRecord::change(host, |record| record.servers.remove(&files)).map_err(CommandError::new)?;
    KeptLogin::forget(host, &files).map_err(CommandError::new)?;
    screen.line(format!("Removed {}.", clean_line(name)))?;
    Ok(CommandExit::Fine)
}

/// `tool=effect`, as it is typed.
pub fn parse_effect(typed: &str) -> Result<(String, McpEffect), CommandError> {
    let (tool, effect) = typed.rsplit_once('=').unwrap_or(("", ""));
    let word = effect.trim().replace('-', "_");
    match (tool.trim(), McpEffect::from_word(&word)) {
        (tool, Some(effect)) if !tool.is_empty() => Ok((tool.to_owned(), effect)),
        _ => Err(
            CommandError::usage(format!("`{}` is not TOOL=EFFECT", clean_line(typed)))
                .hint("effects are irreversible, read, egress, write_reversible and write_outward"),
        ),
    }
}
