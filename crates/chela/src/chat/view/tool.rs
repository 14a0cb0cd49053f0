//! Tool calls: one line each, more on request.

use std::time::{Duration, Instant};

use chela_tools::{Progress, Success};

use super::{Detail, seconds, spinner};
use crate::chat::clean::{clean, clean_line};
use crate::chat::ink::{Line, look, without_tabs};

/// A call that is not over.
pub struct Running {
    pub id: String,
    tool: String,
    summary: String,
    /// The newest it told.
    news: String,
    since: Instant,
}

/// A call that is over.
pub struct Finished {
    tool: String,
    summary: String,
    success: Success,
    text: String,
    took: Duration,
}

/// Lines of a result with `/verbose on`.
const SOME_LINES: usize = 8;
/// Nobody reads more of one result in a chat.
const ALL_LINES: usize = 200;

impl Running {
    pub fn new(id: String, tool: &str, summary: &str, now: Instant) -> Self {
        Self {
            id,
            tool: clean_line(tool),
            summary: clean_line(summary),
            news: String::new(),
            since: now,
        }
    }

    pub fn progress(&mut self, progress: &Progress) {
        let news = match progress {
            Progress::Status(text) => clean_line(text),
            Progress::Output(text) => {
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
    pub fn line(&self, width: usize, now: Instant) -> Line {
        let time = seconds(now.saturating_duration_since(self.since));
        let mut line = Line::new(format!("{} ", spinner(self.since, now)), look::AGENT);
        line.push(&self.tool, look::BOLD);
        line.push(&format!(" {}", self.summary), look::PLAIN);
        let mut line = line.cut(width.saturating_sub(time.len() + 1));
        line.push(&format!(" {time}"), look::DIM);
        let room = width.saturating_sub(line.width() + 3);
        if !self.news.is_empty() && room >= 12 {
            line.push(" · ", look::DIM);
            line.append(&Line::new(self.news.as_str(), look::DIM).cut(room));
        }
        line
    }

    /// What is left of a call that was stopped.
    pub fn broken_off(&self, width: usize) -> Line {
        let mut line = Line::new("■ ", look::WARN);
        line.push(&self.tool, look::BOLD);
        line.push(&format!(" {}", self.summary), look::DIM);
        line.cut(width)
    }

    pub fn finish(self, success: Success, text: &str, now: Instant) -> Finished {
        Finished {
            took: now.saturating_duration_since(self.since),
            tool: self.tool,
            summary: self.summary,
            success,
            text: clean(text),
        }
    }
}

impl Finished {
    pub fn lines(&self, detail: Detail, width: usize) -> Vec<Line> {
        let (mark, style) = match self.success {
            Success::Done => ("✓ ", look::GOOD),
            Success::Failed => ("✗ ", look::BAD),
        };
        let time = seconds(self.took);
        let mut line = Line::new(mark, style);
        line.push(&self.tool, look::BOLD);
        line.push(&format!(" {}", self.summary), look::DIM);
        let mut line = line.cut(width.saturating_sub(time.len() + 1));
        line.push(&format!(" {time}"), look::DIM);
        let mut lines = vec![line];
        let most = match (detail, self.success) {
            (Detail::All, _) => ALL_LINES,
            (Detail::Some, _) => SOME_LINES,
            // A failure says why.
            (Detail::Folded, Success::Failed) => 1,
            (Detail::Folded, Success::Done) => 0,
        };
        let gutter = Line::new("  │ ", look::DIM);
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
}
