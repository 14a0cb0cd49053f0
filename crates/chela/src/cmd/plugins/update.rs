//! `chela plugins update`: what changed is shown, and what is wanted besides is asked about.

use chela_core::Host;
use chela_plugins::{FileChange, GrantSet, StagedPlugin};

use super::add::{found_servers, put_in_place, say_what_is_left};
use super::grants::{granted, write_grants};
use super::{KnownPlugins, shown, source};
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::cmd::mcp::add::agreed;
use crate::cmd::mcp::wait_for;
use crate::cmd::text_diff::render_diff;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// What was said beforehand.
#[derive(Debug, Clone, Copy)]
pub struct UpdateWish {
    pub grant_asked: bool,
    pub yes: bool,
}

pub fn run(host: &Host, screen: &mut Screen, id: &str, wish: UpdateWish) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    let plugin = known.plugin(id)?;
    let staged = wait_for(source::fetch_again(&known.setup, &plugin.locked.from))??;
    if staged.id() != id {
        return Err(CommandError::new(format!(
            "what is there now is another plugin: {}",
            clean_line(staged.id())
        )));
    }
    let changes = staged.changes(&plugin.locked);
    let here = plugin.package.as_ref().map(|package| package.hash);
    if changes.is_empty() && here == Some(plugin.locked.hash) {
        screen.line(format!("{id} is as it was."))?;
        return Ok(CommandExit::Fine);
    }
    print_changes(screen, &staged, &plugin.folder, &changes)?;
    let (asked, _) = GrantSet::parse(&plugin.locked.asked);
    let (grants, _) = GrantSet::parse(&granted(&known, id));
    let wants = asked.missing(&staged.package.manifest.asks);
    let wants = grants.missing(&wants);
    if !wants.is_empty() {
        screen.line("It wants more than before:")?;
        shown::print_grants(screen, &wants)?;
    }
    if !wish.yes && !agreed(screen, &format!("Update {}?", clean_line(id)))? {
        return Err(
            CommandError::new("nothing was changed").hint("answer in a terminal, or give --yes")
        );
    }
    let is_granted = !wants.is_empty()
        && (wish.grant_asked || (!wish.yes && agreed(screen, "Grant it what it wants besides?")?));
    let grants = match is_granted {
        true => GrantSet::of(grants.iter().chain(wants.iter()).cloned()),
        false => grants,
    };
    let asks = staged.package.manifest.asks.clone();
    // A server that was set up stays as its owner left it.
    let servers = found_servers(host, &staged);
    let configured = &known.setup.loaded.config.mcp.servers;
    let (old, new): (Vec<_>, Vec<_>) = servers
        .into_iter()
        .partition(|server| configured.contains_key(&server.name));
    let mut names = put_in_place(host, staged, &new)?;
    let fresh = names.clone();
    names.extend(old.into_iter().map(|server| server.name));
    chela_plugins::PluginLock::change(host, |lock| {
        if let Some(plugin) = lock.plugins.get_mut(id) {
            plugin.servers.clone_from(&names);
        }
    })
    .map_err(CommandError::new)?;
    write_grants(host, id, &grants, &names)?;
    screen.line(format!("Updated {}.", clean_line(id)))?;
    say_what_is_left(screen, id, (&asks, &grants), &fresh)?;
    Ok(CommandExit::Fine)
}

fn print_changes(
    screen: &mut Screen,
    staged: &StagedPlugin,
    here: &std::path::Path,
    changes: &[FileChange],
) -> Result<(), CommandError> {
    let paint = screen.paint;
    for change in changes {
        let what = match (change.before, change.after) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "changed",
        };
        screen.line(paint.bold(format!("{what}: {}", clean_line(&change.path))))?;
        let read = |folder: &std::path::Path, there: bool| match there {
            true => std::fs::read_to_string(folder.join(&change.path)).ok(),
            false => Some(String::new()),
        };
        let old = read(here, change.before.is_some());
        let new = read(&staged.package.folder, change.after.is_some());
        match (old, new) {
            (Some(old), Some(new)) if old.len() + new.len() < 400_000 => {
                screen.raw(&render_diff(&old, &new, paint))?;
            }
            _ => screen.line(paint.dim("  not shown: it is no text, or too long"))?,
        }
    }
    Ok(())
}
