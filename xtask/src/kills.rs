//! kill -9 at many random points: `cargo xtask kills [N]`.
//!
//! The scenes are the tests in `kill`; each says what it found as a row in a file, and this makes
//! one table of the rows.

use std::process::Command;

use serde::Deserialize;

use crate::{ChoreOutcome, cargo_bin, run, say};

/// A line of the file, as `chela_testkit::tally` writes it.
#[derive(Debug, Default, Deserialize)]
struct KillRow {
    kind: String,
    kills: usize,
    running: usize,
    lost: usize,
    twice: usize,
    audit: String,
    found: String,
}

pub fn count(kills: &str) -> ChoreOutcome {
    if kills.parse::<usize>().is_err() {
        return Err(format!("`{kills}` is not a number of kills"));
    }
    let rows = std::env::current_dir()
        .map_err(|error| error.to_string())?
        .join("target/kills.jsonl");
    if rows.exists() {
        std::fs::remove_file(&rows).map_err(|error| format!("{}: {error}", rows.display()))?;
    }
    let mut command = Command::new(cargo_bin());
    command
        .args(["test", "--package", "chela", "--test", "it", "--", "kill::"])
        .env("CHELA_KILLS", kills)
        .env("CHELA_TALLY", &rows);
    let tested = run(&mut command);
    let text = std::fs::read_to_string(&rows).unwrap_or_default();
    say(&table(&text)?);
    tested
}

fn table(text: &str) -> Result<String, String> {
    let mut rows: Vec<KillRow> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("a row cannot be read: {error}"))?;
    rows.sort_by(|a, b| a.kind.cmp(&b.kind));
    let sum = |of: fn(&KillRow) -> usize| rows.iter().map(of).sum::<usize>();
    let all = KillRow {
        kind: "all".to_owned(),
        kills: sum(|row| row.kills),
        running: sum(|row| row.running),
        lost: sum(|row| row.lost),
        twice: sum(|row| row.twice),
        ..KillRow::default()
    };
    let mut told = format!(
        "{:<25} {:>5} {:>8} {:>5} {:>6}  {}\n",
        "killed in the middle of",
        "kills",
        "running",
        "lost",
        "twice",
        "audit verify; what was there"
    );
    for row in rows.iter().chain([&all]) {
        told.push_str(&format!(
            "{:<25} {:>5} {:>8} {:>5} {:>6}  {}; {}\n",
            row.kind, row.kills, row.running, row.lost, row.twice, row.audit, row.found
        ));
    }
    Ok(told.replace("  ; \n", "\n"))
}
