//! Takes the words for silence out of a stream, however they are dressed.
//!
//! Two ways of writing the words are told apart. With an underscore (of any width, escaped or
//! not, in any case) it is nobody's prose: it is taken out wherever it stands, a longer name
//! inside code and a mail address excepted. With a space, a hyphen or nothing instead it may well
//! be prose - "I had no reply" - so it counts only where it stands by itself: as the whole text,
//! as a line in capitals, or in capitals as the end after a sentence.
//!
//! What might still become such a word is held back until it is clear.

use super::code::CodeTracker;
use super::fold::{FoldedChar, seen};
use super::whole::{LABELS, PIECES, is_leftover, letters, silence, without_markup};
use super::word::{WordJoint, WordMatch, is_letter, try_word, which_begins};
use crate::Silence;
use crate::part::{chars_from, tail};

/// How much of what was shown is remembered, in characters that can be seen.
const TAIL: usize = 40;
/// Most punctuation and blanks that are held back.
const HELD: usize = 64;
/// A text that might be an envelope around the word is held back up to this length.
const START: usize = 700;

/// How careful a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubCare {
    /// A reply: every form counts, and what begins with "no reply" ends there.
    Reply,
    /// A reply that is looked at as a whole later: every form counts.
    Gathered,
    /// Reasoning: only what is nobody's prose is taken out.
    Aside,
}

#[derive(Debug)]
pub struct SilenceScrub {
    care: ScrubCare,
    pending: Vec<char>,
    shown: Shown,
    found: SilenceFound,
    /// Nothing more is let through.
    closed: bool,
}

/// Which words were found, and where.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilenceFound {
    pub last: Option<Silence>,
    /// One stood before any other word.
    pub at_start: Option<Silence>,
    /// The last one has no word after it.
    pub at_end: bool,
}

/// What was let through, as far as it matters for what follows.
#[derive(Debug, Clone, Default)]
struct Shown {
    tail: Vec<char>,
    last: Option<char>,
    letters: bool,
    letters_on_line: bool,
    code: CodeTracker,
}

/// What begins at a place in the text.
enum Here {
    Nothing,
    /// Too early to say.
    Unclear,
    Word {
        end: usize,
        which: Silence,
        line_alone: bool,
    },
}

impl SilenceScrub {
    pub fn new(care: ScrubCare) -> Self {
        Self {
            care,
            pending: Vec::new(),
            shown: Shown::default(),
            found: SilenceFound::default(),
            closed: false,
        }
    }

    pub fn found(&self) -> SilenceFound {
        self.found
    }

    /// What may be shown now.
    pub fn push(&mut self, text: &str) -> String {
        self.pending.extend(text.chars());
        self.step(false)
    }

    /// The rest.
    pub fn finish(&mut self) -> String {
        self.step(true)
    }

