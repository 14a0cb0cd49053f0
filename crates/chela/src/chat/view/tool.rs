//! Tool calls: one line each, more on request.

use std::time::{Duration, Instant};

use chela_tools::{CallProgress, CallSuccess};
use serde_json::Value;

use super::{ToolDetail, seconds, spinner};
use crate::chat::clean::{clean, clean_line};
use crate::chat::ink::{StyledLine, look, without_tabs};

/// A call that is not over.
pub struct RunningCall {
    pub id: String,
    tool: String,
    summary: String,
    /// The newest it told.
    news: String,
    since: Instant,
}

/// A call that is over.
pub struct FinishedCall {
    tool: String,
    summary: String,
    success: CallSuccess,
    text: String,
    /// What became of files, as lines of a diff.
    diff: Vec<String>,
    took: Duration,
}

/// Lines of a change to files that are shown without being asked for.
const DIFF_LINES: usize = 12;
/// Lines of a result with `/verbose on`.
const SOME_LINES: usize = 8;
/// Nobody reads more of one result in a chat.
const ALL_LINES: usize = 200;

impl RunningCall {
    pub fn new(id: String, tool: &str, summary: &str, now: Instant) -> Self {
        Self {
            id,
            tool: clean_line(tool),
            summary: clean_line(summary),
            news: String::new(),
            since: now,
        }
    }

    pub fn progress(&mut self, progress: &CallProgress) {
        let news = match progress {
            CallProgress::Status(text) => clean_line(text),
            CallProgress::Output(text) => {
                let shown = clean(text);
                let last = shown.lines().rev().find(|line| !line.trim().is_empty());
                last.map(clean_line).unwrap_or_default()
            }
        };
        if !news.is_empty() {
            self.news = news;
        }
    }

    /// Live: what it does, for how long, and the newest.
    pub fn line(&self, width: usize, now: Instant) -> StyledLine {
        let time = seconds(now.saturating_duration_since(self.since));
        let mut line = StyledLine::new(format!("{} ", spinner(self.since, now)), look::AGENT);
        line.push(&self.tool, look::BOLD);
        line.push(&format!(" {}", self.summary), look::PLAIN);
        let mut line = line.cut(width.saturating_sub(time.len() + 1));
        line.push(&format!(" {time}"), look::DIM);
        let room = width.saturating_sub(line.width() + 3);
        if !self.news.is_empty() && room >= 12 {
            line.push(" · ", look::DIM);
            line.append(&StyledLine::new(self.news.as_str(), look::DIM).cut(room));
        }
        line
    }

    /// What is left of a call that was stopped.
    pub fn broken_off(&self, width: usize) -> StyledLine {
        let mut line = StyledLine::new("■ ", look::WARN);
        line.push(&self.tool, look::BOLD);
        line.push(&format!(" {}", self.summary), look::DIM);
        line.cut(width)
    }

    pub fn finish(
        self,
        success: CallSuccess,
        text: &str,
        details: &Value,
        now: Instant,
    ) -> FinishedCall {
        FinishedCall {
            took: now.saturating_duration_since(self.since),
            tool: self.tool,
            summary: self.summary,
            success,
            text: clean(text),
            diff: diff_lines(details),
        }
    }
}

impl FinishedCall {
    pub fn lines(&self, detail: ToolDetail, width: usize) -> Vec<StyledLine> {
        let (mark, style) = match self.success {
            CallSuccess::Done => ("✓ ", look::GOOD),
            CallSuccess::Failed => ("✗ ", look::BAD),
        };
        let time = seconds(self.took);
        let mut line = StyledLine::new(mark, style);
        line.push(&self.tool, look::BOLD);
        line.push(&format!(" {}", self.summary), look::DIM);
        let mut line = line.cut(width.saturating_sub(time.len() + 1));
        line.push(&format!(" {time}"), look::DIM);
        let mut lines = vec![line];
        lines.extend(self.changed_lines(detail, width));
        let most = match (detail, self.success) {
            (ToolDetail::All, _) => ALL_LINES,
            (ToolDetail::Some, _) => SOME_LINES,
            // A failure says why.
            (ToolDetail::Folded, CallSuccess::Failed) => 1,
            (ToolDetail::Folded, CallSuccess::Done) => 0,
        };
        let gutter = StyledLine::new("  │ ", look::DIM);
        let all: Vec<&str> = self.text.trim_end().lines().collect();
        for text in all.iter().take(most) {
            let mut line = gutter.clone();
            line.push(&without_tabs(text), look::DIM);
            lines.push(line.cut(width));
        }
        if most > 1 && all.len() > most {
            let rest = format!("… {} more lines", all.len() - most);
            lines.push(gutter.with(&rest, look::DIM));
        }
        lines
    }

    /// What became of files: a few lines by themselves, all of them on request.
    fn changed_lines(&self, detail: ToolDetail, width: usize) -> Vec<StyledLine> {
        let most = match detail {
            ToolDetail::All => ALL_LINES,
            ToolDetail::Folded | ToolDetail::Some => DIFF_LINES,
        };
        let mut lines: Vec<StyledLine> = self
            .diff
            .iter()
            .take(most)
            .map(|line| {
                let line = diff_line(line);
                let mut shown = StyledLine::new("    ", look::PLAIN);
                shown.append(&line);
                shown.cut(width)
            })
            .collect();
        if self.diff.len() > most {
            let rest = format!(
                "    … {} more lines (Ctrl-O to show)",
                self.diff.len() - most
            );
            lines.push(StyledLine::new(rest, look::DIM));
        }
        lines
    }
}

/// A line of a diff in the colours people know.
pub fn diff_line(line: &str) -> StyledLine {
    let style = match line.as_bytes().first() {
        Some(b'+') => look::GOOD,
        Some(b'-') => look::BAD,
        Some(b'@') => look::CODE,
        _ => look::DIM,
    };
    StyledLine::new(without_tabs(line), style)
}

/// The diffs of the details of a result: of one file, or of several with their names.
fn diff_lines(details: &Value) -> Vec<String> {
    let lines_of = |file: &Value| -> Vec<String> {
        let diff = clean(file["diff"].as_str().unwrap_or_default());
        diff.lines().map(str::to_owned).collect()
    };
    let Some(files) = details["files"].as_array() else {
        return lines_of(details);
    };
    let named = files.iter().flat_map(|file| {
        let lines = lines_of(file);
        let name = file["path"].as_str().filter(|_| !lines.is_empty());
        name.map(clean_line).into_iter().chain(lines)
    });
    named.collect()
}
