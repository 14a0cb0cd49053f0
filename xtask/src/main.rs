//! The chores of the repository: `cargo xtask <chore>`.

#[cfg(test)]
mod dependencies;
mod docs;
#[cfg(test)]
mod keys;
mod platforms;
#[cfg(test)]
mod rooms;

use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask <chore>

  fmt [--check]    format the code
  lint             clippy with warnings denied
  test             every test of the workspace
  snap             accept new snapshots and regenerate the generated docs
  docs [--check]   build the API docs, write or check the generated pages
  bench [FILTER]   run the benchmarks
  fuzz [SECONDS]   run every fuzz target for a while (default 60 s each)
  check-platforms  compile for other systems, as far as their libraries are installed
  guard-bench FILE replay recorded attacks through the agent and print the table
  ci               what a change must pass: fmt, lint, test, docs
";

/// A chore either works or says which command failed.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["fmt"] => cargo(&["fmt", "--all"]),
        ["fmt", "--check"] => cargo(&["fmt", "--all", "--check"]),
        ["lint"] => lint(),
        ["test", rest @ ..] => test(rest),
        ["snap"] => snap(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["bench", rest @ ..] => bench(rest),
        ["fuzz"] => fuzz("60"),
        ["fuzz", seconds] => fuzz(seconds),
        ["check-platforms"] => platforms::check(),
        ["guard-bench", file] => guard_bench(file),
        ["ci"] => ci(),
        _ => Err(format!("{HELP}\nunknown chore: {}", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

fn lint() -> Outcome {
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ])
}

fn test(rest: &[&str]) -> Outcome {
    let mut args = vec!["test", "--workspace"];
    args.extend(rest);
    cargo(&args)
}

fn snap() -> Outcome {
    run(Command::new(cargo_bin())
        .args(["test", "--workspace"])
        .env("INSTA_UPDATE", "always"))?;
    docs::write()
}

fn bench(rest: &[&str]) -> Outcome {
    let mut args = vec!["bench", "--workspace", "--benches"];
    if !rest.is_empty() {
        args.push("--");
        args.extend(rest);
    }
    cargo(&args)
}

fn fuzz(seconds: &str) -> Outcome {
    let list = std::fs::read_dir("fuzz/fuzz_targets")
        .map_err(|error| format!("fuzz/fuzz_targets: {error}"))?;
    let mut targets: Vec<String> = list
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    targets.sort();
    for target in targets {
        // The stable compiler has everything libFuzzer needs but the permission to use it.
        let limit = format!("-max_total_time={seconds}");
        run(Command::new(cargo_bin()).env("RUSTC_BOOTSTRAP", "1").args([
            "fuzz",
            "run",
            "--sanitizer",
            "none",
            &target,
            "--",
            &limit,
        ]))?;
    }
    Ok(())
}

/// In a program of its own, so that chores need not be built with the agent.
fn guard_bench(file: &str) -> Outcome {
    cargo(&[
        "run",
        "--quiet",
        "--release",
        "--package",
        "chela-agent",
        "--example",
        "guard_bench",
        "--",
        file,
    ])
}

fn ci() -> Outcome {
    cargo(&["fmt", "--all", "--check"])?;
    lint()?;
    test(&[])?;
    docs::check()
}

fn cargo(args: &[&str]) -> Outcome {
    run(Command::new(cargo_bin()).args(args))
}

fn cargo_bin() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn run(command: &mut Command) -> Outcome {
    let line = format!("{command:?}").replace('"', "");
    say(&format!("> {line}"));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed ({status}): {line}")),
        Err(error) => Err(format!("could not start: {line}: {error}")),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a chore runner talks to the person at the terminal"
)]
fn say(message: &str) {
    eprintln!("{message}");
}
