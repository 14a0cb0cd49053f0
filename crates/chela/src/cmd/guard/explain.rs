//! `chela guard explain`: what was decided about each call of a turn, and why.

use chela_core::Host;
use chela_inspect::turn_audit::turn_decisions;
use chela_ledger::RecordId;
use chela_store::block_on;
use chela_tools::approvals::shown;
use serde_json::Value;

use crate::cmd::{CommandOutcome, ledger};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{ColourMode, Screen};

pub fn run(host: &Host, screen: &mut Screen, turn: Option<i64>, json: bool) -> CommandOutcome {
    ledger::with_ledger(host, screen, |ledger, screen| {
        let found = block_on(turn_decisions(ledger, turn.map(RecordId)))?;
        let found = found.ok_or_else(|| {
            CommandError::new("no turn is recorded yet").hint("start one with `chela chat`")
        })?;
        if json {
            screen.json(&found)?;
            return Ok(CommandExit::Fine);
        }
        screen.line(screen.paint.bold(format!("Turn {}", shown(&found.turn))))?;
        if found.calls.is_empty() {
            screen.line("  No tool was called.")?;
        }
        for decision in &found.calls {
            screen.blank()?;
            tell(screen, decision)?;
        }
        for answer in &found.answers {
            screen.blank()?;
            tell_answer(screen, answer)?;
        }
        Ok(CommandExit::Fine)
    })
}

fn tell(screen: &mut Screen, decision: &Value) -> Result<(), CommandError> {
    let paint = screen.paint;
    let guard = &decision["guard"];
    screen.line(format!(
        "{} {}  {}",
        verdict(paint, decision),
        paint.bold(word(&decision["tool"])),
        paint.dim(word(&decision["call"])),
    ))?;
    let mut rows = vec![
        vec!["effect".to_owned(), word(&decision["effect"])],
        vec![
            "session".to_owned(),
            match guard["taintedBy"].as_str() {
                Some(by) => format!("{} by {}", word(&guard["taint"]), shown(by)),
                None => word(&guard["taint"]),
            },
        ],
        vec![
            "rule".to_owned(),
            format!("{}: {}", word(&guard["rule"]), word(&guard["why"])),
        ],
    ];
    if let Some(why) = decision["refusedBecause"].as_str() {
        rows.push(vec!["refused".to_owned(), shown(why)]);
    }
    if let Some(yes) = guard["yes"].as_str() {
        rows.push(vec![
            "you".to_owned(),
            format!("allowed it ({})", shown(yes)),
        ]);
    }
    for origin in guard["origins"].as_array().into_iter().flatten() {
        let mark = match origin["passes"] == true {
            true => paint.good("✓"),
            false => paint.bad("✗"),
        };
        rows.push(vec![
            format!("{mark} {}", word(&origin["argument"])),
            format!(
                "{}  {}",
                word(&origin["atom"]),
                paint.dim(word(&origin["from"]))
            ),
        ]);
    }
    screen.table("  ", &rows)?;
    Ok(())
}

fn verdict(paint: ColourMode, decision: &Value) -> String {
    if decision["outcome"] == "refused" {
        return paint.bad("refused");
    }
    match (
        decision["guard"]["verdict"].as_str(),
        decision["decision"].as_str(),
    ) {
        (_, Some("refused")) => paint.bad("refused"),
        (Some("ask"), _) => paint.warn("allowed by you"),
        _ => paint.good("allowed"),
    }
}

fn tell_answer(screen: &mut Screen, answer: &Value) -> Result<(), CommandError> {
    let id = word(&answer["question"]["id"]);
    let said = word(&answer["answer"]);
    screen.line(format!("Question {id}: {said}"))?;
    for call in answer["question"]["calls"].as_array().into_iter().flatten() {
        screen.paragraph(
            "  ",
            &format!(
                "{} Asked because {}.",
                word(&call["summary"]),
                word(&call["why"])
            ),
        )?;
        let passage = &call["passage"];
        if passage.is_object() {
            screen.paragraph(
                "  ",
                &format!(
                    "Untrusted: {}>>{}<<{}",
                    word(&passage["before"]),
                    word(&passage["marked"]),
                    word(&passage["after"])
                ),
            )?;
        }
    }
    Ok(())
}

fn word(value: &Value) -> String {
    shown(value.as_str().unwrap_or_default())
}
