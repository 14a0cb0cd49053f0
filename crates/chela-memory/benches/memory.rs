//! How fast memory is: `cargo bench -p chela-memory`.
//!
//! `CHELA_BENCH_CHUNKS` sets the sizes, such as `3600,100000,1000000`.
#![expect(clippy::print_stdout, reason = "figures for people")]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run says so by stopping"
)]

use std::ops::ControlFlow;
use std::time::Instant;

use chela_core::{Audience, Host};
use chela_memory::index::SyncDepth;
use chela_memory::source::MemoryPlaces;
use chela_memory::{Memory, MemoryQuestion, MemorySettings, OpenMemory};
use chela_testkit::bench::{BenchEffort, measure};

/// Different questions asked of each index.
const QUESTIONS: usize = 200;

fn main() {
    let usual = BenchEffort::asked().pick("3600,100000", "300");
    let sizes = std::env::var("CHELA_BENCH_CHUNKS").unwrap_or_else(|_| usual.into());
    for size in sizes.split(',').filter_map(|size| size.trim().parse().ok()) {
        search_at(size);
    }
    index_notes();
}

/// Text with the word frequencies of prose, the same every time.
struct Prose {
    state: u64,
}

impl Prose {
    fn number(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % below
    }

    fn word(&mut self) -> String {
        // The product of two even draws falls off about as words do.
        let rank = self.number(200) * self.number(200) / 2;
        let mut word = String::new();
        let mut rest = rank + 1;
        while rest > 0 {
            word.push_str(
                [
                    "ka", "ro", "mi", "te", "lu", "so", "ne", "vi", "da", "po", "shu", "gar",
                ][rest % 12],
            );
            rest /= 12;
        }
        word
    }

    fn line(&mut self, words: usize) -> String {
        (0..words)
            .map(|_| self.word())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn open<'a>(host: &'a Host, home: &std::path::Path) -> Memory<'a> {
    Memory::local(OpenMemory {
        host,
        index_file: home.join("state/main.sqlite"),
        places: MemoryPlaces {
            workspace: home.join("w"),
            sessions: None,
            ceiling: Default::default(),
        },
        settings: MemorySettings::default(),
        embedder: None,
    })
    .unwrap()
}

fn search_at(chunks: usize) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let notes = home.join("w/memory");
    std::fs::create_dir_all(&notes).unwrap();
    let mut prose = Prose {
        state: 88_172_645_463_325_252,
    };
    for note in 0..chunks.div_ceil(50) {
        let lines = 50.min(chunks - note * 50);
        let text: String = (0..lines)
            .map(|_| format!("- {}\n", prose.line(20)))
            .collect();
        std::fs::write(notes.join(format!("n{note}.md")), text).unwrap();
    }
    let host = Host::fixed(home);
    let mut memory = open(&host, home);
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    println!(
        "index {chunks} chunks: {:.2} s, {:.2} s CPU, {} MB at most",
        wall.elapsed().as_secs_f64(),
        cpu_seconds() - cpu,
        peak_megabytes()
    );
    drop(memory);
    let mut memory = open(&host, home);
    let mut ask = |prose: &mut Prose| {
        let question = prose.line(6);
        let start = Instant::now();
        let ask = MemoryQuestion {
            question: &question,
            max_results: None,
            min_score: None,
            audience: Audience::Private,
        };
        memory.search(&ask).unwrap();
        start.elapsed().as_secs_f64() * 1e3
    };
    let first = ask(&mut prose);
    measure(&format!("search {chunks} chunks"), 0, || ask(&mut prose)).print(None);
    let cpu = cpu_seconds();
    let questions = BenchEffort::asked().pick(QUESTIONS, 2);
    let mut times: Vec<f64> = (0..questions).map(|_| ask(&mut prose)).collect();
    let each = (cpu_seconds() - cpu) * 1e3 / questions as f64;
    times.sort_by(f64::total_cmp);
    println!(
        "  first {first:.1} ms, least {:.2} ms, p50 {:.2} ms, p95 {:.2} ms, {each:.2} ms CPU each",
        times[0],
        times[questions / 2],
        times[questions * 95 / 100]
    );
}

/// 2,000 notes of 2 KB: a first index.
fn index_notes() {
    let notes_count = BenchEffort::asked().pick(2_000, 20);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let notes = home.join("w/memory");
    std::fs::create_dir_all(&notes).unwrap();
    let mut prose = Prose { state: 7 };
    for note in 0..notes_count {
        let text: String = (0..18).map(|_| format!("- {}\n", prose.line(18))).collect();
        std::fs::write(notes.join(format!("n{note}.md")), text).unwrap();
    }
    let host = Host::fixed(home);
    let mut memory = open(&host, home);
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let report = memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    println!(
        "first index of {notes_count} notes ({:.1} MB, {} chunks): {:.2} s, {:.2} s CPU",
        report.bytes as f64 / 1e6,
        report.chunks,
        wall.elapsed().as_secs_f64(),
        cpu_seconds() - cpu
    );
}

/// Of all threads of this process, where the system tells.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets; user and system time are the twelfth and thirteenth, in
    // hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default();
    fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn peak_megabytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|kb| kb.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}
