//! The reader: one pass, bounded depth, places for everything.

use super::duplicates::duplicates;
use super::literal::{self, LiteralError};
use super::scan::{self, UnclosedComment};
use super::words::{ReadingPlace, begins_element, closing, shown, unexpected_hint};
use super::{MAX_BYTES, MAX_DEPTH, ParsedText, SyntaxProblem};
use crate::diagnostic::Severity;
use crate::node::{ConfigNode, FileId, NodeKind, NodeMember, NodeSpan};
use crate::span::{after, before, between};

/// What becomes of a key that stands twice in one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// The last one counts and the others are dropped, with a warning.
    LastCounts,
    /// All stay, for an editor that has to see what is written.
    Keep,
}

/// More warnings or errors than this help nobody.
const MAX_PROBLEMS: usize = 20;

#[derive(Debug)]
pub struct TextParser<'s> {
    text: &'s str,
    pos: usize,
    depth: usize,
    file: FileId,
    duplicates: DuplicateKeys,
    problems: Vec<SyntaxProblem>,
}

/// Reading cannot go on; the problem has been noted.
#[derive(Debug)]
struct Stop;

type Step<T> = Result<T, Stop>;

impl<'s> TextParser<'s> {
    pub fn new(text: &'s str, file: FileId, duplicates: DuplicateKeys) -> Self {
        Self {
            text,
            pos: 0,
            depth: 0,
            file,
            duplicates,
            problems: Vec::new(),
        }
    }

    pub fn document(mut self) -> ParsedText {
        let root = self.whole_text().ok();
        let failed = self
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        ParsedText {
            root: root.filter(|_| !failed),
            problems: self.problems,
        }
    }

    fn whole_text(&mut self) -> Step<ConfigNode> {
        if self.text.len() > MAX_BYTES {
            let message = format!(
                "the file is {} MiB large; {} MiB is the most a config may have",
                self.text.len() >> 20,
                MAX_BYTES >> 20
            );
            return Err(self.stop(0, message, None));
        }
        self.trivia()?;
        if self.peek().is_none() {
            return Err(self.stop(
                self.pos,
                "the file is empty",
                Some("write `{}` for a config without settings"),
            ));
        }
        let root = self.value(ReadingPlace::Document)?;
        self.trivia()?;
        match self.peek() {
            None => Ok(root),
            Some('}' | ']') => Err(self.stop(
                self.pos,
                "one closing bracket too many: the config ended before it",
                None,
            )),
            Some(_) => Err(self.stop(
                self.pos,
                "text after the end of the config",
                Some("the whole config is one `{ … }`"),
            )),
        }
    }

    fn value(&mut self, inside: ReadingPlace<'_>) -> Step<ConfigNode> {
        let start = self.pos;
        let kind = match self.peek() {
            Some('{') => self.nested(Self::object)?,
            Some('[') => self.nested(Self::list)?,
            Some('"' | '\'') => NodeKind::String(self.string()?),
            Some('0'..='9' | '+' | '-' | '.') => self.number(),
            Some(c) if scan::starts_identifier(c) => self.word(),
            Some(c) => {
                let hint = unexpected_hint(c);
                let message = format!("expected a value for {inside}, found {}", shown(c));
                return Err(self.stop(start, message, hint));
            }
            None => {
                let message = format!("the file ends where the value of {inside} should be");
                return Err(self.stop(start, message, None));
            }
        };
        Ok(ConfigNode::new(kind, self.at(start, self.pos)))
    }

