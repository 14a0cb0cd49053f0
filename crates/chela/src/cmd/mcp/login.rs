//! `chela mcp login`: a browser on this machine, and what comes back.

use chela_core::Host;
use chela_ledger::AuditKind;
use chela_mcp::{KeptLogin, LoginAsk};
use chela_model::ModelHttp;
use serde_json::json;

use super::{KnownServers, prefix, wait_for};
use crate::chat::{clean_line, print_note};
use crate::cmd::CommandOutcome;
use crate::cmd::change_records::record_change;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn log_in(host: &Host, screen: &mut Screen, name: &str, scope: Option<&str>) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let spec = servers.spec(name)?;
    let http = ModelHttp::new(&servers.setup.host, &servers.setup.loaded);
    let paint = screen.paint;
    screen.flush()?;
    let prompt = |address: &str| {
        let shown = clean_line(address);
        print_note(
            paint,
            &format!("Open in a browser on this machine: {shown}"),
        );
    };
    let kept = wait_for(chela_mcp::log_in(LoginAsk {
        host,
        http: &http,
        spec: &spec,
        scope,
        prompt: &prompt,
    }))?;
    let kept = kept.map_err(|error| {
        CommandError::new(clean_line(&format!(
            "the login to {} did not come about: {error}",
            spec.name
        )))
    })?;
    let body = json!({ "change": "mcp login", "about": spec.name, "issuer": kept.issuer });
    record_change(host, AuditKind::ConfigChange, &body);
    screen.line(format!("Logged in to {}.", clean_line(&spec.name)))?;
    Ok(CommandExit::Fine)
}

pub fn log_out(host: &Host, screen: &mut Screen, name: &str) -> CommandOutcome {
    let had = KeptLogin::forget(host, &prefix(name)).map_err(CommandError::new)?;
    match had {
        true => screen.line(format!("Deleted the login to {}.", clean_line(name)))?,
        false => {
            return Err(
                CommandError::new(format!("there is no login to {}", clean_line(name)))
                    .hint("`chela mcp list` shows the servers"),
            );
        }
    }
    Ok(CommandExit::Fine)
}
