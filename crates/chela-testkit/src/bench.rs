//! A small benchmark harness: the median of many runs, one line per measurement.
//!
//! Times differ from machine to machine, ratios within one run hardly do: measure something well
//! known beside what you are after and print it as the baseline.

use std::ffi::OsStr;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SAMPLES: usize = 31;
const FEWEST_SAMPLES: usize = 5;
/// A sample of a fast function is many runs, so that the clock's own cost vanishes.
const SHORTEST_SAMPLE: Duration = Duration::from_micros(500);
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(2);

/// How much a benchmark does: as much as its figures need, or just enough to see that it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchEffort {
    Measured,
    Once,
}

impl BenchEffort {
    /// What Cargo says to benchmarks, and to nothing else it starts: a benchmark without it is
    /// tried, as `cargo test --benches` and `cargo xtask bench --once` do.
    pub const FLAG: &str = "--bench";

    pub fn asked() -> Self {
        match std::env::args_os().any(|arg| arg == OsStr::new(Self::FLAG)) {
            true => Self::Measured,
            false => Self::Once,
        }
    }

    /// One of two sizes.
    pub fn pick<T>(self, measured: T, once: T) -> T {
        match self {
            Self::Measured => measured,
            Self::Once => once,
        }
    }
}

/// What one measurement found.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchStats {
    pub name: String,
    /// How many bytes one run goes through; 0 when that means nothing.
    pub bytes: usize,
    /// Nanoseconds of one run.
    pub median_ns: f64,
}

/// Runs `run` until its median time is known; once where the benchmark is only tried.
pub fn measure<T>(name: &str, bytes: usize, mut run: impl FnMut() -> T) -> BenchStats {
    let mut sample = |runs: u32| {
        let start = Instant::now();
        for _ in 0..runs {
            black_box(run());
        }
        start.elapsed()
    };
    // The first run warms caches; how long it takes says how many make a sample.
    let first = sample(1).max(Duration::from_nanos(1));
    if BenchEffort::asked() == BenchEffort::Once {
        return BenchStats::new(name, bytes, first.as_secs_f64() * 1e9);
    }
    let runs = SHORTEST_SAMPLE
        .div_duration_f64(first)
        .clamp(1.0, 1e6)
        .ceil() as u32;
    let start = Instant::now();
    let mut times = Vec::with_capacity(SAMPLES);
    while times.len() < SAMPLES
        && (times.len() < FEWEST_SAMPLES || start.elapsed() < LONGEST_MEASUREMENT)
    {
        times.push(sample(runs).as_secs_f64() * 1e9 / f64::from(runs));
    }
    times.sort_by(f64::total_cmp);
    BenchStats::new(name, bytes, times[times.len() / 2])
}

impl BenchStats {
    fn new(name: &str, bytes: usize, median_ns: f64) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
            median_ns,
        }
    }

    /// How many times as long as the baseline this takes: per byte where both know their bytes.
    pub fn ratio_to(&self, baseline: &Self) -> f64 {
        match (self.bytes, baseline.bytes) {
            (0, _) | (_, 0) => self.median_ns / baseline.median_ns,
            _ => baseline.megabytes_per_second() / self.megabytes_per_second(),
        }
    }

    /// Million bytes a second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 * 1e3 / self.median_ns
    }

    /// One aligned line: name, time of a run, throughput and ratio to the baseline.
    pub fn line(&self, baseline: Option<&Self>) -> String {
        let time = match self.median_ns {
            ns if ns < 1e3 => format!("{ns:.1} ns"),
            ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
            ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
            ns => format!("{:.2} s", ns / 1e9),
        };
        let speed = match self.bytes {
            0 => String::new(),
            _ => format!("{:.1} MB/s", self.megabytes_per_second()),
        };
        let ratio = baseline.map_or(String::new(), |baseline| {
            format!("{:.1} × {}", self.ratio_to(baseline), baseline.name)
        });
        format!("{:<34} {time:>12} {speed:>14}   {ratio}", self.name)
            .trim_end()
            .to_owned()
    }

    #[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
    pub fn print(&self, baseline: Option<&Self>) {
        println!("{}", self.line(baseline));
    }
}

#[cfg(test)]
mod tests {
    use super::{BenchEffort, BenchStats, measure};

    #[test]
    fn a_line_has_its_columns() {
        let baseline = BenchStats {
            name: "copy".to_owned(),
            bytes: 1000,
            median_ns: 100.0,
        };
        let slow = BenchStats {
            name: "count".to_owned(),
            bytes: 1000,
            median_ns: 25_000.0,
        };
        assert_eq!(
            slow.line(Some(&baseline)),
            "count                                   25.0 µs      40.0 MB/s   250.0 × copy"
        );
        assert_eq!(slow.ratio_to(&baseline), 250.0);
    }

    #[test]
    fn what_cargo_does_not_call_a_benchmark_runs_once() {
        let mut runs = 0;
        measure("count", 0, || runs += 1);
        assert_eq!(runs, 1);
        assert_eq!(BenchEffort::asked().pick("many", "one"), "one");
    }

    #[test]
    fn work_takes_time() {
        let text = "x".repeat(10_000);
        let stats = measure("count", text.len(), || {
            text.chars().filter(|c| *c == 'y').count()
        });
        assert!(stats.median_ns > 0.0 && stats.megabytes_per_second() > 0.0);
    }
}