    fn nested(&mut self, read: fn(&mut Self) -> Step<NodeKind>) -> Step<NodeKind> {
        if self.depth == MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(self.stop(
                self.pos,
                message,
                Some("no setting is nested that deep; check the brackets"),
            ));
        }
        self.depth += 1;
        let kind = read(self);
        self.depth -= 1;
        kind
    }

    fn object(&mut self) -> Step<NodeKind> {
        let open = self.pos;
        self.pos += 1;
        let mut members: Vec<NodeMember> = Vec::new();
        loop {
            self.trivia()?;
            match self.peek() {
                Some('}') => break,
                Some(',') => self.stray_comma("a key"),
                Some(_) => {
                    let member = self.member(open)?;
                    let end = self.pos;
                    self.trivia()?;
                    let more = self.after_element(open, end, ReadingPlace::Member(&member.key));
                    members.push(member);
                    more?;
                }
                None => return Err(self.never_closed(open)),
            }
        }
        self.pos += 1;
        if self.duplicates == DuplicateKeys::LastCounts {
            self.drop_duplicates(&mut members);
        }
        Ok(NodeKind::Object(members))
    }

    fn list(&mut self) -> Step<NodeKind> {
        let open = self.pos;
        self.pos += 1;
        let mut items = Vec::new();
        loop {
            self.trivia()?;
            match self.peek() {
                Some(']') => break,
                Some(',') => self.stray_comma("a value"),
                Some('}') => {
                    let line = self.line_of(open);
                    let hint =
                        format!("the list opened on line {line} is still open: close it with `]`");
                    return Err(self.stop(self.pos, "`}` inside a list", Some(&hint)));
                }
                Some(_) => {
                    items.push(self.value(ReadingPlace::List)?);
                    let end = self.pos;
                    self.trivia()?;
                    self.after_element(open, end, ReadingPlace::List)?;
                }
                None => return Err(self.never_closed(open)),
            }
        }
        self.pos += 1;
        Ok(NodeKind::Array(items))
    }

    fn member(&mut self, open: usize) -> Step<NodeMember> {
        let start = self.pos;
        let key = self.key(open)?;
        let key_at = self.at(start, self.pos);
        let key_end = self.pos;
        self.trivia()?;
        match self.peek() {
            Some(':') => self.pos += 1,
            Some('=') => {
                self.problem(
                    self.pos,
                    "expected `:` after the key, found `=`",
                    Some("write `key: value`"),
                );
                self.pos += 1;
            }
            Some(_) => return Err(self.stop(key_end, "expected `:` after the key", None)),
            None => return Err(self.never_closed(open)),
        }
        self.trivia()?;
        let value = self.value(ReadingPlace::Member(&key))?;
        Ok(NodeMember { key, key_at, value })
    }

    /// The comma or the closing bracket after a value; a forgotten comma is noted and forgiven,
    /// so that further problems show in the same run.
    fn after_element(&mut self, open: usize, end: usize, inside: ReadingPlace<'_>) -> Step<()> {
        let close = closing(self.char_at(open));
        let expected = || inside.expected_after(close);
        match self.peek() {
            Some(',') => self.pos += 1,
            Some(c) if c == close => {}
            None => return Err(self.never_closed(open)),
            Some(c @ ('}' | ']')) => {
                let line = self.line_of(open);
                let hint = format!("the `{}` of line {line} is still open", self.char_at(open));
                return Err(self.stop(
                    self.pos,
                    format!("{}, found `{c}`", expected()),
                    Some(&hint),
                ));
            }
            Some(c) if begins_element(c) => self.problem(end, expected(), None),
            Some(c) => {
                let message = format!("{}, found {}", expected(), shown(c));
                return Err(self.stop(self.pos, message, unexpected_hint(c)));
            }
        }
        Ok(())
    }

    fn key(&mut self, open: usize) -> Step<String> {
        match self.peek() {
            Some('"' | '\'') => self.string(),
            Some(c) if scan::continues_identifier(c) || matches!(c, '-' | '\\') => self.bare_key(),
            Some(']') => {
                let line = self.line_of(open);
                let hint =
                    format!("the object opened on line {line} is still open: close it with `}}`");
                Err(self.stop(self.pos, "`]` inside an object", Some(&hint)))
            }
            Some(c) => {
                let message = format!("expected a key, found {}", shown(c));
                Err(self.stop(self.pos, message, unexpected_hint(c)))
            }
            None => Err(self.never_closed(open)),
        }
    }

    fn bare_key(&mut self) -> Step<String> {
        let start = self.pos;
        let rest = after(self.text, start);
        let length = rest
            .find(|c| !(scan::continues_identifier(c) || matches!(c, '-' | '.' | '\\')))
            .unwrap_or(rest.len());
        let written = before(rest, length);
        self.pos += length;
        let key = literal::unescape_identifier(written);
        match key {
            Some(key)
                if key.starts_with(scan::starts_identifier)
                    && key.chars().all(scan::continues_identifier) =>
            {
                Ok(key)
            }
            _ => {
                self.problem(
                    start,
                    "this key needs quotes",
                    Some(
                        "without quotes, only letters, digits, `_` and `$` are allowed, and no \
                        digit first",
                    ),
                );
                Ok(written.to_owned())
            }
        }
    }

    fn string(&mut self) -> Step<String> {
        let start = self.pos;
        let (text, end) = match literal::string(self.text, start) {
            Ok(read) => read,
            Err(LiteralError { at, message, hint }) => return Err(self.stop(at, message, hint)),
        };
        self.pos = end;
        Ok(text)
    }

    fn number(&mut self) -> NodeKind {
        let start = self.pos;
        let rest = after(self.text, start);
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')))
            .unwrap_or(rest.len());
        self.pos += length;
        match literal::number(before(rest, length), start) {
            Ok(number) => NodeKind::Number(number),
            Err(LiteralError { at, message, hint }) => {
                self.problem(at, message, hint);
                self.skip_bare_text();
                NodeKind::Null
            }
        }
    }

    fn word(&mut self) -> NodeKind {
        let start = self.pos;
        let rest = after(self.text, start);
        let length = rest
            .find(|c| !scan::continues_identifier(c))
            .unwrap_or(rest.len());
        self.pos += length;
        let (message, hint) = match before(rest, length) {
            "true" => return NodeKind::Bool(true),
            "false" => return NodeKind::Bool(false),
            "null" => return NodeKind::Null,
            word @ ("Infinity" | "NaN") => (
                format!("`{word}` cannot be used in the config"),
                "write a number, or leave the key out",
            ),
            "undefined" | "None" | "nil" | "Null" | "NULL" => (
                "this is not a value".to_owned(),
                "write `null`, or leave the key out",
            ),
            "True" | "TRUE" | "yes" | "on" => ("this is not a value".to_owned(), "write `true`"),
            "False" | "FALSE" | "no" | "off" => ("this is not a value".to_owned(), "write `false`"),
            _ => (
                "text without quotes is not a value".to_owned(),
                "put quotes around it",
            ),
        };
        self.problem(start, message, Some(hint));
        self.skip_bare_text();
        NodeKind::Null
    }

    /// Goes on after something that is no value, at what can only be the next piece.
    fn skip_bare_text(&mut self) {
        let rest = after(self.text, self.pos);
        self.pos += rest
            .find(|c| matches!(c, ',' | '}' | ']') || scan::ends_line(c))
            .unwrap_or(rest.len());
    }

    fn stray_comma(&mut self, expected: &str) {
        self.problem(
            self.pos,
            format!("expected {expected}, found `,`"),
            Some("one comma too many"),
        );
        self.pos += 1;
    }

    fn drop_duplicates(&mut self, members: &mut Vec<NodeMember>) {
        let twice = duplicates(members);
        for (first, again) in &twice {
            let (Some(first), Some(again)) = (members.get(*first), members.get(*again)) else {
                continue;
            };
            let message = format!(
                "duplicate key `{}`: it is on line {} and line {}; the last one is used",
                again.key,
                self.line_of(first.key_at.start as usize),
                self.line_of(again.key_at.start as usize),
            );
            if self.has_room_for(Severity::Warning) {
                self.problems.push(SyntaxProblem {
                    severity: Severity::Warning,
                    at: again.key_at.start as usize,
                    message,
                    hint: Some("remove one of the two".to_owned()),
                });
            }
        }
        let mut dropped: Vec<usize> = twice.into_iter().map(|(first, _)| first).collect();
        dropped.sort_unstable();
        for index in dropped.into_iter().rev() {
            members.remove(index);
        }
    }

    fn trivia(&mut self) -> Step<()> {
        loop {
            match scan::trivia_at(self.text, self.pos) {
                Ok(Some(trivia)) => self.pos = trivia.end,
                Ok(None) => return Ok(()),
                Err(UnclosedComment(at)) => {
                    return Err(self.stop(
                        at,
                        "the comment that starts here never ends",
                        Some("close it with `*/`"),
                    ));
                }
            }
        }
    }

    fn never_closed(&mut self, open: usize) -> Stop {
        let bracket = self.char_at(open);
        let what = if bracket == '{' { "object" } else { "list" };
        let message =
            format!("the {what} that this `{bracket}` opens never ends: the file stops first");
        let close = closing(bracket);
        self.stop(
            open,
            message,
            Some(&format!("a `{close}` is missing, or the file was cut off")),
        )
    }

    fn stop(&mut self, at: usize, message: impl Into<String>, hint: Option<&str>) -> Stop {
        self.problem(at, message, hint);
        Stop
    }

    /// Notes an error, unless the line already has one: the second is mostly an echo.
    fn problem(&mut self, at: usize, message: impl Into<String>, hint: Option<&str>) {
        let echo = self.problems.iter().any(|earlier| {
            let (low, high) = (earlier.at.min(at), earlier.at.max(at));
            earlier.severity == Severity::Error && !between(self.text, low, high).contains('\n')
        });
        if !echo && self.has_room_for(Severity::Error) {
            self.problems.push(SyntaxProblem {
                severity: Severity::Error,
                at,
                message: message.into(),
                hint: hint.map(str::to_owned),
            });
        }
    }

    /// Counted apart, so that many warnings cannot crowd out an error.
    fn has_room_for(&self, severity: Severity) -> bool {
        let known = self
            .problems
            .iter()
            .filter(|problem| problem.severity == severity);
        known.count() < MAX_PROBLEMS
    }

    fn peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.pos) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.char_here(),
            None => None,
        }
    }

    fn char_here(&self) -> Option<char> {
        after(self.text, self.pos).chars().next()
    }

    fn char_at(&self, at: usize) -> char {
        self.text
            .as_bytes()
            .get(at)
            .map_or(' ', |byte| char::from(*byte))
    }

    fn at(&self, start: usize, end: usize) -> NodeSpan {
        let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        NodeSpan {
            file: self.file,
            start: narrow(start),
            end: narrow(end),
        }
    }

    fn line_of(&self, at: usize) -> usize {
        1 + before(self.text, at).matches('\n').count()
    }
}
