//! Cleaning text before it is placed in a prompt.
//!
//! A [`literal`] stands inside one of our own sentences, so nothing in it may end the line or be
//! invisible. [`content`] is a whole file: its text is the author's and stays, but characters
//! that nobody sees and a model reads are taken out and reported.
//!
//! Invisible characters are not bad in themselves: Persian needs the zero-width non-joiner, Khmer
//! the zero-width space, an emoji family its joiners, a Japanese name its variation selector.
//! They stay where a reader of that script would miss them (module `script`). Decided besides:
//! private-use characters and U+2800 (blank braille) show as something and stay; line and
//! paragraph separators stay in contents, where they break lines for everyone, and go from
//! literals; a byte order mark at the start goes without being a finding.

mod script;

use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};

use crate::scan::sieve;
use script::{InvisibleKind, invisible_kind};

/// What [`content`] took out of a text, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovedCharacters {
    /// Tag characters: a hidden copy of ASCII.
    pub tags: usize,
    /// Embeddings, overrides and isolates, and marks where nothing is written right to left.
    pub bidi: usize,
    pub zero_width: usize,
    /// Control characters other than tab, line feed and carriage return.
    pub control: usize,
    /// Variation selectors that select nothing: 256 of them can spell any bytes.
    pub selectors: usize,
    /// Whether the text began with a byte order mark; not counted as a finding.
    pub byte_order_mark: bool,
    /// The first lines, from 1, in which something was found; at most eight.
    pub first_lines: Vec<u32>,
}

impl RemovedCharacters {
    const MOST_LINES: usize = 8;

    /// How many characters were found and removed.
    pub fn total(&self) -> usize {
        self.tags + self.bidi + self.zero_width + self.control + self.selectors
    }

    fn add(&mut self, kind: InvisibleKind, line: u32) {
        let count = match kind {
            InvisibleKind::Tag => &mut self.tags,
            InvisibleKind::BidiControl | InvisibleKind::BidiMark => &mut self.bidi,
            InvisibleKind::Control => &mut self.control,
            InvisibleKind::Selector => &mut self.selectors,
            _ => &mut self.zero_width,
        };
        *count += 1;
        if self.first_lines.len() < Self::MOST_LINES && self.first_lines.last() != Some(&line) {
            self.first_lines.push(line);
        }
    }
}

/// A value made fit to stand inside one line of a sentence: without control, format, separating,
/// tag and other characters that take no space of their own. A single variation selector on a
/// character that can have one stays, so that a file called `❤️.md` keeps its name.
pub fn literal(value: &str) -> Cow<'_, str> {
    if value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(value);
    }
    let mut kept = String::new();
    let mut copied = 0;
    let mut previous = None;
    for (at, c) in value.char_indices() {
        if is_fit_in_a_line(c) || is_lone_selector(value, at, previous) {
            previous = Some(c);
        } else {
            kept.push_str(&value[copied..at]);
            copied = at + c.len_utf8();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(value);
    }
    kept.push_str(&value[copied..]);
    Cow::Owned(kept)
}

fn is_fit_in_a_line(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    let category = get_general_category(c);
    !matches!(
        category,
        Control | Format | LineSeparator | ParagraphSeparator
    ) && invisible_kind(c).is_none()
}

fn is_lone_selector(value: &str, at: usize, kept_before: Option<char>) -> bool {
    let is_selector = |c: char| invisible_kind(c) == Some(InvisibleKind::Selector);
    let mut from_here = value[at..].chars();
    let Some(c) = from_here.next().filter(|c| is_selector(*c)) else {
        return false;
    };
    kept_before.is_some_and(|base| script::can_be_varied(base, c))
        && !from_here.next().is_some_and(is_selector)
        && !value[..at].ends_with(is_selector)
}

/// File content without the invisible characters that can hide instructions, and what they were.
/// Cleaning what is clean changes nothing and copies nothing.
pub fn content(text: &str) -> (Cow<'_, str>, RemovedCharacters) {
    match next_invisible(text, 0) {
        None => (Cow::Borrowed(text), RemovedCharacters::default()),
        Some(first) => Cleaning::new(text).run(first),
    }
}

/// One pass over a text. Each decision rests only on what was kept before and on the next visible
/// character, which is why a second pass decides the same.
struct Cleaning<'a> {
    text: &'a str,
    kept: String,
    /// Up to here the text is in `kept`, or was removed.
    copied: usize,
    /// The last character kept, and the one before it.
    previous: (Option<char>, Option<char>),
    /// The next visible character after the current run of invisible ones, and where it is.
    next_visible: (usize, Option<char>),
    /// End of the line last looked at, and whether anything in it runs right to left.
    line_direction: (usize, bool),
    /// Number of the line at `counted`.
    line: u32,
    counted: usize,
    removed: RemovedCharacters,
}

