//! One text of a package, in lines that know what they are.

use super::about::{self, LineStance};
use super::plain::{ScriptVariables, clean, has_mixed_word};
use super::words::WordKinds;

/// A file of text, taken apart.
#[derive(Debug)]
pub(super) struct ScannedFile {
    pub path: String,
    pub kind: ScannedKind,
    /// Lines that hold something, in order. A command that goes on over several lines is one.
    pub lines: Vec<ScannedLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScannedKind {
    /// Text for a person or a model, with code in it.
    Prose,
    /// A program, or data a program reads.
    Code,
}

#[derive(Debug)]
pub(super) struct ScannedLine {
    pub number: u32,
    /// As it is written, for the owner to see.
    pub raw: String,
    /// Lower case, without characters that take no space.
    pub text: String,
    pub words: WordKinds,
    pub zone: LineZone,
    /// A warning, a list of signs, a pattern to search for: something that is not done here.
    pub about: LineStance,
    /// A word in it is written in two scripts to look like another.
    pub posing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineZone {
    Prose,
    Code,
}

/// The longest piece of a line that is looked at as one.
const MAX_LINE: usize = 20_000;
/// Lines of one command.
const MAX_JOINED: usize = 12;

impl ScannedFile {
    pub(super) fn read(path: &str, text: &str) -> Self {
        let kind = kind_of(path);
        let mut reading = Reading::new(kind);
        for (at, raw) in text.lines().enumerate() {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            for piece in pieces(raw) {
                reading.line(number, piece);
            }
        }
        reading.finish();
        Self {
            path: path.to_owned(),
            kind,
            lines: reading.lines,
        }
    }

    /// Lines within `reach` lines of another. In a text for people empty lines do not count: they
    /// are how paragraphs are set, and would keep apart what belongs together.
    pub(super) fn near(&self, at: usize, reach: u32) -> &[ScannedLine] {
        let Some(line) = self.lines.get(at) else {
            return &[];
        };
        if self.kind == ScannedKind::Prose {
            let reach = reach as usize;
            let to = self.lines.len().min(at + reach + 1);
            let from = at.saturating_sub(reach);
            return self.lines.get(from..to).unwrap_or_default();
        }
        let from = self
            .lines
            .get(..at)
            .unwrap_or_default()
            .partition_point(|other| other.number + reach < line.number);
        let to = self
            .lines
            .partition_point(|other| other.number <= line.number.saturating_add(reach));
        self.lines.get(from..to.max(from)).unwrap_or_default()
    }
}

/// What a file is by its name: everything that is no prose counts as code.
fn kind_of(path: &str) -> ScannedKind {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let prose = [".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc"];
    let bare = !name.contains('.')
        && ["readme", "license", "notice", "changelog"]
            .iter()
            .any(|known| name.starts_with(known));
    if bare || prose.iter().any(|end| name.ends_with(end)) {
        ScannedKind::Prose
    } else {
        ScannedKind::Code
    }
}

fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len().min(MAX_LINE);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (head, tail) = rest.split_at(end);
        rest = tail;
        Some(head)
    })
}

struct Reading {
    kind: ScannedKind,
    lines: Vec<ScannedLine>,
    fence: Option<char>,
    /// What the heading above says the section is about.
    section: LineStance,
    variables: ScriptVariables,
    /// The last line of prose, for a sentence that goes on.
    prose: Option<(u32, String)>,
    /// A line that is not finished: where it began, what it held, how many lines.
    open: Option<(u32, String, usize)>,
}

impl Reading {
    fn new(kind: ScannedKind) -> Self {
        Self {
            kind,
            lines: Vec::new(),
            fence: None,
            section: LineStance::Nothing,
            variables: ScriptVariables::default(),
            prose: None,
            open: None,
        }
    }

    fn line(&mut self, number: u32, raw: &str) {
        let trimmed = raw.trim();
        if self.kind == ScannedKind::Prose && self.mark(trimmed, number) {
            return;
        }
        if trimmed.is_empty() {
            self.finish();
            return;
        }
        let zone = self.zone();
        let (first, mut joined, count) = match self.open.take() {
            Some((first, text, count)) => (first, text, count + 1),
            None => (number, String::new(), 1),
        };
        let goes_on = zone == LineZone::Code && count < MAX_JOINED && continues(trimmed);
        let part = trimmed.trim_end_matches(['\\', '`', '^']).trim_end();
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(if goes_on { part } else { trimmed });
        if goes_on {
            self.open = Some((first, joined, count));
        } else {
            self.push(first, joined);
        }
    }

