//! A turn as people see it.

#[cfg(test)]
mod tests;
mod tool;

use std::time::{Duration, Instant};

use chela_agent::turn::{ContextMeter, TurnEnd, TurnEvent, TurnOutcome};
use chela_ledger::dollars;
use chela_model::Usage;
use chela_reply::{Reply, ReplyDelivery};

use super::clean::{ControlCleaner, clean_line};
use super::ink::{StyledLine, look};
use super::markdown::MarkdownStream;
use crate::screen::ColourMode;
use tool::{FinishedCall, RunningCall};

pub use tool::diff_line;

/// How much a person wants to see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewSettings {
    pub reasoning: ReasoningDisplay,
    pub tools: ToolDetail,
}

/// Whether reasoning is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReasoningDisplay {
    #[default]
    Off,
    /// When it is complete.
    After,
    AsItComes,
}

/// How much of a tool call is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolDetail {
    #[default]
    Folded,
    /// The first lines of what it gave.
    Some,
    All,
}

/// Text wider than this is hard to read.
const WIDEST: usize = 100;

/// What a turn has shown so far, and what is on its way.
pub struct TurnView {
    width: usize,
    paint: ColourMode,
    settings: ViewSettings,
    settled: Vec<StyledLine>,
    cleaner: ControlCleaner,
    flow: MarkdownStream,
    /// Whether reply text stands on the screen that a blank line must set apart.
    after: SettledKind,
    thought: Thought,
    running: Vec<RunningCall>,
    finished: Vec<FinishedCall>,
    phase: Phase,
    pub meter: ContextMeter,
    /// Whether any of the reply was shown as it came.
    streamed: bool,
    /// What was said while a block of the reply was open: it is printed after that block.
    held: Vec<StyledLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettledKind {
    Nothing,
    Text,
    Tools,
}

#[derive(Debug, Default)]
struct Thought {
    cleaner: ControlCleaner,
    /// Whole text for `SettledKind`, unfinished line for `AsItComes`.
    text: String,
}

enum Phase {
    Idle,
    /// Since when, for which step.
    Waiting(Instant),
    Thinking(Instant),
    Writing,
}

impl TurnView {
    pub fn new(width: usize, paint: ColourMode) -> Self {
        Self {
            width: page_width(width),
            paint,
            settings: ViewSettings::default(),
            settled: Vec::new(),
            cleaner: ControlCleaner::default(),
            flow: MarkdownStream::new(page_width(width), paint),
            after: SettledKind::Nothing,
            thought: Thought::default(),
            running: Vec::new(),
            finished: Vec::new(),
            phase: Phase::Idle,
            meter: ContextMeter::default(),
            streamed: false,
            held: Vec::new(),
        }
    }

    pub fn resize(&mut self, width: usize) {
        self.width = page_width(width);
        self.flow.resize(self.width);
    }

    pub fn begin(&mut self, settings: ViewSettings, now: Instant) {
        self.settings = settings;
        self.phase = Phase::Waiting(now);
        self.streamed = false;
        self.after = SettledKind::Nothing;
        self.finished.clear();
    }

    /// What can be printed for good.
    pub fn take_settled(&mut self) -> Vec<StyledLine> {
        std::mem::take(&mut self.settled)
    }

    /// A line of the chat's own.
    pub fn say(&mut self, line: StyledLine) {
        let none = StyledLine::default();
        let lines = line.wrap(self.width, &none, &none);
        self.put(lines);
    }

    /// Markdown that is there as a whole: the answer to a command.
    pub fn page(&mut self, markdown: &str) {
        let mut flow = MarkdownStream::new(self.width, self.paint);
        let mut lines = flow.push(&super::clean::clean(markdown));
        lines.extend(flow.finish());
        lines.push(StyledLine::default());
        self.put(lines);
    }

    /// Prints lines, unless that would tear a block of the reply in two.
    fn put(&mut self, lines: Vec<StyledLine>) {
        if matches!(self.phase, Phase::Writing) {
            self.held.extend(lines);
        } else {
            self.end_text();
            self.settled.extend(lines);
        }
    }

