//! `chela context diff`.

use std::path::Path;

use chela_core::{SessionKey, Zone};
use chela_inspect::diff::{CacheBreak, ChangeKind, PromptDiff, diff};
use chela_inspect::saved::SavedPrompt;

use crate::cli::{ModeName, PromptChoice};
use crate::cmd::prompt::assemble_prompt;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{ColourMode, Screen, grouped, shorten};

pub struct DiffSides {
    pub a: String,
    pub b: String,
    pub json: bool,
}

pub fn run(setup: &CommandSetup, screen: &mut Screen, sides: &DiffSides) -> CommandOutcome {
    let a = side(setup, &sides.a)?;
    let b = side(setup, &sides.b)?;
    let result = diff(&a, &b);
    if sides.json {
        screen.json(&result)?;
    } else {
        print(screen, sides, &result)?;
    }
    Ok(if result.first_break.is_some() {
        CommandExit::Findings
    } else {
        CommandExit::Fine
    })
}

/// What a person means by one side: a saved prompt, a mode, a channel, a session or an agent.
fn side(setup: &CommandSetup, typed: &str) -> Result<SavedPrompt, CommandError> {
    let live = |choice: PromptChoice| Ok(SavedPrompt::from(&assemble_prompt(setup, &choice)?));
    let nothing = PromptChoice {
        agent: None,
        mode: None,
        channel: None,
        session: None,
        skill: None,
    };
    if let Some(mode) = typed.strip_prefix("mode:") {
        let mode = match mode {
            "full" => ModeName::Full,
            "minimal" => ModeName::Minimal,
            "none" => ModeName::None,
            _ => {
                return Err(
                    CommandError::usage(format!("`{mode}` is not a prompt mode"))
                        .hint("full, minimal or none"),
                );
            }
        };
        return live(PromptChoice {
            mode: Some(mode),
            ..nothing
        });
    }
    if let Some(channel) = typed.strip_prefix("channel:") {
        return live(PromptChoice {
            channel: Some(channel.to_owned()),
            ..nothing
        });
    }
    if Path::new(typed).is_file() || typed == "-" {
        return saved(typed);
    }
    if SessionKey::parse(typed).is_ok_and(|key| key.agent.is_some() || typed.contains(':')) {
        return live(PromptChoice {
            session: Some(typed.to_owned()),
            ..nothing
        });
    }
    if typed.ends_with(".json") {
        return Err(CommandError::new(format!("there is no file {typed}"))
            .hint("save one with `chela prompt --json > FILE`"));
    }
    live(PromptChoice {
        agent: Some(typed.to_owned()),
        ..nothing
    })
}

fn saved(path: &str) -> Result<SavedPrompt, CommandError> {
    let document = crate::cmd::input::read(Path::new(path))?;
    SavedPrompt::from_json(&document).map_err(|error| {
        CommandError::new(format!("{path}: {error}"))
            .hint("save one with `chela prompt --json > FILE`")
    })
}

fn print(screen: &mut Screen, sides: &DiffSides, result: &PromptDiff) -> std::io::Result<()> {
    let paint = screen.paint;
    let signed = result.tokens_b as i128 - result.tokens_a as i128;
    screen.line(format!(
        "{}  {}",
        paint.bold(format!(
            "{} → {}",
            shorten(&sides.a, 30),
            shorten(&sides.b, 30)
        )),
        paint.dim(format!(
            "{} → {} tokens ({signed:+})",
            grouped(result.tokens_a),
            grouped(result.tokens_b)
        ))
    ))?;
    screen.blank()?;
    match &result.first_break {
        None => {
            return screen
                .line(paint.good("Identical to the byte: all of it can come from the cache."));
        }
        Some(first) => print_break(screen, first)?,
    }
    screen.blank()?;
    print_sections(screen, result)
}

fn print_break(screen: &mut Screen, first: &CacheBreak) -> std::io::Result<()> {
    let paint = screen.paint;
    let told = match first.zone {
        Zone::Stable => paint.bad("The cached prefix breaks"),
        Zone::Volatile => {
            paint.good("The cached prefix stays intact; only parts that change every turn differ,")
        }
    };
    screen.line(format!(
        "{told} at byte {} in section {}",
        grouped(first.byte),
        paint.bold(&first.section)
    ))?;
    screen.paragraph("  ", &format!("because {}.", first.cause))?;
    screen.line(format!(
        "  {} tokens before it stay cached, {} after it are read again.",
        grouped(first.tokens_kept),
        grouped(first.tokens_after)
    ))?;
    let room = screen.width.saturating_sub(4);
    screen.line(format!(
        "  {} {}",
        paint.bad("-"),
        shorten(&first.line_a, room)
    ))?;
    screen.line(format!(
        "  {} {}",
        paint.good("+"),
        shorten(&first.line_b, room)
    ))
}

fn print_sections(screen: &mut Screen, result: &PromptDiff) -> std::io::Result<()> {
    let paint = screen.paint;
    let mut rows = Vec::new();
    let mut same = 0;
    for section in &result.sections {
        if section.change == ChangeKind::Same {
            same += 1;
            continue;
        }
        let tokens = match section.change {
            ChangeKind::Added => format!("+{}", grouped(section.tokens_b)),
            ChangeKind::Removed => format!("-{}", grouped(section.tokens_a)),
            _ => format!(
                "{} → {}",
                grouped(section.tokens_a),
                grouped(section.tokens_b)
            ),
        };
        rows.push(vec![
            mark(paint, section.change),
            section.section.clone(),
            tokens,
            paint.dim(section.zone.as_str()),
        ]);
        for part in &section.inside {
            rows.push(vec![
                String::new(),
                format!("  {} {}", mark(paint, part.change), part.part),
            ]);
        }
    }
    screen.table("", &rows)?;
    screen.line(paint.dim(format!("{same} sections are the same")))
}

fn mark(paint: ColourMode, change: ChangeKind) -> String {
    match change {
        ChangeKind::Same => paint.dim("="),
        ChangeKind::Changed => paint.warn("~"),
        ChangeKind::Added => paint.good("+"),
        ChangeKind::Removed => paint.bad("-"),
    }
}
