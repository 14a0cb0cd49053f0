//! `chela mcp trust` and `revoke`: the owner's word on tools, given after looking.

use chela_core::Host;
use chela_ledger::AuditKind;
use chela_mcp::{McpRecord, McpServerSpec};
use serde_json::{Map, Value, json};

use super::add::agreed;
use super::set_up::{parse_effect, write_server};
use super::{KnownServers, diff, tools};
use crate::chat::clean_line;
use crate::cli::mcp::TrustArgs;
use crate::cmd::CommandOutcome;
use crate::cmd::change_records::record_change;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn trust(host: &Host, screen: &mut Screen, args: &TrustArgs) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let spec = servers.spec(&args.name)?;
    let effects = args.effect.iter().map(|typed| parse_effect(typed));
    let effects: Map<String, Value> = effects
        .map(|parsed| parsed.map(|(tool, effect)| (tool, effect.as_str().into())))
        .collect::<Result<_, _>>()?;
    let record = servers.set.pool().record();
    let Some(server) = record.servers.get(&spec.prefix) else {
        return Err(CommandError::new(format!(
            "{} was not started yet: there is nothing to approve",
            clean_line(&spec.name)
        ))
        .hint(format!("chela mcp test {}", spec.name)));
    };
    check_names(server.tools.keys().map(String::as_str), &args.tools)?;
    tools::print_server(screen, &servers.set, &spec)?;
    diff::print_held(screen, &spec, server)?;
    let what = match args.tools.as_slice() {
        [] => format!("all tools of {} as they are now", clean_line(&spec.name)),
        tools => clean_line(&tools.join(", ")),
    };
    if !args.yes && !agreed(screen, &format!("Approve {what}?"))? {
        return Err(CommandError::new("nothing was changed")
            .hint(format!("chela mcp trust {} --yes", spec.name)));
    }
    if !effects.is_empty() {
        write_server(host, &spec.name, &json!({ "effects": effects }))?;
    }
    let names = (!args.tools.is_empty()).then_some(args.tools.as_slice());
    // Exactly what was shown: what a server says meanwhile waits.
    let shown = server.clone();
    record_trust(host, "mcp tools approved", &spec, &args.tools);
    let approved = McpRecord::change(host, |record| {
        let server = record.servers.get_mut(&spec.prefix)?;
        if *server != shown {
            return None;
        }
        Some(server.approve(names))
    });
    let Some(approved) = approved.map_err(CommandError::new)? else {
        return Err(CommandError::new(format!(
            "{} said something else meanwhile: nothing was approved",
            clean_line(&spec.name)
        ))
        .hint(format!(
            "chela mcp trust {} shows it as it is now",
            spec.name
        )));
    };
    screen.line(match approved.is_empty() {
        true => format!("Approved {what}."),
        false => format!(
            "Approved {what}. Used from now on: {}.",
            clean_line(&approved.join(", "))
        ),
    })?;
    Ok(CommandExit::Fine)
}

pub fn revoke(host: &Host, screen: &mut Screen, name: &str, tools: &[String]) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let spec = servers.spec(name)?;
    let record = servers.set.pool().record();
    let known = record.servers.get(&spec.prefix);
    let names = known.iter().flat_map(|server| server.tools.keys());
    check_names(names.map(String::as_str), tools)?;
    let names = (!tools.is_empty()).then_some(tools);
    record_trust(host, "mcp tools revoked", &spec, tools);
    let revoked = McpRecord::change(host, |record| {
        let server = record.servers.get_mut(&spec.prefix);
        server.map(|server| server.revoke(names))
    });
    let revoked = revoked.map_err(CommandError::new)?.unwrap_or_default();
    screen.line(match revoked.is_empty() {
        true => format!("{} has no tools on record.", clean_line(&spec.name)),
        false => format!("Not used any more: {}.", clean_line(&revoked.join(", "))),
    })?;
    Ok(CommandExit::Fine)
}

fn check_names<'n>(
    known: impl Iterator<Item = &'n str>,
    typed: &[String],
) -> Result<(), CommandError> {
    let known: Vec<&str> = known.collect();
    for name in typed {
        if !known.contains(&name.as_str()) {
            let hint = match chela_core::suggest::nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there is {}", clean_line(&known.join(", "))),
            };
            let message = format!("there is no tool `{}`", clean_line(name));
            return Err(CommandError::new(message).hint(hint));
        }
    }
    Ok(())
}

fn record_trust(host: &Host, what: &str, spec: &McpServerSpec, tools: &[String]) {
    let body = json!({ "change": what, "about": spec.name, "tools": tools });
    record_change(host, AuditKind::TrustChange, &body);
}
