//! `chela memory about`: all there is of a name.

use std::ops::ControlFlow;

use chela_core::Audience;
use chela_memory::NamedEntry;
use chela_memory::index::SyncDepth;
use serde_json::{Value, json};

use super::{explained, open};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun};

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    name: &str,
    as_json: bool,
) -> CommandOutcome {
    let opened = open(setup, agent)?;
    let mut memory = opened.memory()?;
    memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .map_err(explained)?;
    let view = memory.about(name, Audience::Private).map_err(explained)?;
    if as_json {
        let listed = |entries: &[NamedEntry]| entries.iter().map(as_value).collect::<Vec<_>>();
        screen.json(&json!({
            "name": name, "said": listed(&view.said), "told": listed(&view.told),
        }))?;
        return Ok(CommandExit::Fine);
    }
    if view.said.is_empty() && view.told.is_empty() {
        screen.line(format!("Nothing in memory names {name}."))?;
        return Ok(CommandExit::Fine);
    }
    for (title, entries) in [("said by", &view.said), ("about", &view.told)] {
        if entries.is_empty() {
            continue;
        }
        let counted = count_noun(entries.len(), "entry");
        let paint = screen.paint;
        screen.line(paint.dim(format!("{counted} {title} {name}:")))?;
        for entry in entries {
            let heading = match entry.heading.is_empty() {
                true => String::new(),
                false => paint.dim(format!("  {}", entry.heading)),
            };
            screen.line(format!("{}{heading}", paint.accent(entry.citation())))?;
            for line in entry.text.lines() {
                screen.line(format!("  {line}"))?;
            }
        }
        screen.blank()?;
    }
    Ok(CommandExit::Fine)
}

fn as_value(entry: &NamedEntry) -> Value {
    json!({
        "path": entry.label, "startLine": entry.start_line, "endLine": entry.end_line,
        "citation": entry.citation(), "heading": entry.heading, "text": entry.text,
        "date": entry.date.map(|day| day.to_string()), "trust": entry.trust.as_str(),
    })
}
