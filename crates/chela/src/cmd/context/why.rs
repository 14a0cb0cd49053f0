//! `chela context why`.

use chela_inspect::why::{Answer, Presence, why};

use crate::cli::PromptChoice;
use crate::cmd::prompt::assembled;
use crate::cmd::{Outcome, Setup};
use crate::fail::Exit;
use crate::screen::{Screen, grouped, shorten};

pub struct Question {
    pub what: String,
    pub choice: PromptChoice,
    pub json: bool,
}

pub fn run(setup: &Setup, screen: &mut Screen, question: &Question) -> Outcome {
    let assembled = assembled(setup, &question.choice)?;
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
        .any(|answer| answer.presence != Presence::Absent);
    Ok(if present { Exit::Fine } else { Exit::Findings })
}

fn print(screen: &mut Screen, setup: &Setup, answer: &Answer) -> std::io::Result<()> {
    let paint = screen.paint;
    let verdict = match answer.presence {
        Presence::Present => paint.good("in the prompt"),
        Presence::Partly => paint.warn("partly in the prompt"),
        Presence::Absent => paint.bad("not in the prompt"),
    };
    let what = shorten(&answer.what, screen.width.saturating_sub(24).max(30));
    screen.line(format!("{}  {verdict}", paint.bold(what)))?;
    screen.paragraph("  ", &answer.because)?;
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
                format!(
                    "section {}, bytes {}-{}",
                    spot.section,
                    grouped(spot.start),
                    grouped(spot.end)
                ),
            ),
            (
                "zone",
                match spot.zone {
                    chela_core::Zone::Stable => "stable: cached from turn to turn".to_owned(),
                    chela_core::Zone::Volatile => "volatile: sent anew each turn".to_owned(),
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
