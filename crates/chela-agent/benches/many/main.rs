//! Many sessions and long histories: what the plumbing under a turn costs.
//!
//! `cargo bench -p chela-agent --bench many`. Each figure is taken in a process of its own, which
//! is this program again, so that memory and CPU time are those of one case. The model is a
//! thread that answers at once; its CPU time is taken off.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports to the person who runs it"
)]

mod baseline;
mod crowd;
mod history;
mod home;
mod meter;
mod model;

use std::path::Path;
use std::process::Command;

use chela_testkit::bench::BenchEffort;

/// Histories, by what came before the 36 entries the model still reads.
const HISTORIES: [(&str, usize); 4] = [
    ("36 entries", 0),
    ("1 MB", 1_000_000),
    ("4 MB", 4_000_000),
    ("8 MB", 8_000_000),
];

/// Turns of a person and an answer that came before, none of them summed up.
const TALKED: [usize; 4] = [0, 99, 999, 6_666];

const CROWDS: [usize; 3] = [1, 50, 200];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Cargo's own words, such as `--bench`, are read where they matter.
    let words = args.iter().map(String::as_str);
    let words: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
    match words.as_slice() {
        ["seed", dir, bytes] => history::seed(Path::new(dir), number(bytes)),
        ["talked", dir, turns] => history::seed_talk(Path::new(dir), number(turns)),
        ["turns", dir, what, turns] => history::turns(Path::new(dir), what, number(turns)),
        ["crowd", dir, sessions, threads] => {
            crowd::run(Path::new(dir), number(sessions), number(threads));
        }
        _ => all(words.first().copied()),
    }
}

fn number(word: &str) -> usize {
    word.parse().expect("a number")
}

fn all(filter: Option<&str>) {
    let wanted = |part: &str| filter.is_none_or(|filter| part.contains(filter));
    let (history, steps, crowd) = (wanted("history"), wanted("steps"), wanted("crowd"));
    if history || steps || crowd {
        baseline::print();
    }
    if history {
        histories();
    }
    if steps {
        one_step_turns();
    }
    if crowd {
        crowds();
    }
}

/// All cases, or the first two where it is only tried.
fn some_of<T: Copy>(cases: &[T]) -> impl Iterator<Item = T> {
    let count = BenchEffort::asked().pick(cases.len(), 2);
    cases.iter().take(count).copied()
}

/// What a turn costs after a longer and longer past. The context is the same each time.
fn histories() {
    println!("\na turn of ten calls (history)      CPU      ratio    fsyncs   fsyncs of \"hi\"");
    let mut first = None;
    for (name, bytes) in some_of(&HISTORIES) {
        let dir = tempfile::tempdir().expect("a folder");
        again(dir.path(), &["seed", &bytes.to_string()]);
        let cpu: f64 = again(dir.path(), &["turns", "calls", "4"])
            .trim()
            .parse()
            .expect("milliseconds");
        let first = *first.get_or_insert(cpu);
        let fsyncs = |what: &str| match history::fsyncs_per_turn(dir.path(), what) {
            Some(count) => format!("{count:.1}"),
            None => "no strace".to_owned(),
        };
        println!(
            "{name:<28} {cpu:>8.1} ms {:>8.2} × {:>8} {:>10}",
            cpu / first,
            fsyncs("calls"),
            fsyncs("hi"),
        );
    }
}

/// What a turn of one model call costs when all that was said is sent along.
fn one_step_turns() {
    println!("\na turn of one step (steps)         CPU    ratio");
    let mut first = None;
    for turns in some_of(&TALKED) {
        let dir = tempfile::tempdir().expect("a folder");
        again(dir.path(), &["talked", &turns.to_string()]);
        let cpu: f64 = again(dir.path(), &["turns", "hi", "6"])
            .trim()
            .parse()
            .expect("milliseconds");
        let first = *first.get_or_insert(cpu);
        let name = format!("turn {}", turns + 1);
        println!("{name:<28} {cpu:>8.1} ms {:>6.2} ×", cpu / first);
    }
}

fn crowds() {
    println!(
        "\nsessions in one process                  turns/s  CPU/turn   added p50       p99  \
         stall p50      p99      max  poll p99      max       RSS      peak"
    );
    for threads in [1, 2] {
        for sessions in some_of(&CROWDS) {
            let dir = tempfile::tempdir().expect("a folder");
            let told = again(
                dir.path(),
                &["crowd", &sessions.to_string(), &threads.to_string()],
            );
            print!("{told}");
        }
    }
}

/// This program once more, with the folder put behind the first word. Gives what it printed.
fn again(dir: &Path, words: &[&str]) -> String {
    let output = itself(Command::new(this_program()), dir, words)
        .output()
        .expect("this program runs");
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

fn this_program() -> std::path::PathBuf {
    std::env::current_exe().expect("this program")
}

/// Adds the words of one case to a command that starts this program.
fn itself(mut command: Command, dir: &Path, words: &[&str]) -> Command {
    command.arg(words[0]).arg(dir).args(&words[1..]);
    if BenchEffort::asked() == BenchEffort::Measured {
        command.arg(BenchEffort::FLAG);
    }
    command
}