    fn step(&mut self, finished: bool) -> String {
        if self.closed {
            self.pending.clear();
            return String::new();
        }
        if self.care != ScrubCare::Aside && !self.shown.letters {
            let text: String = self.pending.iter().collect();
            if finished {
                if let Some(which) = silence(&text) {
                    self.pending.clear();
                    self.note(which, true);
                    return String::new();
                }
            } else if may_become_silence(&text) {
                return String::new();
            }
        }
        let chars = std::mem::take(&mut self.pending);
        let mut out: Vec<char> = Vec::with_capacity(chars.len());
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            match self.look(&chars, at, &out, finished) {
                Here::Nothing => {
                    self.found.at_end &= !is_letter(c);
                    out.push(c);
                    at += 1;
                }
                Here::Unclear => break,
                Here::Word {
                    end,
                    which,
                    line_alone,
                } => {
                    let first = !self.shown.letters && !out.iter().copied().any(is_letter);
                    self.note(which, first);
                    if first && which == Silence::NoReply && self.care == ScrubCare::Reply {
                        self.closed = true;
                        return String::new();
                    }
                    at = if line_alone {
                        clear_line(&mut out, &chars, end)
                    } else {
                        clear_word(&mut out, &chars, end, self.shown.last)
                    };
                }
            }
        }
        self.pending.extend_from_slice(chars_from(&chars, at));
        if !finished {
            let keep = held_from(&out);
            self.pending.splice(..0, out.drain(keep..));
        }
        self.let_through(out)
    }

    fn note(&mut self, which: Silence, first: bool) {
        self.found.last = Some(which);
        self.found.at_end = true;
        if first && self.found.at_start.is_none() {
            self.found.at_start = Some(which);
        }
    }

    fn let_through(&mut self, mut out: Vec<char>) -> String {
        if self.found.last.is_some() {
            self.mend_seams(&mut out);
        }
        if self.care != ScrubCare::Aside && self.shown.last.is_none() {
            let blank = out.iter().take_while(|c| c.is_whitespace()).count();
            out.drain(..blank);
        }
        for &c in &out {
            self.shown.add(c);
        }
        out.into_iter().collect()
    }

    /// Taking a word out of "NO_NO_REPLYREPLY" leaves another one across the seam.
    fn mend_seams(&self, out: &mut Vec<char>) {
        let mut view: Vec<char> = self.shown.tail.clone();
        let base = view.len();
        view.extend_from_slice(out);
        let mut at = 0;
        while at < view.len() {
            if let WordMatch::Yes(found) = try_word(&view, at)
                && found.between == WordJoint::Underscore
                && found.end > base
                && (at < base
                    || !self.is_part_of_a_name(
                        view.get(base..at).unwrap_or_default(),
                        &view,
                        (at, found.end),
                    ))
            {
                view.drain(at.max(base)..found.end);
                at = at.saturating_sub(TAIL);
            } else {
                at += 1;
            }
        }
        *out = view.split_off(base);
    }

    fn look(&self, chars: &[char], at: usize, out: &[char], finished: bool) -> Here {
        let found = match try_word(chars, at) {
            WordMatch::No => return Here::Nothing,
            WordMatch::Cut { .. } if !finished => return Here::Unclear,
            WordMatch::Cut { beyond: 0 } => return Here::Nothing,
            // The stream was cut in the middle of the word.
            WordMatch::Cut { .. } => {
                let which = which_begins(chars, at);
                return Here::Word {
                    end: chars.len(),
                    which,
                    line_alone: false,
                };
            }
            WordMatch::Yes(found) => found,
        };
        let strict = found.between == WordJoint::Underscore;
        if !strict && self.care == ScrubCare::Aside {
            return Here::Nothing;
        }
        let line_alone_left = !self.letters_before_on_line(out);
        let after = after(chars, found.end);
        if strict {
            let reach = dress_end(chars, found.end);
            if reach == chars.len() && !finished {
                return Here::Unclear;
            }
            if self.is_part_of_a_name(out, chars, (at, found.end)) {
                return Here::Nothing;
            }
            if line_alone_left && after == After::Open && !finished {
                return Here::Unclear;
            }
            let line_alone = line_alone_left && after != After::LetterOnLine;
            return Here::Word {
                end: found.end,
                which: found.which,
                line_alone,
            };
        }
        let prev = out.last().copied().or(self.shown.last);
        let glued = prev.is_some_and(|c| is_letter(c) || c == '_')
            || chars
                .get(found.end)
                .is_some_and(|c| is_letter(*c) || *c == '_');
        let after_sentence = found.capitals && self.ends_a_sentence(out);
        if glued || !(line_alone_left || after_sentence) {
            return Here::Nothing;
        }
        if after == After::Open && !finished {
            return Here::Unclear;
        }
        let unlike_prose = found.capitals || found.between != WordJoint::Space;
        let counts = match after {
            After::LetterOnLine => false,
            After::LetterBelow => line_alone_left && found.capitals,
            After::Open => after_sentence || (line_alone_left && unlike_prose),
        };
        if counts {
            Here::Word {
                end: found.end,
                which: found.which,
                line_alone: line_alone_left,
            }
        } else {
            Here::Nothing
        }
    }

    fn letters_before_on_line(&self, out: &[char]) -> bool {
        match out.iter().rposition(|c| *c == '\n') {
            Some(newline) => chars_from(out, newline).iter().copied().any(is_letter),
            None => self.shown.letters_on_line || out.iter().copied().any(is_letter),
        }
    }

    fn ends_a_sentence(&self, out: &[char]) -> bool {
        let dressed = |c: &char| !c.is_whitespace() && !matches!(c, '*' | '_' | '`' | '"' | '~');
        let last = out.iter().rev().copied().find(dressed);
        last.or_else(|| self.shown.tail.iter().rev().copied().find(dressed))
            .is_none_or(|c| ".!?…:;。！？：；—–)]→>".contains(c))
    }

    /// `NO_REPLY_EXPECTED` in code, or `no_reply@example.com`.
    fn is_part_of_a_name(&self, out: &[char], chars: &[char], (at, end): (usize, usize)) -> bool {
        let part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let mail = chars.get(end) == Some(&'@')
            && chars.get(end + 1).is_some_and(char::is_ascii_alphanumeric);
        if mail {
            return true;
        }
        let right: String = chars_from(chars, end)
            .iter()
            .copied()
            .take_while(part)
            .collect();
        let mut left: String = out.iter().rev().copied().take_while(part).collect();
        if left.chars().count() == out.len() {
            let before = self.shown.tail.iter().rev().copied().take_while(part);
            left.extend(before);
        }
        let left: String = left.chars().rev().collect();
        let word: String = chars.get(at..end).unwrap_or_default().iter().collect();
        let name = format!("{left}{word}{right}");
        let longer =
            (left.ends_with('_') && left.len() > 1) || (right.starts_with('_') && right.len() > 1);
        let mixed = name.contains(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase());
        let marked = name.starts_with('_') || name.ends_with('_');
        if !longer || mixed || marked || !word.is_ascii() || is_leftover(&name) {
            return false;
        }
        let mut code = self.shown.code.clone();
        out.iter().for_each(|c| code.feed(*c));
        code.in_code()
    }
}

