//! What the guard costs and what gets past it: `cargo xtask guard-bench`.
//!
//! The scenes are the tests of the guard and the replay of recorded attacks; each says what it saw
//! as rows in a file, and this makes one table of them.

mod table;

use std::path::PathBuf;
use std::process::Command;

use crate::{ChoreOutcome, cargo_bin, run, say};

/// What may be asked for: a word, and the tests it stands for.
const PARTS: [(&str, &[&str]); 2] = [
    ("everyday", &["guard::everyday::", "guard::livable::"]),
    ("findings", &["guard::f"]),
];
/// Replayed from a file of traces.
const REPLAYED: [&str; 2] = ["recorded", "adapting"];

struct BenchOrder {
    parts: Vec<String>,
    traces: Option<String>,
    /// The sandbox it runs with; `None`: what works here.
    sandbox: Option<&'static str>,
    questions: bool,
}

/// No machine has this sandbox.
const ABSENT: &str = "absent";

pub fn measure(arguments: &[&str]) -> ChoreOutcome {
    let order = BenchOrder::of(arguments)?;
    let rows = PathBuf::from("target/guard-bench.jsonl");
    if rows.exists() {
        std::fs::remove_file(&rows).map_err(|error| format!("{}: {error}", rows.display()))?;
    }
    let rows = std::env::current_dir()
        .map_err(|error| error.to_string())?
        .join(rows);
    let tested = order.run_tests(&rows);
    let replayed = order.replay(&rows);
    let text = std::fs::read_to_string(&rows).unwrap_or_default();
    let summary = table::of_rows(&text, order.sandbox != Some(ABSENT))?;
    say(&summary.text);
    tested.and(replayed)?;
    match summary.missed.is_empty() {
        true => Ok(()),
        false => Err(format!("missed: {}", summary.missed.join(", "))),
    }
}

impl BenchOrder {
    fn of(arguments: &[&str]) -> Result<Self, String> {
        let mut order = Self {
            parts: Vec::new(),
            traces: None,
            sandbox: None,
            questions: false,
        };
        let mut left = arguments.iter();
        while let Some(&argument) = left.next() {
            match argument {
                "--no-sandbox" => order.sandbox = Some(ABSENT),
                "--landlock" => order.sandbox = Some("landlock"),
                "--bubblewrap" => order.sandbox = Some("bwrap"),
                "--questions" => order.questions = true,
                "--traces" => order.traces = left.next().map(ToString::to_string),
                file if file.ends_with(".json") => order.traces = Some(file.to_owned()),
                part if REPLAYED.contains(&part) || PARTS.iter().any(|(name, _)| *name == part) => {
                    order.parts.push(part.to_owned());
                }
                other => return Err(format!("guard-bench knows no {other}")),
            }
        }
        let replays = order
            .parts
            .iter()
            .any(|part| REPLAYED.contains(&part.as_str()));
        if replays && order.traces.is_none() {
            return Err("recorded and adapting need --traces FILE".to_owned());
        }
        if order.parts.is_empty() {
            order.parts.extend(PARTS.map(|(name, _)| name.to_owned()));
            if order.traces.is_some() {
                order.parts.extend(REPLAYED.map(str::to_owned));
            }
        }
        Ok(order)
    }

    fn wants(&self, part: &str) -> bool {
        self.parts.iter().any(|wanted| wanted == part)
    }

    /// The scenes that are tests: the real binary and the real engine with real tools.
    fn run_tests(&self, rows: &PathBuf) -> ChoreOutcome {
        let wanted = PARTS.iter().filter(|(part, _)| self.wants(part));
        let filters: Vec<&str> = wanted.flat_map(|(_, filters)| *filters).copied().collect();
        if filters.is_empty() {
            return Ok(());
        }
        let mut command = Command::new(cargo_bin());
        command.args([
            "test",
            "--quiet",
            "--package",
            "chela",
            "--test",
            "it",
            "--",
        ]);
        command.args(filters).env("CHELA_TALLY", rows);
        if self.questions {
            command.args(["--nocapture", "--test-threads=1"]);
        }
        if let Some(backend) = self.sandbox {
            command.env("CHELA_TEST_SANDBOX", backend);
        }
        if self.sandbox == Some(ABSENT) {
            // The walls themselves have nothing to show then.
            command.args(["--skip", "guard::f14_walls", "--skip", "guard::f11_fence"]);
        }
        run(&mut command)
    }

    fn replay(&self, rows: &PathBuf) -> ChoreOutcome {
        let Some(traces) = &self.traces else {
            return Ok(());
        };
        if !REPLAYED.iter().any(|part| self.wants(part)) {
            return Ok(());
        }
        let mut command = Command::new(cargo_bin());
        command.args(["run", "--quiet", "--release", "--package", "chela-agent"]);
        command.args(["--example", "guard_bench", "--", traces]);
        if !self.wants("adapting") {
            command.arg("--quick");
        }
        if self.questions {
            command.arg("--questions");
        }
        run(command.env("CHELA_TALLY", rows))
    }
}