    pub fn event(&mut self, event: TurnEvent, now: Instant) {
        match event {
            TurnEvent::Calling { .. } => {
                self.end_text();
                self.phase = Phase::Waiting(now);
            }
            TurnEvent::Text(piece) => {
                self.end_thought();
                if self.after == SettledKind::Tools {
                    self.settled.push(StyledLine::default());
                }
                self.after = SettledKind::Text;
                self.phase = Phase::Writing;
                self.streamed = true;
                let piece = self.cleaner.push(&piece);
                self.settled.extend(self.flow.push(&piece));
            }
            TurnEvent::Reasoning(piece) => {
                if !matches!(self.phase, Phase::Thinking(_)) {
                    self.phase = Phase::Thinking(now);
                }
                self.think(&piece);
            }
            TurnEvent::ToolStarted {
                id, tool, summary, ..
            } => {
                self.end_text();
                self.set_tools_apart(now);
                self.running
                    .push(RunningCall::new(id, &tool, &summary, now));
            }
            TurnEvent::ToolProgress { id, progress } => {
                if let Some(running) = self.running.iter_mut().find(|running| running.id == id) {
                    running.progress(&progress);
                }
            }
            TurnEvent::ToolEnded {
                id,
                tool,
                success,
                text,
                details,
            } => {
                self.end_text();
                self.set_tools_apart(now);
                let at = self.running.iter().position(|running| running.id == id);
                let running = match at {
                    Some(at) => self.running.remove(at),
                    None => RunningCall::new(id, &tool, "", now),
                };
                let finished = running.finish(success, &text, &details, now);
                self.settled
                    .extend(finished.lines(self.settings.tools, self.width));
                self.finished.push(finished);
            }
            TurnEvent::Retracted => {
                let printed = !self.flow.is_untouched();
                self.flow = MarkdownStream::new(self.width, self.paint);
                self.cleaner = ControlCleaner::default();
                self.streamed = false;
                self.phase = Phase::Thinking(now);
                if printed {
                    self.say(StyledLine::new("↑ that was thinking aloud", look::DIM));
                    self.settled.push(StyledLine::default());
                }
            }
            TurnEvent::Restarted { why } => {
                self.thought = Thought::default();
                self.broke();
                self.streamed = false;
                let why = clean_line(&why);
                self.say(StyledLine::new(format!("↻ restarted: {why}"), look::WARN));
            }
            TurnEvent::Notice(text)
            | TurnEvent::Waiting(text)
            | TurnEvent::Unrecorded(text)
            | TurnEvent::Tampered(text) => {
                let text = clean_line(&text);
                self.say(StyledLine::new(format!("· {text}"), look::DIM));
            }
            TurnEvent::Called { context, .. } => self.meter = context,
        }
    }

    /// The turn is over.
    pub fn end(&mut self, outcome: &TurnOutcome) {
        self.broke();
        if outcome.context.used > 0 {
            self.meter = outcome.context;
        }
        match &outcome.reply {
            Reply::Deliver(delivery) => self.deliver(delivery),
            Reply::Silent { .. } if outcome.ended == TurnEnd::Done && !self.streamed => {
                self.say(StyledLine::new("(it chose to say nothing)", look::DIM));
            }
            Reply::Silent { .. } => {}
        }
        match &outcome.ended {
            TurnEnd::Done => {}
            TurnEnd::Stopped => self.stopped(""),
            TurnEnd::Limit(what) => self.stopped(&format!(" at a limit: {}", clean_line(what))),
            TurnEnd::Loop(what) => {
                self.stopped(&format!(", it was repeating itself: {}", clean_line(what)));
            }
        }
    }

    fn stopped(&mut self, why: &str) {
        if self.after != SettledKind::Nothing {
            self.settled.push(StyledLine::default());
        }
        self.say(StyledLine::new(format!("■ stopped{why}"), look::WARN));
    }

    /// The turn broke off without an outcome.
    pub fn broke(&mut self) {
        self.end_text();
        for running in std::mem::take(&mut self.running) {
            self.settled.push(running.broken_off(self.width));
        }
        self.phase = Phase::Idle;
    }

    /// Every tool call of the last turn with what it gave.
    pub fn unfold(&mut self) {
        let width = self.width;
        let lines: Vec<StyledLine> = self
            .finished
            .iter()
            .flat_map(|finished| finished.lines(ToolDetail::All, width))
            .collect();
        if lines.is_empty() {
            self.say(StyledLine::new("· no tools used in this turn", look::DIM));
        } else {
            self.settled.extend(lines);
            self.settled.push(StyledLine::default());
        }
    }

