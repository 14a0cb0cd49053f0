//! `chela guard explain`: what was decided about each call of a turn, and why.

use chela_core::Host;
use chela_ledger::{AuditFilter, AuditKind, Ledger, RecordFilter, RecordId};
use chela_store::block_on;
use chela_tools::approvals::shown;
use serde_json::{Value, json};

use crate::cmd::{Outcome, ledger};
use crate::fail::{Exit, Fail};
use crate::screen::{Paint, Screen};

pub fn run(host: &Host, screen: &mut Screen, turn: Option<i64>, json: bool) -> Outcome {
    ledger::with(host, screen, |ledger, screen| {
        let turn = turn_of(ledger, turn)?;
        let decisions = about(ledger, AuditKind::ToolDecision, &turn)?;
        let answers = about(ledger, AuditKind::Approval, &turn)?;
        if json {
            screen.json(&json!({ "turn": turn, "calls": decisions, "answers": answers }))?;
            return Ok(Exit::Fine);
        }
        screen.line(screen.paint.bold(format!("Turn {}", shown(&turn))))?;
        if decisions.is_empty() {
            screen.line("  No tool was called.")?;
        }
        for decision in &decisions {
            screen.blank()?;
            tell(screen, decision)?;
        }
        for answer in &answers {
            screen.blank()?;
            tell_answer(screen, answer)?;
        }
        Ok(Exit::Fine)
    })
}

/// The turn a request belongs to; the newest one's without a number.
fn turn_of(ledger: &Ledger, request: Option<i64>) -> Result<String, Fail> {
    match request {
        Some(id) => Ok(block_on(ledger.show(RecordId(id)))?.summary.turn),
        None => {
            let newest = block_on(ledger.list(&RecordFilter {
                limit: Some(1),
                ..RecordFilter::default()
            }))?;
            let newest = newest.into_iter().next();
            newest.map(|one| one.turn).ok_or_else(|| {
                Fail::new("there is no turn on record yet").hint("`chela chat` makes one")
            })
        }
    }
}

fn about(ledger: &Ledger, kind: AuditKind, turn: &str) -> Result<Vec<Value>, Fail> {
    let entries = block_on(ledger.audit(&AuditFilter {
        kind: Some(kind),
        about: Some(format!("\"turn\":{}", json!(turn))),
        ..AuditFilter::default()
    }))?;
    Ok(entries.iter().map(|entry| entry.json()).collect())
}

fn tell(screen: &mut Screen, decision: &Value) -> Result<(), Fail> {
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

fn verdict(paint: Paint, decision: &Value) -> String {
    match (
        decision["guard"]["verdict"].as_str(),
        decision["decision"].as_str(),
    ) {
        (_, Some("refused")) => paint.bad("refused"),
        (Some("ask"), _) => paint.warn("allowed by you"),
        _ => paint.good("allowed"),
    }
}

fn tell_answer(screen: &mut Screen, answer: &Value) -> Result<(), Fail> {
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
                    "From outside: {}>>{}<<{}",
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