impl<'a> Cleaning<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            kept: String::new(),
            copied: 0,
            previous: (None, None),
            next_visible: (0, None),
            line_direction: (0, false),
            line: 1,
            counted: 0,
            removed: RemovedCharacters::default(),
        }
    }

    fn run(mut self, first: usize) -> (Cow<'a, str>, RemovedCharacters) {
        let mut done = 0;
        let mut found = Some(first);
        while let Some(at) = found {
            self.pass_visible(&self.text[done..at]);
            done = self.decide(at);
            found = next_invisible(self.text, done);
        }
        if self.copied == 0 {
            return (Cow::Borrowed(self.text), self.removed);
        }
        self.kept.push_str(&self.text[self.copied..]);
        (Cow::Owned(self.kept), self.removed)
    }

    fn pass_visible(&mut self, visible: &str) {
        let mut backwards = visible.chars().rev();
        if let Some(last) = backwards.next() {
            self.previous = (Some(last), backwards.next().or(self.previous.0));
        }
    }

    /// Keeps or removes the invisible character at `at`; returns where to go on.
    fn decide(&mut self, at: usize) -> usize {
        let here = self.text[at..].chars().next();
        let Some((c, kind)) = here.and_then(|c| Some((c, invisible_kind(c)?))) else {
            return self.text.len();
        };
        let end = at + c.len_utf8();
        if kind == InvisibleKind::Tag
            && self.text[..at].ends_with(script::BLACK_FLAG)
            && let Some(length) = script::flag_tags(&self.text[at..])
        {
            self.previous = (Some(script::CANCEL_TAG), self.previous.0);
            return at + length;
        }
        if kind == InvisibleKind::ByteOrderMark && at == 0 {
            self.removed.byte_order_mark = true;
            self.copied = end;
            return end;
        }
        if kind == InvisibleKind::Selector && self.selectors_from(at) > c.len_utf8() {
            return self.remove_selectors(at);
        }
        if self.belongs(c, kind, at) {
            self.previous = (Some(c), self.previous.0);
        } else {
            self.remove(kind, at..end);
        }
        end
    }

    fn belongs(&mut self, c: char, kind: InvisibleKind, at: usize) -> bool {
        let last = self.previous.0;
        match kind {
            InvisibleKind::Tag
            | InvisibleKind::BidiControl
            | InvisibleKind::Control
            | InvisibleKind::ByteOrderMark
            | InvisibleKind::Nowhere => false,
            InvisibleKind::Selector => last.is_some_and(|base| script::can_be_varied(base, c)),
            InvisibleKind::BidiMark => {
                last.and_then(invisible_kind) != Some(InvisibleKind::BidiMark)
                    && self.runs_right_to_left(at)
            }
            InvisibleKind::Joiner => {
                (c == script::ZERO_WIDTH_JOINER && self.is_between_emoji(at))
                    || self.is_beside(at, script::needs_joiners)
            }
            InvisibleKind::Space => self.is_beside(at, script::writes_without_spaces),
            InvisibleKind::WithScript(script) => self.is_beside(at, |c| script.contains(c)),
            InvisibleKind::BetweenMarks => self.is_beside(at, script::is_combining),
            InvisibleKind::BreakHint => last.is_some_and(|last| invisible_kind(last).is_none()),
            InvisibleKind::Filler => last.and_then(invisible_kind) != Some(InvisibleKind::Filler),
        }
    }

    fn is_between_emoji(&mut self, at: usize) -> bool {
        let before = match self.previous {
            (Some(script::EMOJI_SELECTOR), base) => base.is_some_and(script::is_emoji),
            (Some(script::CANCEL_TAG), _) => true,
            (last, _) => last.is_some_and(script::is_emoji),
        };
        before && self.next_visible(at).is_some_and(script::is_emoji)
    }

    /// Whether the character before or after is one that asks for an invisible one here. What
    /// already has one gets no second, except that a selector or a control of the script itself
    /// belongs to its letter.
    fn is_beside(&mut self, at: usize, asks: impl Fn(char) -> bool) -> bool {
        let (last, before_last) = self.previous;
        let base = match last.and_then(invisible_kind) {
            None => last,
            Some(InvisibleKind::Selector | InvisibleKind::WithScript(_))
                if before_last.and_then(invisible_kind).is_none() =>
            {
                before_last
            }
            Some(_) => return false,
        };
        base.is_some_and(&asks) || self.next_visible(at).is_some_and(asks)
    }

    fn next_visible(&mut self, at: usize) -> Option<char> {
        if self.next_visible.0 <= at {
            let found = self.text[at..]
                .char_indices()
                .find(|(_, c)| invisible_kind(*c).is_none());
            self.next_visible = found.map_or((self.text.len(), None), |(offset, c)| {
                (at + offset, Some(c))
            });
        }
        self.next_visible.1
    }

    fn runs_right_to_left(&mut self, at: usize) -> bool {
        if self.line_direction.0 <= at {
            let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let end = self.text[at..]
                .find('\n')
                .map_or(self.text.len(), |length| at + length);
            let line = &self.text[start..end];
            self.line_direction = (end, line.chars().any(script::is_right_to_left));
        }
        self.line_direction.1
    }

    /// Length in bytes of the run of variation selectors that starts at `at`.
    fn selectors_from(&self, at: usize) -> usize {
        let run = self.text[at..].chars();
        run.take_while(|c| invisible_kind(*c) == Some(InvisibleKind::Selector))
            .map(char::len_utf8)
            .sum()
    }

    fn remove_selectors(&mut self, at: usize) -> usize {
        let end = at + self.selectors_from(at);
        let mut start = at;
        for c in self.text[at..end].chars() {
            self.remove(InvisibleKind::Selector, start..start + c.len_utf8());
            start += c.len_utf8();
        }
        end
    }

    fn remove(&mut self, kind: InvisibleKind, range: std::ops::Range<usize>) {
        let newlines = self.text[self.counted..range.start]
            .bytes()
            .filter(|b| *b == b'\n')
            .count();
        self.line = self
            .line
            .saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        self.counted = range.start;
        self.removed.add(kind, self.line);
        self.kept.push_str(&self.text[self.copied..range.start]);
        self.copied = range.end;
    }
}

/// The first invisible character at or after `from`.
fn next_invisible(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = sieve(
        text.as_bytes(),
        at,
        script::may_begin_invisible,
        script::may_be_invisible,
    ) {
        let c = text.get(found..).and_then(|rest| rest.chars().next());
        if c.is_some_and(|c| invisible_kind(c).is_some()) {
            return Some(found);
        }
        at = found + 1;
    }
    None
}

#[cfg(test)]
mod tests;
