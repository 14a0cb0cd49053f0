//! Running the fuzz targets: with made-up inputs as ordinary tests, or guided by libFuzzer.

use std::process::Command;

use crate::{ChoreOutcome, cargo_bin, run};

/// Needs nothing installed. Finds what lies near the seeds, and that a target still compiles.
pub fn smoke(seconds: &str) -> ChoreOutcome {
    run(Command::new(cargo_bin())
        .args(["test", "--package", "chela-fuzz-smoke"])
        .env("CHELA_FUZZ_SECONDS", seconds))
}

/// With cargo-fuzz, which follows where an input leads.
pub fn guided(seconds: &str) -> ChoreOutcome {
    for target in targets()? {
        let (corpus, seeds) = (
            format!("fuzz/corpus/{target}"),
            format!("fuzz/seeds/{target}"),
        );
        for folder in [&corpus, &seeds] {
            std::fs::create_dir_all(folder).map_err(|error| format!("{folder}: {error}"))?;
        }
        // The stable compiler has everything libFuzzer needs but the permission to use it.
        run(Command::new(cargo_bin())
            .env("RUSTC_BOOTSTRAP", "1")
            .args([
                "fuzz",
                "run",
                "--sanitizer",
                "none",
                &target,
                &corpus,
                &seeds,
                "--",
            ])
            .arg(format!("-max_total_time={seconds}")))?;
    }
    Ok(())
}

fn targets() -> Result<Vec<String>, String> {
    let list = std::fs::read_dir("fuzz/fuzz_targets")
        .map_err(|error| format!("fuzz/fuzz_targets: {error}"))?;
    let mut targets: Vec<String> = list
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    targets.sort();
    Ok(targets)
}
