//! Markdown read as entries: items, paragraphs, tables, code blocks.

use super::{NoteChunk, fits, speakers};
use crate::day::CalendarDay;
use crate::front;

/// Code and tables may be this many times larger than other units before they are cut.
const WHOLE_BLOCK_FACTOR: usize = 2;
const LONGEST_LABEL: usize = 40;

pub fn cut(text: &str, limit: usize, named: Option<CalendarDay>) -> Vec<NoteChunk> {
    let mut reader = Reader {
        text,
        lines: text.lines().collect(),
        limit,
        trail: Vec::new(),
        section: 0,
        date: named,
        pending_heading: None,
        chunks: Vec::new(),
    };
    reader.read();
    speakers::mark_speakers(&mut reader.chunks);
    reader.chunks
}

/// An item of a form that nobody filled in, such as `- Name:`: it says nothing, and would be the
/// best match for its own label.
pub fn is_blank_label(text: &str) -> bool {
    let line = text.trim();
    let label = item(line).and_then(|_| line.strip_suffix(':'));
    label
        .is_some_and(|label| !label.contains([':', '\n']) && label.chars().count() <= LONGEST_LABEL)
}

struct Reader<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
    limit: usize,
    trail: Vec<(usize, String)>,
    section: u32,
    date: Option<CalendarDay>,
    /// The line of a heading under which nothing was found yet.
    pending_heading: Option<usize>,
    chunks: Vec<NoteChunk>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut at = self.front_matter();
        while let Some(line) = self.lines.get(at).copied() {
            let start = at;
            if line.trim().is_empty() {
                at += 1;
            } else if let Some((level, title)) = heading(line) {
                self.enter(level, title, at);
                at += 1;
            } else if let Some(fence) = fence(line) {
                at += 1;
                while self.lines.get(at).is_some_and(|line| !closes(line, fence)) {
                    at += 1;
                }
                at = (at + 1).min(self.lines.len());
                self.push(start, at, self.limit * WHOLE_BLOCK_FACTOR);
            } else if line.trim_start().starts_with('|') {
                at = self.run(at, |line| line.trim_start().starts_with('|'));
                self.push(start, at, self.limit * WHOLE_BLOCK_FACTOR);
            } else if let Some(indent) = item(line) {
                at = self.item(at, indent);
            } else {
                at += 1;
                at = self.run(at, |line| {
                    !line.trim().is_empty()
                        && heading(line).is_none()
                        && fence(line).is_none()
                        && item(line).is_none()
                });
                self.push(start, at, self.limit);
            }
        }
        self.flush_heading();
    }

    /// The end of the run of lines from `at` on that satisfy a condition.
    fn run(&self, at: usize, holds: impl Fn(&str) -> bool) -> usize {
        let more = self
            .lines
            .iter()
            .skip(at)
            .take_while(|line| holds(line))
            .count();
        at + more
    }

    /// `---` to `---` at the top: a unit of its own, where a date may stand.
    fn front_matter(&mut self) -> usize {
        let front = front::read(self.text);
        if front.lines == 0 {
            return 0;
        }
        self.date = front.date.or(self.date);
        self.push(0, front.lines, self.limit);
        self.section += 1;
        front.lines
    }

    fn enter(&mut self, level: usize, title: &str, at: usize) {
        self.flush_heading();
        self.trail.retain(|(above, _)| *above < level);
        self.trail.push((level, title.to_owned()));
        self.section += 1;
        self.pending_heading = Some(at);
        if let Some(day) = CalendarDay::find_written(title) {
            self.date = Some(day);
        }
    }

    /// A heading with nothing under it is a unit itself.
    fn flush_heading(&mut self) {
        if let Some(at) = self.pending_heading.take() {
            self.chunk(at, at + 1);
        }
    }

    /// One list item with what is indented under it, or in parts where it is too large.
    fn item(&mut self, at: usize, indent: usize) -> usize {
        let start = at;
        let mut at = at + 1;
        let mut parts = vec![start];
        while let Some(line) = self.lines.get(at).copied() {
            let inner = item(line);
            if line.trim().is_empty() {
                // A blank line ends the item unless what follows is indented under it.
                let more = self.lines.get(at + 1).is_some_and(|next| {
                    !next.trim().is_empty() && indentation(next) > indent && item(next).is_none()
                });
                if !more {
                    break;
                }
            } else if inner.is_some_and(|inner| inner <= indent)
                || heading(line).is_some()
                || (fence(line).is_some() && indentation(line) <= indent)
            {
                break;
            } else if inner.is_some() {
                parts.push(at);
            }
            at += 1;
        }
        let whole = self.lines.get(start..at).unwrap_or_default().join("\n");
        if parts.len() == 1 || fits(&whole, self.limit) {
            self.push(start, at, self.limit);
        } else {
            parts.push(at);
            for (from, to) in parts.iter().zip(parts.iter().skip(1)) {
                self.push(*from, *to, self.limit);
            }
        }
        at
    }

    /// Lines `start..end` as one unit, or as several where they are too large.
    fn push(&mut self, start: usize, end: usize, limit: usize) {
        let mut from = start;
        while from < end {
            let mut to = end;
            if !fits(
                &self.lines.get(from..end).unwrap_or_default().join("\n"),
                limit,
            ) {
                to = from + 1;
                while to < end
                    && fits(
                        &self.lines.get(from..=to).unwrap_or_default().join("\n"),
                        limit,
                    )
                {
                    to += 1;
                }
            }
            if to == from + 1 && self.lines.get(from).is_some_and(|line| !fits(line, limit)) {
                self.long_line(from, limit);
            } else {
                self.chunk(from, to);
            }
            from = to;
        }
    }

    /// A single line larger than a unit, cut after sentences.
    fn long_line(&mut self, at: usize, limit: usize) {
        let mut rest = self.lines.get(at).copied().unwrap_or_default();
        while !rest.is_empty() {
            let end = sentence_end(rest, limit);
            let (piece, more) = rest.split_at(end);
            self.text(at, at + 1, piece.to_owned());
            rest = more;
        }
    }

    fn chunk(&mut self, start: usize, end: usize) {
        self.text(
            start,
            end,
            self.lines.get(start..end).unwrap_or_default().join("\n"),
        );
    }

    fn text(&mut self, start: usize, end: usize, text: String) {
        if text.trim().is_empty() {
            return;
        }
        self.pending_heading = None;
        let heading: Vec<&str> = self.trail.iter().map(|(_, title)| title.as_str()).collect();
        let body_at = (text.len() - without_mark(&text).len()) as u32;
        self.chunks.push(NoteChunk {
            start_line: start as u32 + 1,
            end_line: end as u32,
            heading: heading.join(" > "),
            section: self.section,
            date: self.date,
            text,
            body_at,
            ..NoteChunk::default()
        });
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

fn fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["```", "~~~"]
        .into_iter()
        .find(|mark| line.starts_with(mark))
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

/// The indentation of a list item.
fn item(line: &str) -> Option<usize> {
    let rest = line.trim_start();
    (without_mark(rest).len() < rest.len()).then(|| indentation(line))
}

fn indentation(line: &str) -> usize {
    line.chars()
        .take_while(|c| c.is_whitespace())
        .map(|c| if c == '\t' { 4 } else { 1 })
        .sum()
}

/// A line without `- `, `* `, `+ ` or `1. ` and without a task box.
fn without_mark(text: &str) -> &str {
    let line = text.trim_start();
    let after = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            match line
                .get(digits..)
                .unwrap_or_default()
                .strip_prefix(['.', ')'])
            {
                Some(rest) if (1..=9).contains(&digits) => rest,
                _ => return text,
            }
        }
    };
    if !after.starts_with([' ', '\t']) {
        return text;
    }
    let after = after.trim_start();
    for task in ["[ ] ", "[x] ", "[X] "] {
        if let Some(rest) = after.strip_prefix(task) {
            return rest;
        }
    }
    after
}

