//! `chela plugins doctor`: what is wrong with plugins, and what to do.

use chela_core::Host;
use chela_plugins::{InstalledPlugin, PluginStanding};

use super::KnownPlugins;
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, id: Option<&str>) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    if let Some(id) = id {
        known.plugin(id)?;
    }
    let mut found = 0;
    let asked = known.plugins.iter();
    for plugin in asked.filter(|plugin| id.is_none_or(|id| plugin.id == id)) {
        let troubles = troubles_of(plugin);
        if troubles.is_empty() {
            screen.line(format!("{} is fine.", clean_line(&plugin.id)))?;
        }
        for trouble in troubles {
            found += 1;
            print_trouble(screen, &plugin.id, &trouble)?;
        }
    }
    Ok(match found {
        0 => CommandExit::Fine,
        _ => CommandExit::Findings,
    })
}

struct PluginTrouble {
    what: String,
    what_next: String,
}

fn print_trouble(
    screen: &mut Screen,
    id: &str,
    trouble: &PluginTrouble,
) -> Result<(), CommandError> {
    screen.line(format!(
        "{} {}: {}. {}",
        screen.paint.warn("!"),
        clean_line(id),
        clean_line(&trouble.what),
        clean_line(&trouble.what_next)
    ))?;
    Ok(())
}

fn troubles_of(plugin: &InstalledPlugin) -> Vec<PluginTrouble> {
    let id = &plugin.id;
    let mut found = Vec::new();
    let mut add = |what: String, what_next: String| found.push(PluginTrouble { what, what_next });
    match &plugin.standing {
        PluginStanding::Ready => {}
        PluginStanding::Off => {
            add(
                "it is off".to_owned(),
                format!("Use it: chela plugins enable {id}"),
            );
        }
        PluginStanding::Changed => add(
            "its files are not those you looked at, so it is not used".to_owned(),
            format!("See what changed: chela plugins update {id}; or remove it"),
        ),
        PluginStanding::Quarantined { why } => add(
            format!(
                "it failed {} times in a row and is not asked any more: {why}",
                plugin.locked.faults.in_a_row
            ),
            format!("See chela plugins logs {id}; try it again: chela plugins enable {id}"),
        ),
        PluginStanding::Broken { why } => add(
            format!("it cannot be read: {why}"),
            format!("Add it again: chela plugins remove {id}, chela plugins add …"),
        ),
    }
    if plugin.is_ready() && plugin.locked.faults.in_a_row > 0 {
        add(
            format!("it failed the last time: {}", plugin.locked.faults.last),
            format!("See chela plugins logs {id}"),
        );
    }
    for error in &plugin.odd_grants {
        add(
            error.to_string(),
            format!("Fix plugins.entries.{id}.grants"),
        );
    }
    if let Some(package) = &plugin.package {
        let manifest = &package.manifest;
        let missing = plugin.grants.missing(&manifest.asks);
        if !missing.is_empty() {
            let words: Vec<String> = missing.iter().map(ToString::to_string).collect();
            add(
                format!("it asks for what it was not granted: {}", words.join(", ")),
                format!("Grant it: chela plugins grant {id} …"),
            );
        }
        for hook in manifest.hooks() {
            if plugin.grants.hook(hook)
                && hook.needs_conversation()
                && !plugin.grants.sees_conversation()
            {
                add(
                    format!("{hook} sees nothing without `conversation`"),
                    format!("Grant it: chela plugins grant {id} conversation"),
                );
            }
        }
    }
    found
}
