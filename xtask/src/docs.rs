//! The pages that are generated from the program itself, and the check that they are current.

use std::path::Path;
use std::process::Command;

use crate::{ChoreOutcome, cargo_bin, run};

/// Where the generated pages live.
const GENERATED: &str = "docs/generated";

pub fn write() -> ChoreOutcome {
    api_docs()?;
    generate(GENERATED)
}

pub fn check() -> ChoreOutcome {
    api_docs()?;
    let fresh = "target/generated-docs";
    generate(fresh)?;
    let stale: Vec<String> = differing(Path::new(fresh), Path::new(GENERATED))?;
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{GENERATED} is out of date ({}); run `cargo xtask docs`",
        stale.join(", ")
    ))
}

fn api_docs() -> ChoreOutcome {
    run(Command::new(cargo_bin())
        .args(["doc", "--workspace", "--no-deps", "--quiet"])
        .env("RUSTDOCFLAGS", "--deny warnings"))
}

fn generate(into: &str) -> ChoreOutcome {
    run(Command::new(cargo_bin()).args([
        "run",
        "--quiet",
        "--package",
        "chela",
        "--",
        "docs",
        "--write",
        into,
    ]))
}

/// Names of the files that differ, or are only on one side.
fn differing(fresh: &Path, kept: &Path) -> Result<Vec<String>, String> {
    let mut names = names_in(fresh)?;
    names.extend(names_in(kept)?);
    names.sort();
    names.dedup();
    names
        .retain(|name| std::fs::read(fresh.join(name)).ok() != std::fs::read(kept.join(name)).ok());
    Ok(names)
}

fn names_in(dir: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect())
}