/// Where to cut a long line: after the last sentence that fits, else the last word, else anywhere.
fn sentence_end(line: &str, limit: usize) -> usize {
    // CJK text has about a token per character of three bytes, other text one per four letters.
    let most = line
        .char_indices()
        .nth(limit * 3)
        .map_or(line.len(), |(at, _)| at);
    let mut most = most.min(limit * 6);
    while !line.is_char_boundary(most) {
        most -= 1;
    }
    if most >= line.len() && fits(line, limit) {
        return line.len();
    }
    let head = line
        .get(..most.max(line.chars().next().map_or(1, char::len_utf8)))
        .unwrap_or_default();
    let sentence = head
        .char_indices()
        .rev()
        .find(|(at, c)| {
            matches!(c, '。' | '！' | '？' | '\n')
                || (matches!(c, '.' | '!' | '?')
                    && head.get(at + 1..).unwrap_or_default().starts_with(' '))
        })
        .map(|(at, c)| at + c.len_utf8());
    let word = head
        .char_indices()
        .rev()
        .find(|(_, c)| c.is_whitespace())
        .map(|(at, c)| at + c.len_utf8());
    [sentence, word]
        .into_iter()
        .flatten()
        .find(|end| *end > head.len() / 3)
        .unwrap_or(head.len())
}
