//! `chela context why`.

use chela_inspect::why::{TOOLS, TextPresence, WhyAnswer, why};

use crate::cli::PromptChoice;
use crate::cmd::prompt::assemble_prompt;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::screen::{Screen, grouped, shorten};

pub struct WhyQuestion {
    pub what: String,
    pub choice: PromptChoice,
    pub json: bool,
}

pub fn run(setup: &CommandSetup, screen: &mut Screen, question: &WhyQuestion) -> CommandOutcome {
    let assembled = assemble_prompt(setup, &question.choice)?;
    let raw = |file: &chela_workspace::FileReport| super::lint::raw_text(&file.path);
    let answers = why(&assembled, &raw, &question.what);
    if question.json {
        screen.json(&answers)?;
    } else {
        for (at, answer) in answers.iter().enumerate() {
            if at > 0 {
                screen.blank()?;
            }
            print(screen, setup, answer)?;
        }
    }
    let present = answers
        .iter()
        .any(|answer| answer.presence != TextPresence::Absent);
    Ok(if present {
        CommandExit::Fine
    } else {
        CommandExit::Findings
    })
}

fn print(screen: &mut Screen, setup: &CommandSetup, answer: &WhyAnswer) -> std::io::Result<()> {
    let paint = screen.paint;
    let verdict = match answer.presence {
        TextPresence::Present if is_beside(answer) => paint.good("in every request"),
        TextPresence::Present => paint.good("in the prompt"),
        TextPresence::Partly => paint.warn("partly in the prompt"),
        TextPresence::Absent => paint.bad("not in the prompt"),
    };
    let what = shorten(&answer.what, screen.width.saturating_sub(24).max(30));
    screen.line(format!("{}  {verdict}", paint.bold(what)))?;
    screen.paragraph("  ", &answer.because)?;
    if answer.presence == TextPresence::Absent {
        screen.line(paint.dim("  `chela context list` shows what is in it."))?;
    }
    if let Some(source) = &answer.source {
        let path = setup.host.compact(&source.path);
        let place = if source.line == 0 {
            path
        } else {
            format!("{path}:{}", source.line)
        };
        screen.line(format!("  {}   {place}", paint.dim("from")))?;
    }
    if let Some(spot) = &answer.spot {
        let rows = [
            (
                "where",
                match spot.section {
                    TOOLS => "beside the system prompt, among the tools".to_owned(),
                    section => format!(
                        "section {section}, bytes {}-{}",
                        grouped(spot.start),
                        grouped(spot.end)
                    ),
                },
            ),
            (
                "zone",
                match spot.zone {
                    chela_core::Zone::Stable => "stable: cached from turn to turn".to_owned(),
                    chela_core::Zone::Volatile => "volatile: sent again each turn".to_owned(),
                },
            ),
            (
                "cost",
                format!(
                    "{} tokens ({} characters)",
                    grouped(spot.tokens),
                    grouped(spot.chars)
                ),
            ),
            (
                "trust",
                format!(
                    "{} ({}, {})",
                    spot.trust.as_str(),
                    spot.origin,
                    spot.audience.as_str()
                ),
            ),
        ];
        for (name, value) in rows {
            screen.line(format!("  {}  {value}", paint.dim(format!("{name:<5}"))))?;
        }
    }
    Ok(())
}

/// Tools go along with the prompt and are no part of its text.
fn is_beside(answer: &WhyAnswer) -> bool {
    answer
        .spot
        .as_ref()
        .is_some_and(|spot| spot.section == TOOLS)
}
