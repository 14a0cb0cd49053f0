//! `chela memory index`: with progress, rate and time left.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use chela_files::{DiskBar, disk_bar};
use chela_memory::index::{SyncDepth, SyncOutcome, SyncProgress, SyncReport};
use serde_json::json;

use super::vectors::{self, VectorCounts};
use super::{explained, open};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, draw_beside, grouped};

/// How the index is to be brought up to date.
#[derive(Debug, Clone, Copy)]
pub struct IndexRequest {
    pub force: bool,
    /// Vectors that cost time or money are made without asking again.
    pub yes: bool,
    pub json: bool,
}

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    request: IndexRequest,
) -> CommandOutcome {
    let IndexRequest { force, json, .. } = request;
    let opened = open(setup, agent)?;
    let mut memory = opened.memory()?;
    let provider_problem = opened.provider_problem();
    let depth = if force {
        SyncDepth::Rebuild
    } else {
        SyncDepth::Verify
    };
    let start = Instant::now();
    let mut bar = ProgressBar::new(!json && std::io::stderr().is_terminal());
    let report = memory
        .sync(depth, &mut |progress| {
            bar.show(progress);
            ControlFlow::Continue(())
        })
        .map_err(explained)?;
    let vectors = match report.outcome {
        SyncOutcome::Complete => vectors::make_vectors(&mut memory, request.yes, &mut bar)?,
        _ => VectorCounts::default(),
    };
    bar.clear();
    let took = start.elapsed();
    if json {
        screen.json(&json!({
            "added": report.added, "changed": report.changed, "removed": report.removed,
            "unchanged": report.unchanged, "chunks": report.chunks, "bytes": report.bytes,
            "seconds": took.as_secs_f64(), "complete": report.outcome == SyncOutcome::Complete,
            "problems": vectors.problems(&report.problems), "provider": provider_problem,
            "vectors": vectors,
        }))?;
        return Ok(CommandExit::Fine);
    }
    match report.outcome {
        SyncOutcome::Busy => {
            return Err(CommandError::new("another process is updating the index")
                .hint("wait for it; searches still work"));
        }
        SyncOutcome::ReadOnly => {
            return Err(not_written(setup));
        }
        SyncOutcome::Complete | SyncOutcome::Stopped => {}
    }
    tell(screen, &report, took)?;
    let paint = screen.paint;
    for line in vectors.summary_lines() {
        screen.line(line)?;
    }
    for problem in vectors
        .problems(&report.problems)
        .iter()
        .chain(&provider_problem)
    {
        screen.line(format!("{} {problem}", paint.warn("warning:")))?;
    }
    for notice in memory.notices() {
        screen.line(format!("{} {notice}", paint.warn("warning:")))?;
    }
    Ok(CommandExit::Fine)
}

/// What is in the way of the index, and what to do about it.
fn not_written(setup: &CommandSetup) -> CommandError {
    CommandError::new("the memory index cannot be written").hint(
        match disk_bar(&setup.host.state_dir()) {
            Some(DiskBar::MountedReadOnly) => "its disk is mounted read-only: remount it",
            Some(DiskBar::Full) => "the disk is full: free some space",
            None => "check the owner and permissions of the file; `chela memory status` names it",
        },
    )
}

fn tell(screen: &mut Screen, report: &SyncReport, took: Duration) -> std::io::Result<()> {
    let changes = report.added + report.changed + report.removed;
    if changes == 0 {
        return screen.line(format!(
            "Up to date: {} indexed.",
            count_noun(report.unchanged, "source")
        ));
    }
    let rate = report.chunks as f64 / took.as_secs_f64().max(1e-9);
    screen.line(format!(
        "{} added, {} changed, {} removed, {} unchanged: {} in {:.1} s ({} per second).",
        grouped(report.added),
        grouped(report.changed),
        grouped(report.removed),
        grouped(report.unchanged),
        count_noun(report.chunks, "chunk"),
        took.as_secs_f64(),
        grouped(rate as usize),
    ))
}

/// A line that is written over, once work takes longer than a second.
pub struct ProgressBar {
    visible: bool,
    start: Instant,
    last: Option<Instant>,
}

impl ProgressBar {
    fn new(visible: bool) -> Self {
        Self {
            visible,
            start: Instant::now(),
            last: None,
        }
    }

    fn show(&mut self, progress: SyncProgress) {
        const OFTEN: Duration = Duration::from_millis(200);
        let quiet = self.last.unwrap_or(self.start).elapsed() < OFTEN;
        if !self.visible || quiet || self.start.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.last = Some(Instant::now());
        let done = progress.bytes_done as f64 / progress.bytes_total.max(1) as f64;
        let spent = self.start.elapsed().as_secs_f64();
        let left = spent / done.max(1e-6) * (1.0 - done);
        draw_beside(format_args!(
            "\r{:3.0} %  {} of {} files, {} chunks per second, {left:.0} s left   ",
            done * 100.0,
            grouped(progress.files_done),
            grouped(progress.files_total),
            grouped((progress.chunks as f64 / spent.max(1e-9)) as usize)
        ));
    }

    /// Like [`ProgressBar::show`], for vectors.
    pub fn show_vectors(&mut self, done: usize, of: usize) {
        const OFTEN: Duration = Duration::from_millis(200);
        if !self.visible || self.last.is_some_and(|last| last.elapsed() < OFTEN) {
            return;
        }
        self.last = Some(Instant::now());
        draw_beside(format_args!(
            "\r{:70}\r{} of {} vectors",
            "",
            grouped(done),
            grouped(of)
        ));
    }

    fn clear(&mut self) {
        if self.last.is_some() {
            draw_beside(format_args!("\r{:70}\r", ""));
        }
    }
}
