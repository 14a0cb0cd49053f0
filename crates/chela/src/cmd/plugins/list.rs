//! `chela plugins list` and `info`.

use chela_core::Host;
use chela_plugins::{GrantSet, InstalledPlugin};
use serde_json::{Value, json};

use super::{KnownPlugins, shown};
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun};

fn as_json(plugin: &InstalledPlugin) -> Value {
    let words = |set: &GrantSet| set.iter().map(ToString::to_string).collect::<Vec<_>>();
    let manifest = plugin.package.as_ref().map(|package| &package.manifest);
    json!({
        "id": plugin.id,
        "standing": plugin.standing.in_words(),
        "ready": plugin.is_ready(),
        "required": plugin.is_required,
        "version": plugin.locked.version,
        "form": manifest.map(|manifest| manifest.form.in_words()),
        "from": plugin.locked.from.to_string(),
        "hash": plugin.locked.hash.to_string(),
        "asks": manifest.map(|manifest| words(&manifest.asks)),
        "grants": words(&plugin.grants),
        "hooks": manifest.map(|manifest| manifest.hooks().iter().map(|hook| hook.as_str()).collect::<Vec<_>>()),
        "skills": plugin.package.as_ref().map(|package| package.skills()),
        "servers": plugin.locked.servers,
        "leftOut": manifest.map(|manifest| manifest.left_out.clone()),
        "faults": plugin.locked.faults.in_a_row,
        "lastFault": plugin.locked.faults.last,
    })
}

pub fn list(host: &Host, screen: &mut Screen, json: bool) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    if json {
        let rows: Vec<Value> = known.plugins.iter().map(as_json).collect();
        screen.json(&json!({ "plugins": rows }))?;
        return Ok(CommandExit::Fine);
    }
    if known.plugins.is_empty() {
        screen.line("No plugins are installed. `chela plugins add` adds one.")?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let rows: Vec<Vec<String>> = known
        .plugins
        .iter()
        .map(|plugin| {
            let standing = clean_line(&plugin.standing.in_words());
            vec![
                paint.bold(clean_line(&plugin.id)),
                clean_line(plugin.locked.version.as_deref().unwrap_or("-")),
                match plugin.is_ready() {
                    true => paint.good(standing),
                    false => paint.warn(standing),
                },
                count_noun(plugin.grants.iter().count(), "grant"),
                paint.dim(clean_line(&plugin.locked.from.to_string())),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}

pub fn info(host: &Host, screen: &mut Screen, id: &str, json: bool) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    let plugin = known.plugin(id)?;
    if json {
        screen.json(&as_json(plugin))?;
        return Ok(CommandExit::Fine);
    }
    if let Some(package) = &plugin.package {
        shown::print_package(screen, package, &plugin.locked.servers)?;
    }
    screen.line(format!(
        "  {}; from {}",
        clean_line(&plugin.standing.in_words()),
        clean_line(&plugin.locked.from.to_string())
    ))?;
    match plugin.grants.is_empty() {
        true => screen.line("It was granted nothing.")?,
        false => screen.line("It was granted:")?,
    }
    shown::print_grants(screen, &plugin.grants)?;
    let asks = plugin
        .package
        .as_ref()
        .map(|package| &package.manifest.asks);
    let missing = asks
        .map(|asks| plugin.grants.missing(asks))
        .unwrap_or_default();
    if !missing.is_empty() {
        screen.line("It asks for this, too, and does not have it:")?;
        shown::print_grants(screen, &missing)?;
    }
    Ok(CommandExit::Fine)
}
