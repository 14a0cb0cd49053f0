//! `chela status`: what is set up, and where. Reads, never writes.

use chela_inspect::status::{AgentStatus, StatusReport};
use chela_workspace::WorkspaceCondition;

use super::{CommandOutcome, CommandSetup, gateway, stop};
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun};

pub fn run(host: &chela_core::Host, screen: &mut Screen, json: bool) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let status = report(&setup);
    if json {
        screen.json(&status)?;
    } else {
        setup.warn_on_stderr(screen.paint);
        print(screen, &status)?;
    }
    Ok(CommandExit::Fine)
}

/// How things stand, and whether agents may work.
pub fn report(setup: &CommandSetup) -> StatusReport {
    StatusReport {
        stopped: stop::stopped_since(&setup.host),
        gateway: gateway::status_line(&setup.host),
        ..StatusReport::of(&setup.host, &setup.loaded)
    }
}

pub fn print(screen: &mut Screen, status: &StatusReport) -> std::io::Result<()> {
    let paint = screen.paint;
    let profile = status
        .profile
        .as_ref()
        .map(|profile| format!(" (profile {profile})"))
        .unwrap_or_default();
    screen.line(format!(
        "{}{profile}",
        paint.bold(format!("Chela {}", status.version))
    ))?;
    let config = match (
        status.config.source,
        status.config.errors + status.config.warnings,
    ) {
        ("file", 0) => format!("{}  {}", status.config.path, paint.good("ok")),
        ("defaults", 0) => format!(
            "{}  {}",
            status.config.path,
            paint.dim("not created yet; using defaults")
        ),
        (source, problems) => {
            let used = match source {
                "file" => "the rest is used",
                "last-good" => "the last good one is used",
                _ => "the defaults are used",
            };
            let told = format!("{}; {used}", count_noun(problems, "problem"));
            format!("{}  {}", status.config.path, paint.warn(told))
        }
    };
    let mut rows = vec![
        vec!["home".into(), status.home.clone()],
        vec!["config".into(), config],
    ];
    if !status.config.idle.is_empty() {
        let parts = status.config.idle.join(", ");
        let told = paint.dim(format!("{parts}: set; nothing runs it yet"));
        rows.push(vec!["idle".into(), told]);
    }
    if let Some(gateway) = &status.gateway {
        rows.push(vec!["gateway".into(), gateway.clone()]);
    }
    if let Some(mcp) = &status.mcp {
        let mut told = format!(
            "{}, {}",
            count_noun(mcp.servers, "server"),
            count_noun(mcp.tools, "tool")
        );
        if mcp.held > 0 {
            told.push_str(&paint.warn(format!(", {} waiting for you", mcp.held)));
        }
        if mcp.troubled > 0 {
            told.push_str(&paint.dim(" (chela mcp list)"));
        }
        rows.push(vec!["mcp".into(), told]);
    }
    if let Some(stopped) = &status.stopped {
        let told = paint.bad(format!("{stopped} (chela stop --lift)"));
        rows.push(vec!["agents".into(), told]);
    }
    screen.table("  ", &rows)?;
    for agent in &status.agents {
        screen.blank()?;
        print_agent(screen, agent)?;
    }
    Ok(())
}

fn print_agent(screen: &mut Screen, agent: &AgentStatus) -> std::io::Result<()> {
    let paint = screen.paint;
    let name = agent
        .name
        .as_ref()
        .map(|name| format!(" “{name}”"))
        .unwrap_or_default();
    let emoji = agent
        .emoji
        .as_ref()
        .map(|emoji| format!(" {emoji}"))
        .unwrap_or_default();
    let default = if agent.default {
        paint.dim(" (default)")
    } else {
        String::new()
    };
    screen.line(format!(
        "{}{name}{emoji}{default}",
        paint.bold(format!("Agent {}", agent.id))
    ))?;
    let condition = match agent.condition {
        WorkspaceCondition::New => paint.warn("not set up yet: chela init"),
        WorkspaceCondition::Unfinished => paint.warn("setting up was interrupted: chela init"),
        WorkspaceCondition::FirstRun => {
            paint.good("ready; BOOTSTRAP.md still guides the first conversations")
        }
        WorkspaceCondition::Settled => paint.good("ready"),
        WorkspaceCondition::Adopted => paint.good("your own files"),
        WorkspaceCondition::Lost { .. } => {
            paint.bad("its files are gone; restore them, or chela init --reseed")
        }
    };
    let model = agent
        .model
        .clone()
        .unwrap_or_else(|| paint.dim("none chosen (agents.defaults.model)"));
    let files = if agent.files.is_empty() {
        paint.dim("none")
    } else {
        agent.files.join(" ")
    };
    screen.table(
        "  ",
        &[
            vec![
                "workspace".into(),
                format!("{}  {condition}", agent.workspace),
            ],
            vec!["files".into(), files],
            vec!["model".into(), model],
            vec!["heartbeat".into(), agent.heartbeat.clone()],
        ],
    )
}
