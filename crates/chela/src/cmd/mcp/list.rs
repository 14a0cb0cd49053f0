//! `chela mcp list`: the servers, and what is worth knowing of each.

use chela_core::Host;
use chela_inspect::mcp_report::{ServerRow, server_rows};

use super::CommandSetup;
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, json: bool) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let rows = server_rows(&setup.host, &setup.loaded);
    if json {
        screen.json(&serde_json::json!({ "servers": rows }))?;
        return Ok(CommandExit::Fine);
    }
    setup.warn_on_stderr(screen.paint);
    if rows.is_empty() {
        screen.line("No MCP servers are set up. `chela mcp add` sets one up.")?;
        return Ok(CommandExit::Fine);
    }
    let mut shown = Vec::new();
    for row in &rows {
        shown.push(vec![
            screen.paint.bold(clean_line(&row.name)),
            standing_of(row, screen),
            clean_line(&row.reach),
            screen.paint.dim(clean_line(&row.walls)),
        ]);
    }
    screen.table("", &shown)?;
    for row in &rows {
        for note in &row.notes {
            screen.line(format!(
                "{} {}: {}",
                screen.paint.warn("!"),
                clean_line(&row.name),
                clean_line(note)
            ))?;
        }
    }
    Ok(CommandExit::Fine)
}

fn standing_of(row: &ServerRow, screen: &Screen) -> String {
    let paint = screen.paint;
    match (row.is_enabled, &row.fault, row.is_known) {
        (false, ..) => paint.dim("disabled"),
        (true, Some(_), _) => paint.bad("not usable"),
        (true, None, false) => paint.dim("not started yet"),
        (true, None, true) => match row.held {
            0 => paint.good(format!("{} tools", row.tools)),
            held => paint.warn(format!("{} tools, {held} waiting for you", row.tools)),
        },
    }
}
