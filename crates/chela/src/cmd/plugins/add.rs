//! `chela plugins add`: fetched, shown, asked about, put in place.

use std::io::IsTerminal as _;

use chela_config::plugin_folder;
use chela_core::Host;
use chela_plugins::{GrantSet, StagedPlugin};
use serde_json::json;

use super::grants::{parse, write_entry, write_grants};
use super::servers::{PluginServer, servers_of};
use super::{shown, source};
use crate::chat::clean_line;
use crate::cli::plugins::AddArgs;
use crate::cmd::mcp::add::agreed;
use crate::cmd::mcp::set_up::write_server;
use crate::cmd::mcp::wait_for;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, args: &AddArgs) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    let named = parse(&args.grant)?;
    let staged = wait_for(source::fetch(&setup, &args.source))??;
    let id = staged.id().to_owned();
    let is_there = plugin_folder(host, &id).is_some_and(|folder| folder.exists());
    if is_there {
        return Err(
            CommandError::new(format!("the plugin `{id}` is installed already")).hint(format!(
                "chela plugins update {id}, or chela plugins remove {id}"
            )),
        );
    }
    let servers = found_servers(host, &staged);
    let told: Vec<String> = servers.iter().map(|server| server.told.clone()).collect();
    shown::print_package(screen, &staged.package, &told)?;
    let asks = staged.package.manifest.asks.clone();
    match asks.is_empty() {
        true => screen.line("It asks for nothing.")?,
        false => screen.line("It asks for this, and gets nothing of it unless you say so:")?,
    }
    shown::print_grants(screen, &asks)?;
    if !args.yes && !agreed(screen, &format!("Add {}?", clean_line(&id)))? {
        return Err(not_agreed());
    }
    let grants_all = args.grant_asked
        || (!args.yes
            && named.is_empty()
            && !asks.is_empty()
            && agreed(screen, "Grant all it asks for?")?);
    let grants = match grants_all {
        true => GrantSet::of(asks.iter().chain(named.iter()).cloned()),
        false => named,
    };
    let names = put_in_place(host, staged, &servers)?;
    write_entry(host, &id, "plugin added", &json!({ "enabled": true }))?;
    write_grants(host, &id, &grants, &names)?;
    screen.line(format!(
        "Added {}. It is used from the next turn on.",
        clean_line(&id)
    ))?;
    say_what_is_left(screen, &id, (&asks, &grants), &names)?;
    Ok(CommandExit::Fine)
}

pub fn found_servers(host: &Host, staged: &StagedPlugin) -> Vec<PluginServer> {
    let home = plugin_folder(host, staged.id()).unwrap_or_default();
    servers_of(&staged.package.manifest, &staged.package.folder, &home)
}

/// The files to where plugins lie, its servers into the config. Gives the names of these.
pub fn put_in_place(
    host: &Host,
    staged: StagedPlugin,
    servers: &[PluginServer],
) -> Result<Vec<String>, CommandError> {
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    staged
        .install(names.clone(), host)
        .map_err(CommandError::new)?;
    for server in servers {
        write_server(host, &server.name, &server.entry)?;
    }
    Ok(names)
}

pub fn say_what_is_left(
    screen: &mut Screen,
    id: &str,
    (asks, grants): (&GrantSet, &GrantSet),
    servers: &[String],
) -> Result<(), CommandError> {
    let missing = grants.missing(asks);
    if !missing.is_empty() {
        let words: Vec<String> = missing.iter().map(ToString::to_string).collect();
        screen.line(format!(
            "Not granted: {}. `chela plugins grant {id} …` does.",
            clean_line(&words.join(", "))
        ))?;
    }
    for server in servers {
        screen.line(format!(
            "Its MCP server waits for you: chela mcp enable {}",
            clean_line(server)
        ))?;
    }
    Ok(())
}

fn not_agreed() -> CommandError {
    let error = CommandError::new("nothing was added");
    match std::io::stdin().is_terminal() {
        true => error,
        false => error.hint("answer in a terminal, or give --yes with --grant or --grant-asked"),
    }
}
