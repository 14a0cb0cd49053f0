//! What watching the workspace around a command costs: turns of commands in a workspace with nothing in
//! it and in one with 10,000 files, beside a plain walk of the same files.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chela_testkit::bench::BenchEffort;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::json;

/// Files, and how many lie in a folder.
const FILES: usize = 10_000;
const IN_A_FOLDER: usize = 20;

fn runs() -> usize {
    BenchEffort::asked().pick(7, 1)
}

fn commands() -> usize {
    BenchEffort::asked().pick(20, 1)
}

fn files() -> usize {
    BenchEffort::asked().pick(FILES, 40)
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark reports to the person who runs it"
)]
fn main() {
    let empty = turn_times("empty", |_| ());
    let mut walks = Vec::new();
    let full = turn_times("full", |workspace| {
        for at in 0..files() {
            let folder = workspace.join(format!("src/part{}", at / IN_A_FOLDER));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(format!("file{at}.rs")), "fn x() {}\n").expect("a file");
        }
        walk(workspace);
        walks = (0..5).map(|_| walk(workspace)).collect();
        walks.sort();
    });
    let each = |turn: Duration| turn.as_secs_f64() * 1e3 / commands() as f64;
    let walked = walks[walks.len() / 2].as_secs_f64() * 1e3;
    let watched = each(full) - each(empty);
    println!(
        "a command, nothing in the workspace   {:>7.2} ms",
        each(empty)
    );
    println!(
        "a command, {} files in it         {:>7.2} ms",
        files(),
        each(full)
    );
    println!("a plain walk of these files           {walked:>7.2} ms");
    println!(
        "so watching them costs                {watched:>7.2} ms   {:.1} walks",
        watched / walked
    );
}

/// The median time of turns with so many commands, less a turn without any.
fn turn_times(name: &str, fill: impl FnOnce(&Path)) -> Duration {
    let home = tempfile::tempdir().expect("a home");
    let endpoint = ScriptedEndpoint::start(EndpointScript::default()).expect("an endpoint");
    let config = json!({
        "models": { "providers": { "kit": {
            "baseUrl": endpoint.url(), "api": "openai-completions", "apiKey": "k",
            "models": [{ "id": "scripted", "contextWindow": 64_000 }],
        } } },
        "agents": { "defaults": { "model": "kit/scripted" } },
    });
    let state = home.path().join(".chela");
    fs::create_dir_all(&state).expect("a state folder");
    fs::write(state.join("chela.json"), config.to_string()).expect("a config");
    run(home.path(), &["init"]);
    fill(&state.join("workspace"));
    let turn = |commands: usize, at: usize| {
        let step = |n: usize| ScriptStep::tool("exec", json!({ "command": format!("true {n}") }));
        let steps = (0..commands).map(step);
        let steps = steps.chain([ScriptStep::reply("done")]);
        endpoint.play(EndpointScript::steps(steps));
        let session = format!("agent:main:{name}{commands}x{at}");
        let start = Instant::now();
        run(home.path(), &["chat", "-m", "go", "--session", &session]);
        start.elapsed()
    };
    // The first one looks at everything for the first time.
    turn(commands(), 0);
    let median = |commands: usize| {
        let mut times: Vec<Duration> = (1..=runs()).map(|at| turn(commands, at)).collect();
        times.sort();
        times[times.len() / 2]
    };
    median(commands()).saturating_sub(median(0))
}

fn run(home: &Path, args: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_chela"))
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    assert!(done.status.success(), "{args:?}: {done:?}");
}

/// How long it takes to list every folder and look at every file.
fn walk(folder: &Path) -> Duration {
    let start = Instant::now();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let found = entry.metadata().expect("what it is");
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    start.elapsed()
}