    /// The rows that still change: unfinished text, running tools, a sign of life.
    pub fn live(&self, now: Instant) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        if self.settings.reasoning == ReasoningDisplay::AsItComes && !self.thought.text.is_empty() {
            lines.extend(thought_lines(&self.thought.text, self.width));
        }
        lines.extend(self.flow.tail());
        if !self.held.is_empty() {
            lines.push(StyledLine::default());
            lines.extend(self.held.iter().cloned());
        }
        lines.extend(
            self.running
                .iter()
                .map(|running| running.line(self.width, now)),
        );
        if self.running.is_empty() {
            let told = match self.phase {
                Phase::Waiting(since) => Some(("waiting", since)),
                Phase::Thinking(since) => Some(("thinking", since)),
                Phase::Writing | Phase::Idle => None,
            };
            if let Some((word, since)) = told {
                let mut line = StyledLine::new(format!("{} ", spinner(since, now)), look::AGENT);
                line.push(word, look::DIM);
                let waited = now.saturating_duration_since(since);
                if waited >= Duration::from_secs(2) {
                    line.push(&format!(" {}", seconds(waited)), look::DIM);
                }
                lines.push(line);
            }
        }
        lines
    }

    fn deliver(&mut self, delivery: &ReplyDelivery) {
        if !self.streamed && !delivery.text.trim().is_empty() {
            let mut flow = MarkdownStream::new(self.width, self.paint);
            let text = super::clean::clean(&delivery.text);
            self.settled.extend(flow.push(&text));
            self.settled.extend(flow.finish());
        }
        for media in &delivery.media {
            self.say(StyledLine::new(
                format!("📎 {}", clean_line(media)),
                look::CODE,
            ));
        }
    }

    fn think(&mut self, piece: &str) {
        let piece = self.thought.cleaner.push(piece);
        match self.settings.reasoning {
            ReasoningDisplay::Off => {}
            ReasoningDisplay::After => self.thought.text.push_str(&piece),
            ReasoningDisplay::AsItComes => {
                self.end_flow();
                self.thought.text.push_str(&piece);
                while let Some(end) = self.thought.text.find('\n') {
                    let line: String = self.thought.text.drain(..=end).collect();
                    self.settled
                        .extend(thought_lines(line.trim_end(), self.width));
                }
            }
        }
    }

    fn end_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        let text = thought.text.trim();
        if text.is_empty() || self.settings.reasoning == ReasoningDisplay::Off {
            return;
        }
        for line in text.lines() {
            self.settled.extend(thought_lines(line, self.width));
        }
        self.settled.push(StyledLine::default());
    }

    fn set_tools_apart(&mut self, now: Instant) {
        self.phase = Phase::Waiting(now);
        if self.after == SettledKind::Text {
            self.settled.push(StyledLine::default());
        }
        self.after = SettledKind::Tools;
    }

    fn end_text(&mut self) {
        self.end_thought();
        self.end_flow();
    }

    fn end_flow(&mut self) {
        let rest = self.cleaner.finish();
        self.settled.extend(self.flow.push(rest));
        self.settled.extend(self.flow.finish());
        if !self.held.is_empty() {
            self.settled.push(StyledLine::default());
            self.settled.append(&mut self.held);
        }
    }
}

/// The line under a reply, when a person wants one.
pub fn usage_line(usage: &Usage, took: Duration, cost: Option<u64>) -> StyledLine {
    let mut text = format!(
        "{} in · {} out",
        chela_core::grouped(usize::try_from(usage.input).unwrap_or(usize::MAX)),
        chela_core::grouped(usize::try_from(usage.output).unwrap_or(usize::MAX)),
    );
    if usage.cache_read > 0 && usage.input > 0 {
        text.push_str(&format!(
            " · {} % cached",
            usage.cache_read * 100 / usage.input
        ));
    }
    if let Some(cost) = cost {
        text.push_str(&format!(" · {}", dollars(cost)));
    }
    text.push_str(&format!(" · {}", seconds(took)));
    StyledLine::new(text, look::DIM)
}

fn thought_lines(text: &str, width: usize) -> Vec<StyledLine> {
    let bar = StyledLine::new("┆ ", look::DIM);
    StyledLine::new(super::ink::without_tabs(text), look::DIM.italic()).wrap(width, &bar, &bar)
}

fn page_width(width: usize) -> usize {
    width.saturating_sub(1).min(WIDEST)
}

/// One of a few figures, by time.
pub fn spinner(since: Instant, now: Instant) -> char {
    const FIGURES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    let at = now.saturating_duration_since(since).as_millis() / 100;
    let at = usize::try_from(at).unwrap_or(0) % FIGURES.len();
    FIGURES.get(at).copied().unwrap_or('…')
}

/// `0.3 s`, `12 s`, `3 min 5 s`.
pub fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{whole} s"),
        _ => format!("{} min {} s", whole / 60, whole % 60),
    }
}
