//! `chela mcp token`: who may call the gateway's /mcp, and what is open to them.

use chela_agent::caller_tokens::{CallerTokens, ServedScopes};
use chela_core::Host;
use chela_ledger::AuditKind;
use serde_json::json;

use super::CommandSetup;
use crate::chat::clean_line;
use crate::cli::mcp::TokenCommand;
use crate::cmd::change_records::record_change;
use crate::cmd::{CommandOutcome, time};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: TokenCommand) -> CommandOutcome {
    match command {
        TokenCommand::Create { name, scope, agent } => {
            let scopes = ServedScopes::parse(scope.iter().map(String::as_str))
                .map_err(CommandError::usage)?;
            if let Some(agent) = &agent {
                CommandSetup::look(host).agent(Some(agent))?;
            }
            let opened = scopes.in_words();
            let body = json!({ "change": "mcp token created", "about": name, "scopes": scopes });
            record_change(host, AuditKind::ConfigChange, &body);
            let token =
                CallerTokens::create(host, &name, scopes, agent).map_err(CommandError::new)?;
            screen.line(&token)?;
            screen.line(screen.paint.dim(format!(
                "For {}: opens {opened}. It is shown this once; `chela mcp token delete {}` revokes it.",
                clean_line(&name),
                clean_line(&name)
            )))?;
        }
        TokenCommand::List(args) => {
            let tokens = CallerTokens::load(host).map_err(CommandError::new)?;
            if args.json {
                let rows = tokens.callers.iter().map(|(name, caller)| {
                    json!({
                        "name": name,
                        "scopes": caller.scopes,
                        "agent": caller.agent,
                        "made": caller.made,
                    })
                });
                screen.json(&json!({ "tokens": rows.collect::<Vec<_>>() }))?;
                return Ok(CommandExit::Fine);
            }
            if tokens.callers.is_empty() {
                screen.line("There are no tokens. `chela mcp token create NAME` makes one.")?;
            }
            let rows = tokens.callers.iter().map(|(name, caller)| {
                vec![
                    clean_line(name),
                    caller.scopes.in_words(),
                    caller.agent.as_deref().map(clean_line).unwrap_or_default(),
                    time::utc(caller.made),
                ]
            });
            screen.table("", &rows.collect::<Vec<_>>())?;
        }
        TokenCommand::Delete { name } => {
            let body = json!({ "change": "mcp token deleted", "about": name });
            record_change(host, AuditKind::ConfigChange, &body);
            if !CallerTokens::delete(host, &name).map_err(CommandError::new)? {
                return Err(CommandError::new(format!(
                    "there is no token for {}",
                    clean_line(&name)
                ))
                .hint("`chela mcp token list` names them"));
            }
            screen.line(format!("Deleted the token of {}.", clean_line(&name)))?;
        }
    }
    Ok(CommandExit::Fine)
}
