//! Switching plugins on and off, and what they may do: entries of the config.

use chela_config::KeyPath;
use chela_config::text::edit;
use chela_core::Host;
use chela_ledger::AuditKind;
use chela_plugins::{GrantSet, PluginGrant, PluginLock, remove_files};
use serde_json::{Value, json};

use super::{KnownPlugins, servers, shown};
use crate::chat::clean_line;
use crate::cmd::change_records::record_change;
use crate::cmd::mcp::set_up::write_server;
use crate::cmd::{CommandOutcome, config};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Whether a plugin is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginUse {
    On,
    Off,
}

/// Writes what counts for a plugin into the config.
pub fn write_entry(host: &Host, id: &str, what: &str, entry: &Value) -> Result<(), CommandError> {
    let body = json!({ "change": what, "about": id });
    record_change(host, AuditKind::ConfigChange, &body);
    let patch = json!({ "plugins": { "entries": { id: entry } } });
    config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })?;
    Ok(())
}

/// What is granted, with what its tools count as.
pub fn write_grants(
    host: &Host,
    id: &str,
    grants: &GrantSet,
    server_names: &[String],
) -> Result<(), CommandError> {
    let words: Vec<String> = grants.iter().map(ToString::to_string).collect();
    write_entry(host, id, "plugin grants", &json!({ "grants": words }))?;
    let effects = servers::effects_of(grants.iter());
    for server in server_names {
        // What is not named any more counts as the worst again.
        write_server(host, server, &json!({ "effects": null }))?;
        write_server(host, server, &json!({ "effects": effects }))?;
    }
    Ok(())
}

pub fn switch(host: &Host, screen: &mut Screen, id: &str, wanted: PluginUse) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    let plugin = known.plugin(id)?;
    let is_on = wanted == PluginUse::On;
    write_entry(host, id, "plugin switched", &json!({ "enabled": is_on }))?;
    if is_on {
        PluginLock::forget_faults(host, id).map_err(CommandError::new)?;
        let held = matches!(
            plugin.standing,
            chela_plugins::PluginStanding::Changed | chela_plugins::PluginStanding::Broken { .. }
        );
        if held {
            return Err(CommandError::new(format!(
                "{id} is switched on and still not used: {}",
                plugin.standing.in_words()
            ))
            .hint(format!("chela plugins doctor {id}")));
        }
    }
    screen.line(match wanted {
        PluginUse::On => format!("{id} is used from the next turn on."),
        PluginUse::Off => format!("{id} is not used any more."),
    })?;
    Ok(CommandExit::Fine)
}

pub fn grant(host: &Host, screen: &mut Screen, id: &str, given: &[String]) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    let plugin = known.plugin(id)?;
    let new = parse(given)?;
    let (old, _) = GrantSet::parse(&granted(&known, id));
    let missing = old.missing(&new);
    // One budget for a place and one effect for a tool: a new one replaces the old one.
    let replaced = |grant: &&PluginGrant| {
        !missing.iter().any(|new| match (new, grant) {
            (PluginGrant::Prompt { place: a, .. }, PluginGrant::Prompt { place: b, .. }) => a == b,
            (PluginGrant::Tool { name: a, .. }, PluginGrant::Tool { name: b, .. }) => a == b,
            _ => false,
        })
    };
    let all = GrantSet::of(old.iter().filter(replaced).chain(missing.iter()).cloned());
    write_grants(host, id, &all, &plugin.locked.servers)?;
    screen.line(format!("Granted to {}:", clean_line(id)))?;
    shown::print_grants(screen, &missing)?;
    Ok(CommandExit::Fine)
}

pub fn revoke(host: &Host, screen: &mut Screen, id: &str, given: &[String]) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    let plugin = known.plugin(id)?;
    let (old, _) = GrantSet::parse(&granted(&known, id));
    let gone = match given.is_empty() {
        true => old.clone(),
        false => parse(given)?,
    };
    let unknown = old.missing(&gone);
    if let Some(one) = unknown.iter().next() {
        return Err(CommandError::new(format!("{id} was not granted `{one}`"))
            .hint(format!("chela plugins info {id}")));
    }
    let kept = GrantSet::of(old.iter().filter(|grant| !gone.has(grant)).cloned());
    write_grants(host, id, &kept, &plugin.locked.servers)?;
    screen.line(match given.is_empty() {
        true => format!("{id} may do nothing any more."),
        false => format!("Revoked for {id}, from the next turn on."),
    })?;
    Ok(CommandExit::Fine)
}

pub fn remove(host: &Host, screen: &mut Screen, id: &str) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    known.plugin(id)?;
    let servers = &known.setup.loaded.config.mcp.servers;
    let mut gone = serde_json::Map::new();
    for (name, server) in servers {
        if server.plugin.as_deref() == Some(id) {
            gone.insert(name.clone(), Value::Null);
        }
    }
    let body = json!({ "change": "plugin removed", "about": id });
    record_change(host, AuditKind::ConfigChange, &body);
    let mut patch = json!({ "plugins": { "entries": { id: null } } });
    if !gone.is_empty()
        && let Some(fields) = patch.as_object_mut()
    {
        fields.insert("mcp".to_owned(), json!({ "servers": gone }));
    }
    config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })?;
    let kept = remove_files(host, id).map_err(CommandError::new)?;
    let kept = kept.map_or(String::new(), |kept| {
        format!(" Its files are in {}.", host.compact(&kept))
    });
    screen.line(format!("Removed {}.{kept}", clean_line(id)))?;
    Ok(CommandExit::Fine)
}

/// What the config grants, as it is written there.
pub fn granted(known: &KnownPlugins, id: &str) -> Vec<String> {
    let entries = &known.setup.loaded.config.plugins.entries;
    entries
        .get(id)
        .map(|entry| entry.grants.clone())
        .unwrap_or_default()
}

pub fn parse(given: &[String]) -> Result<GrantSet, CommandError> {
    let (set, wrong) = GrantSet::parse(given);
    match wrong.into_iter().next() {
        Some(error) => Err(CommandError::usage(error.to_string())),
        None => Ok(set),
    }
}
