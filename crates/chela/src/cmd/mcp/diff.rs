//! `chela mcp diff`: what servers say otherwise than what was accepted.

use chela_core::Host;
use chela_mcp::{HeldWhy, McpServerSpec, ServerRecord};

use super::KnownServers;
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::cmd::text_diff::render_diff;
use crate::fail::CommandExit;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, name: Option<&str>) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let specs = match name {
        Some(name) => vec![servers.spec(name)?],
        None => servers.set.pool().specs(),
    };
    let record = servers.set.pool().record();
    let mut waits = false;
    for spec in &specs {
        if let Some(server) = record.servers.get(&spec.prefix) {
            waits |= print_held(screen, spec, server)?;
        }
    }
    match waits {
        true => Ok(CommandExit::Findings),
        false => {
            screen.line("Nothing waits for you.")?;
            Ok(CommandExit::Fine)
        }
    }
}

/// Shows what waits of one server; says whether there was anything.
pub fn print_held(
    screen: &mut Screen,
    spec: &McpServerSpec,
    server: &ServerRecord,
) -> std::io::Result<bool> {
    let paint = screen.paint;
    let mut waits = false;
    for (name, tool) in server.held() {
        let Some(held) = &tool.held else {
            continue;
        };
        waits = true;
        screen.line(format!(
            "{} {}: {}",
            paint.bold(clean_line(&spec.name)),
            paint.bold(clean_line(name)),
            paint.warn(held.why.text())
        ))?;
        for warning in &held.tool.warnings {
            screen.line(format!("  {}", paint.bad(clean_line(warning))))?;
        }
        let before = match held.why {
            HeldWhy::Changed => tool.accepted.as_ref(),
            HeldWhy::New | HeldWhy::Odd | HeldWhy::Revoked => None,
        };
        let before = before
            .map(chela_mcp::ServerTool::to_text)
            .unwrap_or_default();
        screen.raw(&render_diff(&before, &held.tool.to_text(), paint))?;
        screen.blank()?;
    }
    Ok(waits)
}
