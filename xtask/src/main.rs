//! The chores of the repository: `cargo xtask <chore>`.

mod deny;
#[cfg(test)]
mod dependencies;
mod docs;
mod fuzz;
mod guard_bench;
#[cfg(test)]
mod keys;
mod kills;
mod notices;
mod platforms;
#[cfg(test)]
mod rooms;
mod size;
mod test_run;
#[cfg(test)]
mod words;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask <chore>

  fmt [--check]    format the code
  lint             clippy with warnings denied
  test             every test of the workspace
  snap             accept new snapshots and regenerate the generated docs
  docs [--check]   build the API docs, write or check the generated pages
  bench [FILTER]   run the benchmarks
  bench --once     run each of them once, on little and unoptimised: whether they still work
  bench many       long histories and many sessions only: CPU, fsyncs, turns/s, stalls, memory
  bench gateway    the gateway under load, and killed meanwhile: latency, memory, nothing lost;
                   --sessions, --rate, --seconds and --kill-every change the load
  dist             the binary that is handed to people: target/dist/chela
  size [FILE]      what it is made of, and whether it is within its budget
  notices FILE     the licences of the crates inside the program, for the packages
  packages […]     the packages people install from: scripts/package.sh
  deny             licences, sources, banned crates and second versions (deny.toml), offline
  fuzz [SECONDS]   run every fuzz target for a while on made-up inputs (default 10 s each)
  fuzz guided [SECONDS]
                   the same with libFuzzer (needs cargo-fuzz; default 60 s each)
  check-platforms  compile for other systems, as far as their libraries are installed
  guard-bench [everyday] [findings] [recorded] [adapting] [--traces FILE]
              [--no-sandbox | --landlock | --bubblewrap] [--questions]
                   what the guard asks and what gets past it, in one table; recorded and adapting
                   replay the attacks of FILE through the agent
  kills [N]        kill -9 at N random points (default 500) of turns, compactions, sub-agents and
                   payments: what was lost, done twice or broken, in one table
  retrieval-bench DIR […]
                   measure the search of memory on question sets
  ranking-bench FOLDER [--half dev|held] [--misses]
                   measure how well messages find their skill, among public skills in FOLDER
  scan-bench FOLDER|FILE.jsonl [--show]
                   measure how well the scan tells harmful skills from honest ones
  ci               what a change must pass: fmt, deny, lint, test with fuzzing, each
                   benchmark once, docs
";

/// A chore either works or says which command failed.
type ChoreOutcome = Result<(), String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["fmt"] => cargo(&["fmt", "--all"]),
        ["fmt", "--check"] => cargo(&["fmt", "--all", "--check"]),
        ["lint"] => lint(),
        ["test", rest @ ..] => test_run::run_tests(rest),
        ["snap"] => snap(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["bench", "many", rest @ ..] => bench_one("chela-agent", "many", rest),
        ["bench", "gateway", rest @ ..] => bench_one("chela", "gateway", rest),
        ["bench", "--once"] => bench_once(),
        ["bench", rest @ ..] => bench(rest),
        ["kills"] => kills::count("500"),
        ["kills", kills] => kills::count(kills),
        ["guard-bench", rest @ ..] => guard_bench::measure(rest),
        ["retrieval-bench", rest @ ..] => example("chela-memory", "retrieval_bench", rest),
        ["ranking-bench", rest @ ..] => example("chela-agent", "ranking_bench", rest),
        ["scan-bench", rest @ ..] => example("chela-skills", "scan_bench", rest),
        ["dist"] => dist(),
        ["size"] => size::check(size::PROGRAM),
        ["size", file] => size::check(file),
        ["notices", file] => notices::write(file),
        ["packages", rest @ ..] => run(Command::new("scripts/package.sh").args(rest)),
        ["deny"] => deny::check(),
        ["fuzz", "guided"] => fuzz::guided("60"),
        ["fuzz", "guided", seconds] => fuzz::guided(seconds),
        ["fuzz"] => fuzz::smoke("10"),
        ["fuzz", seconds] => fuzz::smoke(seconds),
        ["check-platforms"] => platforms::check(),
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

/// The binary that is handed to people. Functions that came out as the same machine code are kept
/// once, where the linker that comes with the compiler can do that; places in other crates are named
/// by their crate, so that it does not matter whose machine it was built on.
fn dist() -> ChoreOutcome {
    /// Ways of packing that zstd has for levels above the one we use.
    const UNUSED: [&str; 6] = ["GREEDY", "LAZY", "LAZY2", "BTLAZY2", "BTOPT", "BTULTRA"];
    let mut flags = vec!["-Clink-arg=-Wl,--icf=all".to_owned()];
    flags.extend(registries().map(|folder| format!("--remap-path-prefix={}=", folder.display())));
    let flags = format!("target.x86_64-unknown-linux-gnu.rustflags={flags:?}");
    let mut c_flags = std::env::var("CFLAGS").unwrap_or_default();
    for way in UNUSED {
        c_flags.push_str(&format!(" -DZSTD_EXCLUDE_{way}_BLOCK_COMPRESSOR"));
    }
    let args = ["build", "--profile", "dist", "--package", "chela"];
    run(Command::new(cargo_bin())
        .args(args)
        .args(["--config", &flags])
        .env("CFLAGS", c_flags))
}

/// Where cargo keeps the sources of the crates of each registry.
fn registries() -> impl Iterator<Item = PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folders = home.and_then(|home| std::fs::read_dir(home.join("registry/src")).ok());
    folders
        .into_iter()
        .flatten()
        .flatten()
        .map(|one| one.path())
}

fn lint() -> ChoreOutcome {
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ])
}

fn snap() -> ChoreOutcome {
    run(Command::new(cargo_bin())
        .args(["test", "--workspace"])
        .env("INSTA_UPDATE", "always"))?;
    docs::write()
}

fn bench(rest: &[&str]) -> ChoreOutcome {
    let mut args = vec!["bench", "--workspace", "--benches"];
    if !rest.is_empty() {
        args.push("--");
        args.extend(rest);
    }
    cargo(&args)
}

/// A benchmark that Cargo does not call one does little (`chela_testkit::bench::BenchEffort`).
fn bench_once() -> ChoreOutcome {
    cargo(&["test", "--workspace", "--bench", "*"])
}

fn bench_one(package: &str, name: &str, rest: &[&str]) -> ChoreOutcome {
    let mut args = vec!["bench", "--package", package, "--bench", name, "--"];
    args.extend(rest);
    cargo(&args)
}

/// In a program of its own, so that chores need not be built with the agent.
fn example(package: &str, name: &str, rest: &[&str]) -> ChoreOutcome {
    let mut args = vec!["run", "--quiet", "--release", "--package", package];
    args.extend(["--example", name, "--"]);
    args.extend(rest);
    cargo(&args)
}

fn ci() -> ChoreOutcome {
    cargo(&["fmt", "--all", "--check"])?;
    deny::check()?;
    lint()?;
    test_run::run_tests(&[])?;
    bench_once()?;
    docs::check()
}

fn cargo(args: &[&str]) -> ChoreOutcome {
    run(Command::new(cargo_bin()).args(args))
}

fn cargo_bin() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn run(command: &mut Command) -> ChoreOutcome {
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
