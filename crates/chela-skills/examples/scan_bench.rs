//! How well the skill scanner tells harmful packages from honest ones.
//!
//! ```text
//! cargo run --release -p chela-skills --example scan_bench -- FILE.jsonl [--show]
//! cargo run --release -p chela-skills --example scan_bench -- FOLDER [--show]
//! ```
//!
//! A file holds one text per line: `{"text": …, "label": 0 or 1, "source": …}`. A folder holds
//! `malicious/` and `benign/` with one package per folder, or with one folder per author that
//! holds packages. `--show` prints every miss and every false alarm with what was found; `--list`
//! prints a line for each package: verdict, folder, and the kinds of what was found; `--all` prints
//! everything that was found, so that two scanners can be compared line by line.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement talks"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chela_skills::{ScanReport, ScanVerdict, SkillPackage, inspect};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut flag = |name: &str| {
        let before = args.len();
        args.retain(|arg| arg != name);
        args.len() < before
    };
    let (show, list, all) = (flag("--show"), flag("--list"), flag("--all"));
    let [path] = args.as_slice() else {
        eprintln!("usage: scan_bench FILE.jsonl|FOLDER [--show] [--list] [--all]");
        return Err("one file or folder is needed".into());
    };
    let path = Path::new(path);
    let cases = if path.is_dir() {
        folders(path)?
    } else {
        lines(path)?
    };
    let mut table = Table::default();
    for case in &cases {
        let began = Instant::now();
        let report = inspect(&case.package());
        table.add(case, &report, began.elapsed());
        if show {
            show_wrong(case, &report);
        }
        if list {
            list_one(case, &report);
        }
        if all {
            println!("{:?}\t{}\t{:?}", report.verdict, case.name, report.findings);
        }
    }
    table.print();
    Ok(())
}

struct Case {
    name: String,
    source: String,
    harmful: bool,
    holds: Holds,
}

enum Holds {
    Text(String),
    Folder(PathBuf),
}

impl Case {
    fn package(&self) -> SkillPackage {
        match &self.holds {
            Holds::Text(text) => SkillPackage::of_text("SKILL.md", text),
            Holds::Folder(folder) => SkillPackage::read(folder),
        }
    }
}

fn lines(path: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut cases = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let row: serde_json::Value = serde_json::from_str(line)?;
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        cases.push(Case {
            name: format!("line {}", at + 1),
            source: word("source"),
            harmful: row["label"].as_u64() == Some(1),
            holds: Holds::Text(word("text")),
        });
    }
    Ok(cases)
}

fn folders(root: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let mut cases = Vec::new();
    for (side, harmful) in [("malicious", true), ("benign", false)] {
        let dir = root.join(side);
        if dir.is_dir() {
            packages(&dir, side, harmful, &mut cases)?;
        }
    }
    if cases.is_empty() {
        return Err(format!("{} holds neither malicious/ nor benign/", root.display()).into());
    }
    Ok(cases)
}

/// Folders with a SKILL.md are packages; a folder without one is an author with packages, and a
/// lowest folder without one is a broken package.
fn packages(
    dir: &Path,
    source: &str,
    harmful: bool,
    cases: &mut Vec<Case>,
) -> Result<(), Box<dyn Error>> {
    let mut inner: Vec<PathBuf> = std::fs::read_dir(dir)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    inner.retain(|path| path.is_dir());
    inner.sort();
    for folder in inner {
        let is_skill = ["SKILL.md", "skill.md"]
            .iter()
            .any(|name| folder.join(name).exists());
        let holds_folders = std::fs::read_dir(&folder)?
            .filter_map(Result::ok)
            .any(|entry| entry.path().is_dir());
        if !is_skill && holds_folders {
            let author = folder.file_name().unwrap_or_default().to_string_lossy();
            packages(&folder, &format!("{source}/{author}"), harmful, cases)?;
            continue;
        }
        cases.push(Case {
            name: folder.display().to_string(),
            source: source.to_owned(),
            harmful,
            holds: Holds::Folder(folder),
        });
    }
    Ok(())
}

fn list_one(case: &Case, report: &ScanReport) {
    let kinds: BTreeSet<String> = report
        .findings
        .iter()
        .map(|finding| format!("{}:{:?}", finding.code, finding.severity))
        .collect();
    let kinds: Vec<String> = kinds.into_iter().collect();
    println!("{:?}\t{}\t{}", report.verdict, case.name, kinds.join(" "));
}

fn show_wrong(case: &Case, report: &ScanReport) {
    let wrong = case.harmful != (report.verdict == ScanVerdict::Dangerous);
    let noisy = !case.harmful && report.verdict != ScanVerdict::Clean;
    if !wrong && !noisy {
        return;
    }
    let kind = if case.harmful { "missed" } else { "alarm" };
    println!(
        "{kind} {:?} {} ({})",
        report.verdict, case.name, case.source
    );
    for finding in report.findings.iter().take(6) {
        println!("    {:?} [{}] {finding}", finding.severity, finding.code);
        if let Some(excerpt) = &finding.excerpt {
            println!("        {excerpt}");
        }
    }
}

#[derive(Default)]
struct Row {
    packages: usize,
    dangerous: usize,
    suspicious: usize,
}

#[derive(Default)]
struct Table {
    rows: BTreeMap<(bool, String), Row>,
    times: Vec<Duration>,
}

impl Table {
    fn add(&mut self, case: &Case, report: &ScanReport, took: Duration) {
        self.times.push(took);
        let row = self
            .rows
            .entry((!case.harmful, case.source.clone()))
            .or_default();
        row.packages += 1;
        row.dangerous += usize::from(report.verdict == ScanVerdict::Dangerous);
        row.suspicious += usize::from(report.verdict == ScanVerdict::Suspicious);
    }

    fn print(&self) {
        println!(
            "{:<44} {:>8} {:>10} {:>11}",
            "source", "packages", "dangerous", "suspicious"
        );
        for benign in [false, true] {
            let mut sum = Row::default();
            for ((_, source), row) in self.rows.iter().filter(|((is, _), _)| *is == benign) {
                let what = if benign { "benign" } else { "harmful" };
                println!(
                    "{:<44} {:>8} {:>10} {:>11}",
                    format!("{what} {source}"),
                    row.packages,
                    share(row.dangerous, row),
                    share(row.suspicious, row)
                );
                sum.packages += row.packages;
                sum.dangerous += row.dangerous;
                sum.suspicious += row.suspicious;
            }
            if sum.packages > 0 {
                let what = if benign { "false positives" } else { "recall" };
                println!(
                    "{:<44} {:>8} {:>10} {:>11}",
                    format!("= {what}"),
                    sum.packages,
                    share(sum.dangerous, &sum),
                    share(sum.suspicious, &sum)
                );
            }
        }
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |share: usize| {
            let at = (times.len() * share / 100).min(times.len().saturating_sub(1));
            times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        println!(
            "{:.2} ms per package in the middle, {:.2} ms for 95 of 100, {:.2} ms at most",
            at(50),
            at(95),
            at(100)
        );
    }
}

fn share(count: usize, row: &Row) -> String {
    format!("{:.1} %", 100.0 * count as f64 / row.packages.max(1) as f64)
}
