//! `chela mcp tools`: what servers offer, and what their owner says it does.

use chela_agent::{McpToolset, effect_of_tool};
use chela_core::Host;
use chela_mcp::{AcceptedBy, McpServerSpec, ToolHints, tool_name};
use serde_json::{Value, json};

use super::KnownServers;
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun};

/// A description is shown by its first words; `--json` has all of it.
const MOST_WORDS: usize = 160;

pub fn run(host: &Host, screen: &mut Screen, name: Option<&str>, as_json: bool) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let specs = match name {
        Some(name) => vec![servers.spec(name)?],
        None => servers.set.pool().specs(),
    };
    if as_json {
        let all = specs.iter().map(|spec| {
            let tools = json_of(&servers.set, spec);
            json!({ "name": spec.name, "prefix": spec.prefix, "tools": tools })
        });
        screen.json(&json!({ "servers": all.collect::<Vec<_>>() }))?;
        return Ok(CommandExit::Fine);
    }
    servers.setup.warn_on_stderr(screen.paint);
    if specs.is_empty() {
        screen.line("No MCP servers are set up. `chela mcp add` sets one up.")?;
    }
    for spec in &specs {
        print_server(screen, &servers.set, spec)?;
    }
    Ok(CommandExit::Fine)
}

/// The tools of one server, as they are on record.
pub fn print_server(screen: &mut Screen, set: &McpToolset, spec: &McpServerSpec) -> CommandOutcome {
    let paint = screen.paint;
    let record = set.pool().record();
    let Some(server) = record.servers.get(&spec.prefix) else {
        screen.line(format!(
            "{}: not started yet; `chela mcp test {}` starts it",
            paint.bold(clean_line(&spec.name)),
            clean_line(&spec.name)
        ))?;
        return Ok(CommandExit::Fine);
    };
    screen.line(format!(
        "{}  {}",
        paint.bold(clean_line(&spec.name)),
        paint.dim(count_noun(server.usable().count(), "tool"))
    ))?;
    let mut undeclared = 0;
    for (tool, by) in server.usable() {
        if !spec.filter.takes(&tool.name) {
            continue;
        }
        let declared = spec.grants.effects.of_tool(&tool.name);
        let effect = effect_of_tool(spec, &tool.name).as_str();
        let effect = match declared {
            Some(_) => paint.dim(effect),
            None => {
                undeclared += 1;
                paint.warn(format!("{effect}, not declared"))
            }
        };
        let seen = match by {
            AcceptedBy::Owner => "",
            AcceptedBy::FirstSight => " · not read by you yet",
        };
        screen.line(format!(
            "  {}  {effect}{}{}",
            clean_line(&tool_name(&spec.prefix, &tool.name)),
            paint.dim(seen),
            paint.dim(hint_in_words(tool.hints)),
        ))?;
        let words: String = tool.description.chars().take(MOST_WORDS).collect();
        screen.paragraph("      ", &clean_line(&words))?;
        for note in &tool.notes {
            screen.line(format!("      {}", paint.dim(note)))?;
        }
    }
    for (name, tool) in server.held() {
        let why = tool.held.as_ref().map_or("", |held| held.why.text());
        screen.line(format!(
            "  {}  {}",
            clean_line(&tool_name(&spec.prefix, name)),
            paint.bad(format!("waiting for you: {why}"))
        ))?;
    }
    for tool in &server.unusable {
        screen.line(format!(
            "  {}  {}",
            clean_line(&tool.name),
            paint.bad(format!("cannot be used: {}", clean_line(&tool.why)))
        ))?;
    }
    let name = clean_line(&spec.name);
    if undeclared > 0 {
        screen.line(paint.dim(format!(
            "Declare what tools do: chela mcp trust {name} --effect 'TOOL=read'"
        )))?;
    }
    if server.held().next().is_some() {
        screen.line(paint.dim(format!(
            "chela mcp diff {name} shows what waits, chela mcp trust {name} approves it"
        )))?;
    }
    Ok(CommandExit::Fine)
}

/// What a server says its tool does, which nobody goes by.
fn hint_in_words(hints: ToolHints) -> String {
    let word = |hint: Option<bool>, yes: &'static str, no: &'static str| match hint {
        Some(true) => Some(yes),
        Some(false) => Some(no),
        None => None,
    };
    let words: Vec<&str> = [
        word(hints.read_only, "only reads", "changes things"),
        word(hints.destructive, "destroys", "destroys nothing"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(" · says it {}", words.join(", ")),
    }
}

fn json_of(set: &McpToolset, spec: &McpServerSpec) -> Vec<Value> {
    let record = set.pool().record();
    let Some(server) = record.servers.get(&spec.prefix) else {
        return Vec::new();
    };
    let tools = server.tools.iter();
    let tools = tools.filter_map(|(name, tool)| {
        let newest = tool.newest()?;
        Some(json!({
            "name": tool_name(&spec.prefix, name),
            "tool": newest.name,
            "description": newest.description,
            "inputSchema": newest.schema,
            "hints": newest.hints,
            "usable": tool.usable().is_some() && spec.filter.takes(name),
            "approved": tool.by == Some(AcceptedBy::Owner),
            "held": tool.held.as_ref().map(|held| held.why.text()),
            "declared": spec.grants.effects.of_tool(name).map(|effect| effect.as_str()),
            "effect": effect_of_tool(spec, name).as_str(),
            "notes": newest.notes,
            "warnings": newest.warnings,
        }))
    });
    tools.collect()
}