impl Shown {
    fn add(&mut self, c: char) {
        self.code.feed(c);
        self.last = Some(c);
        let kind = seen(c);
        if kind != FoldedChar::Nothing {
            if self.tail.len() == TAIL {
                self.tail.remove(0);
            }
            self.tail.push(c);
        }
        if c == '\n' {
            self.letters_on_line = false;
        } else if matches!(kind, FoldedChar::Letter(_)) {
            self.letters = true;
            self.letters_on_line = true;
        }
    }
}

/// What follows a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    LetterOnLine,
    LetterBelow,
    /// No letter so far.
    Open,
}

fn after(chars: &[char], end: usize) -> After {
    let mut below = false;
    for &c in chars_from(chars, end) {
        if is_letter(c) {
            return if below {
                After::LetterBelow
            } else {
                After::LetterOnLine
            };
        }
        below |= c == '\n';
    }
    After::Open
}

/// Where quotes, brackets, marks and letters glued to a word end.
fn dress_end(chars: &[char], end: usize) -> usize {
    let glued = |c: &char| !c.is_whitespace();
    end + chars_from(chars, end)
        .iter()
        .take(HELD)
        .take_while(|c| glued(c))
        .count()
}

/// Removes a line that holds nothing but the word and its dress; gives where the next one begins.
fn clear_line(out: &mut Vec<char>, chars: &[char], end: usize) -> usize {
    let line = out.iter().rposition(|c| *c == '\n').map_or(0, |at| at + 1);
    out.truncate(line);
    end + chars_from(chars, end)
        .iter()
        .take_while(|c| **c != '\n' && !is_letter(**c))
        .count()
}

/// Removes a word with the quotes, brackets and marks around it; gives where to go on.
fn clear_word(out: &mut Vec<char>, chars: &[char], end: usize, before: Option<char>) -> usize {
    let mut end = end;
    while let (Some(&left), Some(&right)) = (out.last(), chars.get(end)) {
        if !is_pair(left, right) {
            break;
        }
        out.pop();
        end += 1;
    }
    // One word after the other, as in NO_REPLY_NO_REPLY.
    if chars.get(end) == Some(&'_')
        && end + 1 < chars.len()
        && matches!(try_word(chars, end + 1), WordMatch::Yes(_))
    {
        end += 1;
    }
    let left = out.last().copied().or(before);
    let blank = left.is_none_or(char::is_whitespace);
    if blank {
        end += chars_from(chars, end)
            .iter()
            .take_while(|c| **c == ' ')
            .count();
    } else if left.is_some_and(is_letter) && chars.get(end).is_some_and(|c| is_letter(*c)) {
        out.push(' ');
    }
    end
}

fn is_pair(left: char, right: char) -> bool {
    const PAIRS: [(char, char); 16] = [
        ('(', ')'),
        ('[', ']'),
        ('{', '}'),
        ('<', '>'),
        ('«', '»'),
        ('»', '«'),
        ('“', '”'),
        ('„', '“'),
        ('‘', '’'),
        ('「', '」'),
        ('『', '』'),
        ('【', '】'),
        ('（', '）'),
        ('〈', '〉'),
        ('《', '》'),
        ('”', '”'),
    ];
    (left == right && "*_~\"'`|".contains(left)) || PAIRS.contains(&(left, right))
}

/// Where the punctuation and blanks at the end begin: a word may follow that they belong to.
fn held_from(out: &[char]) -> usize {
    let held = out
        .iter()
        .rev()
        .take(HELD)
        .take_while(|c| !is_letter(**c))
        .count();
    out.len() - held
}

/// Whether the beginning of a reply may still turn out to be silence as a whole.
fn may_become_silence(text: &str) -> bool {
    if text.len() > START {
        return false;
    }
    let start = text.trim_start();
    let in_first_fence_line =
        (start.starts_with('`') || start.starts_with('~')) && !start.contains('\n');
    let in_tag = start
        .rfind('<')
        .is_some_and(|open| !tail(start, open).contains('>') && start.len() - open < 80);
    let plain = without_markup(text);
    let body = plain.trim();
    let envelope = ["{", "[{", "[\""].iter().any(|open| body.starts_with(open));
    let said = letters(body);
    envelope
        || in_tag
        || (in_first_fence_line && said.len() < 20)
        || LABELS.iter().any(|label| label.starts_with(&said))
        || goes_on_as_silence(&said)
        || LABELS
            .iter()
            .filter_map(|label| said.strip_prefix(label))
            .any(goes_on_as_silence)
}

fn goes_on_as_silence(said: &str) -> bool {
    let mut rest = said;
    loop {
        if PIECES.iter().any(|piece| piece.starts_with(rest)) {
            return true;
        }
        match PIECES.iter().find_map(|piece| rest.strip_prefix(piece)) {
            Some(tail) => rest = tail,
            None => return false,
        }
    }
}