    /// Fences and headings of Markdown; true when the line is only that.
    fn mark(&mut self, line: &str, number: u32) -> bool {
        let fence = ['`', '~']
            .into_iter()
            .find(|c| line.starts_with(&c.to_string().repeat(3)));
        match (self.fence, fence) {
            (None, Some(mark)) => {
                self.finish();
                self.fence = Some(mark);
                // Something written behind the opening is still something.
                let rest = line.trim_start_matches(mark).trim();
                if rest.contains(' ') && !line.ends_with("```") {
                    self.push(number, rest.to_owned());
                } else if line.len() > 6 && line.ends_with("```") {
                    self.fence = None;
                    self.push(number, line.trim_matches(mark).to_owned());
                }
                true
            }
            (Some(open), Some(mark)) if open == mark => {
                self.finish();
                self.fence = None;
                true
            }
            _ => {
                // The title of a whole page excuses nothing in it.
                if self.fence.is_none() && line.starts_with("##") {
                    self.section = about::of(&clean(line));
                }
                false
            }
        }
    }

    fn zone(&self) -> LineZone {
        match (self.kind, self.fence) {
            (ScannedKind::Prose, None) => LineZone::Prose,
            _ => LineZone::Code,
        }
    }

    /// Whether this line is in a table, where nothing is run, or goes on with a sentence that
    /// warns: "never" may stand at the end of the line above.
    fn begun(&self, number: u32, text: &str) -> LineStance {
        if self.zone() == LineZone::Prose && text.starts_with('|') && text.matches('|').count() > 3
        {
            return LineStance::Warns;
        }
        match &self.prose {
            Some((last, before))
                if self.zone() == LineZone::Prose
                    && *last + 1 == number
                    && !begins_anew(text)
                    && !before.ends_with(['.', '!', '?', ':', ';']) =>
            {
                about::of(before).min(LineStance::Warns)
            }
            _ => LineStance::Nothing,
        }
    }

    fn finish(&mut self) {
        if let Some((number, text, _)) = self.open.take() {
            self.push(number, text);
        }
    }

    fn push(&mut self, number: u32, raw: String) {
        let mut text = clean(&raw);
        let zone = self.zone();
        if zone == LineZone::Prose {
            text = without_markup(text);
        }
        if zone == LineZone::Code {
            self.variables.note(&text);
            if let Some(plain) = self.variables.put_in(&text) {
                text = plain;
            }
        }
        let words = WordKinds::of(&text);
        let spoken = zone == LineZone::Prose || text.starts_with(['#', '/']);
        let about = if words.is_empty() {
            LineStance::Nothing
        } else if about::is_pattern(&text) {
            LineStance::Speaks
        } else {
            let own = if spoken {
                about::of(&text)
            } else {
                LineStance::Nothing
            };
            match self.kind {
                ScannedKind::Prose => own.max(self.section).max(self.begun(number, &text)),
                ScannedKind::Code => own,
            }
        };
        self.prose = (zone == LineZone::Prose).then(|| (number, text.clone()));
        let posing = has_mixed_word(&raw);
        self.lines.push(ScannedLine {
            number,
            raw,
            text,
            words,
            zone,
            about,
            posing,
        });
    }
}

/// A sentence without what only changes its looks.
fn without_markup(text: String) -> String {
    const MARKS: [&str; 12] = [
        "**",
        "<b>",
        "</b>",
        "<strong>",
        "</strong>",
        "<em>",
        "</em>",
        "<i>",
        "</i>",
        "<u>",
        "</u>",
        "~~",
    ];
    MARKS
        .iter()
        .fold(text, |text, mark| match text.contains(mark) {
            true => text.replace(mark, ""),
            false => text,
        })
}

/// A line of a list, a heading, a quotation: something of its own.
pub(super) fn begins_anew(line: &str) -> bool {
    line.starts_with(['-', '*', '#', '|', '>', '<', '+'])
        || line.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a command goes on in the next line.
fn continues(line: &str) -> bool {
    line.ends_with('\\')
        || line.ends_with("&&")
        || (line.ends_with('|') && !line.starts_with('|'))
        || line.ends_with(" `")
}
