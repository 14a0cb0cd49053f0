//! `chela plugins …`: what other people wrote, inside limits the owner granted.

mod add;
mod author;
mod doctor;
mod grants;
mod list;
mod servers;
mod shown;
mod source;
mod test;
mod update;

use chela_core::{Host, suggest};
use chela_plugins::{HookName, InstalledPlugin, installed_plugins};
use serde_json::json;

use super::{CommandOutcome, CommandSetup};
use crate::chat::clean_line;
use crate::cli::plugins::PluginsCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: PluginsCommand) -> CommandOutcome {
    match command {
        PluginsCommand::List(args) => list::list(host, screen, args.json),
        PluginsCommand::Info { id, json } => list::info(host, screen, &id, json),
        PluginsCommand::Add(args) => add::run(host, screen, &args),
        PluginsCommand::Remove { id } => grants::remove(host, screen, &id),
        PluginsCommand::Enable { id } => grants::switch(host, screen, &id, grants::PluginUse::On),
        PluginsCommand::Disable { id } => grants::switch(host, screen, &id, grants::PluginUse::Off),
        PluginsCommand::Grant { id, grants } => grants::grant(host, screen, &id, &grants),
        PluginsCommand::Revoke { id, grants } => grants::revoke(host, screen, &id, &grants),
        PluginsCommand::Update {
            id,
            grant_asked,
            yes,
        } => {
            let wish = update::UpdateWish { grant_asked, yes };
            update::run(host, screen, &id, wish)
        }
        PluginsCommand::Doctor { id } => doctor::run(host, screen, id.as_deref()),
        PluginsCommand::Logs { id, lines } => test::logs(host, screen, &id, lines),
        PluginsCommand::Test { id, hook, told } => {
            test::run(host, screen, &id, (hook.as_deref(), &told))
        }
        PluginsCommand::New { id, folder } => author::new(host, screen, &id, folder),
        PluginsCommand::Hooks(args) => hooks(screen, args.json),
    }
}

/// The plugins of a home, and the config they are judged by.
struct KnownPlugins {
    setup: CommandSetup,
    plugins: Vec<InstalledPlugin>,
}

impl KnownPlugins {
    fn open(host: &Host) -> Result<Self, CommandError> {
        let setup = CommandSetup::load(host);
        let plugins = installed_plugins(&setup.host, &setup.loaded).map_err(CommandError::new)?;
        Ok(Self { setup, plugins })
    }

    fn plugin(&self, id: &str) -> Result<&InstalledPlugin, CommandError> {
        let found = self.plugins.iter().find(|plugin| plugin.id == id);
        found.ok_or_else(|| {
            let known: Vec<&str> = self
                .plugins
                .iter()
                .map(|plugin| plugin.id.as_str())
                .collect();
            let hint = match (
                suggest::nearest(id, known.iter().copied()),
                known.is_empty(),
            ) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, true) => "`chela plugins add` adds one".to_owned(),
                (None, false) => format!("there is {}", known.join(", ")),
            };
            CommandError::new(format!("there is no plugin `{}`", clean_line(id))).hint(hint)
        })
    }
}

fn hooks(screen: &mut Screen, json: bool) -> CommandOutcome {
    if json {
        let rows = HookName::ALL.map(
            |hook| json!({ "name": hook.as_str(), "may": hook.does(), "worst": hook.worst() }),
        );
        screen.json(&json!({ "hooks": rows }))?;
        return Ok(CommandExit::Fine);
    }
    let rows: Vec<Vec<String>> = HookName::ALL
        .iter()
        .map(|hook| {
            vec![
                screen.paint.bold(hook.as_str()),
                hook.does().to_owned(),
                screen.paint.dim(format!("worst: {}", hook.worst())),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}
