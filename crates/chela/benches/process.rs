//! Whole commands as processes: CPU time and peak memory, against a Rust hello-world built and
//! measured in the same run.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chela_testkit::bench::BenchEffort;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use wait4::Wait4;

#[path = "../tests/it/risky.rs"]
mod risky;

fn runs() -> usize {
    BenchEffort::asked().pick(40, 1)
}

fn warm_turns() -> u32 {
    BenchEffort::asked().pick(100, 2)
}

/// CPU time and peak resident memory of a process.
#[derive(Debug, Clone, Copy)]
struct Cost {
    cpu: Duration,
    kib: u64,
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark reports to the person who runs it"
)]
fn main() {
    let home = tempfile::tempdir().expect("a folder for the home");
    let hello = hello_world(home.path());
    let chela = PathBuf::from(env!("CARGO_BIN_EXE_chela"));
    run(&chela, home.path(), &["init"]);

    let baseline = measure(&hello, home.path(), &[]);
    println!(
        "{:<34} {:>9} {:>9} {:>8} {:>8}",
        "process", "CPU", "peak", "CPU ×", "memory ×"
    );
    report("hello world", baseline, baseline);
    for (name, args) in [
        ("chela --version", &["--version"] as &[&str]),
        ("chela status", &["status"]),
        ("chela status --json", &["status", "--json"]),
        ("chela config get", &["config", "get"]),
        ("chela prompt", &["prompt"]),
        ("chela context list", &["context", "list"]),
        ("chela context map", &["context", "map"]),
        ("chela doctor", &["doctor"]),
        ("chela security audit", &["security", "audit"]),
    ] {
        report(name, measure(&chela, home.path(), args), baseline);
    }
    let bad = tempfile::tempdir().expect("a folder for a home full of problems");
    run(&chela, bad.path(), &["init"]);
    risky::plant(bad.path());
    let audit = measure(&chela, bad.path(), &["security", "audit"]);
    report("chela security audit, 80 problems", audit, baseline);
    chat(&chela, home.path(), baseline);
}

/// A message and its answer, from an endpoint that answers at once: what it costs to say the
/// first one, and one more in a conversation that is open.
fn chat(chela: &Path, home: &Path, baseline: Cost) {
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply(
        "Hello there, good to see you.",
    )))
    .expect("an endpoint");
    let provider = format!(
        "{{ baseUrl: '{}', models: [{{ id: 'm', contextWindow: 64000 }}] }}",
        endpoint.url()
    );
    run(
        chela,
        home,
        &["config", "set", "models.providers.kit", &provider],
    );
    run(
        chela,
        home,
        &["config", "set", "agents.defaults.model", "kit/m"],
    );
    let one_shot = measure(chela, home, &["chat", "-m", "hi"]);
    report("chela chat -m hi", one_shot, baseline);
    let asked = endpoint.calls().len();
    assert_eq!(asked, runs(), "every run asks once");
    // A session each: a long history would be measured too.
    let few = conversation(chela, home, 1);
    let many = conversation(chela, home, 1 + warm_turns());
    assert_eq!(endpoint.calls().len() - asked, 2 + warm_turns() as usize);
    let turn = Cost {
        cpu: many.cpu.saturating_sub(few.cpu) / warm_turns(),
        kib: many.kib,
    };
    report("one more turn, warm", turn, baseline);
}

/// A conversation of so many turns in one process, typed line by line.
fn conversation(chela: &Path, home: &Path, turns: u32) -> Cost {
    let keyboard =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&keyboard).expect("a terminal");
    unlockpt(&keyboard).expect("a terminal");
    let name = ptsname(&keyboard, Vec::new()).expect("a terminal has a name");
    let line = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().expect("a plain name"))
        .expect("the other end");
    let session = format!("agent:main:turns-{turns}");
    let child = command(chela, home, &["chat", "--session", &session])
        .stdin(line)
        .spawn()
        .expect("the chat starts");
    let mut keyboard = File::from(keyboard);
    let typed = "hi\n".repeat(turns as usize) + "\u{4}";
    keyboard.write_all(typed.as_bytes()).expect("it is typed");
    cost(child)
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark reports to the person who runs it"
)]
fn report(name: &str, cost: Cost, baseline: Cost) {
    println!(
        "{name:<34} {:>6.2} ms {:>6.1} MB {:>8.1} {:>8.1}",
        cost.cpu.as_secs_f64() * 1e3,
        cost.kib as f64 / 1024.0,
        cost.cpu.as_secs_f64() / baseline.cpu.as_secs_f64(),
        cost.kib as f64 / baseline.kib as f64
    );
}

/// The median run.
fn measure(program: &Path, home: &Path, args: &[&str]) -> Cost {
    let mut costs: Vec<Cost> = (0..runs()).map(|_| run(program, home, args)).collect();
    costs.sort_by_key(|cost| cost.cpu);
    costs[costs.len() / 2]
}

fn run(program: &Path, home: &Path, args: &[&str]) -> Cost {
    let child = command(program, home, args)
        .spawn()
        .expect("the program starts");
    cost(child)
}

fn command(program: &Path, home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn cost(child: Child) -> Cost {
    let ended = child.wait4().expect("the program ends");
    let used = ended.rusage;
    Cost {
        cpu: used.utime + used.stime,
        kib: used.maxrss / 1024,
    }
}

fn hello_world(dir: &Path) -> PathBuf {
    let source = dir.join("hello.rs");
    let program = dir.join("hello");
    std::fs::write(&source, "fn main() { println!(\"hello\"); }").expect("the source is written");
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let built = Command::new(compiler)
        .arg("-O")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "hello world does not compile"
    );
    program
}
