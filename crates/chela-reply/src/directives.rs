//! What a model says about the delivery of its reply: `MEDIA:` lines and `[[…]]` marks.

use super::code::CodeTracker;
use crate::ReplyTo;
use crate::part::{head, tail};

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyDirectives {
    pub media: Vec<String>,
    pub reply_to: Option<ReplyTo>,
    pub audio_as_voice: bool,
}

/// Takes directives out of a stream of text. In code they are text.
#[derive(Debug, Default)]
pub struct DirectiveReader {
    held: String,
    code: CodeTracker,
    last: Option<char>,
    /// A mark was taken out where a blank would now stand twice.
    swallow_blank: bool,
    pub asked: ReplyDirectives,
}

const MEDIA: &str = "MEDIA:";
const LONGEST_MARK: usize = 200;
const LONGEST_MEDIA: usize = 4_096;
const MARKS: [&str; 3] = ["reply_to_current", "audio_as_voice", "reply_to:"];

enum Mark {
    None,
    Unclear,
    Done { len: usize, asked: MarkAsked },
}

enum MarkAsked {
    ReplyTo(ReplyTo),
    Voice,
}

impl DirectiveReader {
    pub fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        self.step(false)
    }

    pub fn finish(&mut self) -> String {
        self.step(true)
    }

    fn step(&mut self, finished: bool) -> String {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        let mut out = String::with_capacity(rest.len());
        while !rest.is_empty() {
            if !self.code.in_fence() {
                if self.code.at_line_start() {
                    match media_line(rest, finished) {
                        Line::Unclear => break,
                        Line::Media { len, places } => {
                            self.asked.media.extend(places);
                            rest = tail(rest, len);
                            continue;
                        }
                        Line::Text => {}
                    }
                }
                if rest.starts_with('[') && self.last != Some('`') {
                    match mark(rest) {
                        Mark::Unclear if !finished => break,
                        Mark::Done { len, asked } => {
                            match asked {
                                MarkAsked::ReplyTo(to) => self.asked.reply_to = Some(to),
                                MarkAsked::Voice => self.asked.audio_as_voice = true,
                            }
                            self.swallow_blank = self.last.is_none_or(char::is_whitespace);
                            rest = tail(rest, len);
                            continue;
                        }
                        Mark::Unclear | Mark::None => {}
                    }
                }
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            rest = chars.as_str();
            if self.swallow_blank && c == ' ' {
                continue;
            }
            self.swallow_blank = false;
            self.code.feed(c);
            self.last = Some(c);
            out.push(c);
        }
        self.held = rest.to_owned();
        out
    }
}

enum Line {
    Text,
    Unclear,
    Media { len: usize, places: Vec<String> },
}

/// A line `MEDIA: place`, bare, in a list or in backticks.
fn media_line(text: &str, finished: bool) -> Line {
    let start = text.trim_start_matches([' ', '\t', '-', '*', '`']);
    let dressed = text.len() - start.len();
    if dressed > 8 {
        return Line::Text;
    }
    if !start.starts_with(MEDIA) {
        let may_be = !finished && MEDIA.starts_with(start);
        return if may_be { Line::Unclear } else { Line::Text };
    }
    let (line, len) = match text.find('\n') {
        Some(end) => (head(text, end), end + 1),
        None if finished => (text, text.len()),
        None if text.len() < LONGEST_MEDIA => return Line::Unclear,
        None => return Line::Text,
    };
    let value = tail(line, dressed + MEDIA.len())
        .trim()
        .trim_matches(['`', '"', '\'', '<', '>', '*'])
        .trim();
    if is_place(value) {
        Line::Media {
            len,
            places: vec![value.to_owned()],
        }
    } else {
        Line::Text
    }
}

/// Whether a text names a file or a page, and is not just a sentence after "MEDIA:".
fn is_place(value: &str) -> bool {
    let schemes = ["http://", "https://", "file://", "data:"];
    let starts = ["/", "~/", "./", "../"];
    let rooted = schemes
        .iter()
        .chain(&starts)
        .any(|start| value.to_ascii_lowercase().starts_with(start));
    let name = value.rsplit(['/', '\\']).next().unwrap_or(value);
    let ending = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
    });
    !value.is_empty()
        && (rooted || (ending && !value.contains(' ')) || (ending && value.contains('/')))
}

/// `[[reply_to_current]]`, `[[reply_to: 42]]`, `[[ audio_as_voice ]]`.
fn mark(text: &str) -> Mark {
    let Some(inner) = text.strip_prefix("[[") else {
        return if text == "[" {
            Mark::Unclear
        } else {
            Mark::None
        };
    };
    let line = inner.find(['\n', '[']).unwrap_or(inner.len());
    let squeezed = |text: &str| -> String {
        text.chars()
            .filter(|c| !c.is_whitespace())
            .flat_map(char::to_lowercase)
            .collect()
    };
    let Some(end) = head(inner, line).find("]]") else {
        let so_far = squeezed(head(inner, line));
        let so_far = so_far.trim_end_matches(']');
        let may_be = line == inner.len()
            && inner.len() < LONGEST_MARK
            && MARKS
                .iter()
                .any(|mark| mark.starts_with(so_far) || so_far.starts_with("reply_to:"));
        return if may_be { Mark::Unclear } else { Mark::None };
    };
    let len = 2 + end + 2;
    let asked = match squeezed(head(inner, end)).as_str() {
        "reply_to_current" => MarkAsked::ReplyTo(ReplyTo::Current),
        "audio_as_voice" => MarkAsked::Voice,
        other if other.starts_with("reply_to:") => {
            let id = head(inner, end)
                .split_once(':')
                .map_or("", |(_, id)| id)
                .trim();
            if id.is_empty() {
                return Mark::None;
            }
            MarkAsked::ReplyTo(ReplyTo::Id(id.to_owned()))
        }
        _ => return Mark::None,
    };
    Mark::Done { len, asked }
}
