//! The small template language of `text/*.md`.
//!
//! `{{name}}` stands for a value; a line that begins with `{{if …}}` is kept only when its
//! condition holds; a line that begins with `<!--` is a note to the editor. That is all of it.
//! Names are looked up once, when a file is taken apart; what they mean is in [`crate::names`].

use std::borrow::Cow;

use crate::names::{self, NameFlags, WriteValue};
use crate::out::PromptWriter;
use crate::view::InputView;

/// A text file, taken apart.
#[derive(Debug)]
pub(crate) struct PromptTemplate {
    lines: Vec<Line>,
    /// Every name its conditions speak of.
    conditions: NameFlags,
    /// Names that mean nothing. A test makes sure that there are none.
    #[cfg_attr(not(test), expect(dead_code, reason = "only a test asks"))]
    pub(crate) unknown: Vec<&'static str>,
}

#[derive(Debug)]
struct Line {
    condition: Condition,
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug)]
enum Condition {
    Always,
    AnyOf(Vec<AllOf>),
}

#[derive(Debug, Default)]
struct AllOf {
    holding: NameFlags,
    not_holding: NameFlags,
}

#[derive(Debug)]
enum TemplatePiece {
    Text(Cow<'static, str>),
    Value(WriteValue),
}

impl PromptTemplate {
    pub(crate) fn parse(source: &'static str) -> Self {
        let mut unknown = Vec::new();
        let mut lines: Vec<Line> = Vec::new();
        for line in source
            .trim_end()
            .lines()
            .filter(|line| !line.starts_with("<!--"))
        {
            let (condition, rest) = condition(line.trim_end(), &mut unknown);
            let mut line = Line {
                condition,
                pieces: pieces(rest, &mut unknown),
            };
            // Lines that are always there, and always the same, are written in one go.
            match (lines.last_mut().and_then(Line::fixed), line.fixed()) {
                (Some(before), Some(text)) => {
                    let before = before.to_mut();
                    before.push('\n');
                    before.push_str(text);
                }
                _ => lines.push(line),
            }
        }
        let conditions = lines
            .iter()
            .fold(0, |all, line| all | line.condition.names());
        Self {
            lines,
            conditions,
            unknown,
        }
    }

    /// Writes its lines one under the other, blank lines only between others. A line that is
    /// nothing but values, all of them empty, is left out.
    pub(crate) fn write(&self, view: &InputView<'_>, out: &mut PromptWriter) {
        let mut between = "";
        for pieces in self.lines(names::holding(view, self.conditions)) {
            if pieces.is_empty() {
                between = if between.is_empty() { "" } else { "\n\n" };
                continue;
            }
            let before = out.len();
            out.push(between);
            let start = out.len();
            for piece in pieces {
                match piece {
                    TemplatePiece::Text(text) => out.push(text),
                    TemplatePiece::Value(write) => write(view, out),
                }
            }
            if out.len() == start {
                out.truncate(before);
                continue;
            }
            if let Some(TemplatePiece::Value(_)) = pieces.last() {
                out.trim_line_end();
            }
            between = "\n";
        }
    }

    /// The pieces of the lines whose condition holds, line by line.
    fn lines(&self, flags: NameFlags) -> impl Iterator<Item = &[TemplatePiece]> {
        self.lines
            .iter()
            .filter(move |line| line.condition.holds(flags))
            .map(|line| line.pieces.as_slice())
    }
}

impl Line {
    /// The text of a line that depends on nothing.
    fn fixed(&mut self) -> Option<&mut Cow<'static, str>> {
        match self.pieces.as_mut_slice() {
            [TemplatePiece::Text(text)] if self.condition.is_always() => Some(text),
            _ => None,
        }
    }
}

impl Condition {
    fn is_always(&self) -> bool {
        matches!(self, Self::Always)
    }

    fn names(&self) -> NameFlags {
        match self {
            Self::Always => 0,
            Self::AnyOf(any) => any
                .iter()
                .fold(0, |names, all| names | all.holding | all.not_holding),
        }
    }

    fn holds(&self, flags: NameFlags) -> bool {
        match self {
            Self::Always => true,
            Self::AnyOf(any) => any
                .iter()
                .any(|all| flags & all.holding == all.holding && flags & all.not_holding == 0),
        }
    }
}

/// `{{if a and not b or c}}text` holds when `a` does and `b` does not, or when `c` does.
fn condition(line: &'static str, unknown: &mut Vec<&'static str>) -> (Condition, &'static str) {
    let Some((wanted, rest)) = line
        .strip_prefix("{{if ")
        .and_then(|after| after.split_once("}}"))
    else {
        return (Condition::Always, line);
    };
    let mut any = Vec::new();
    for names in wanted.split(" or ") {
        let mut all = AllOf::default();
        let mut known = true;
        for name in names.split(" and ") {
            let name = name.trim();
            let (side, name) = match name.strip_prefix("not ") {
                Some(name) => (&mut all.not_holding, name.trim()),
                None => (&mut all.holding, name),
            };
            match names::flag(name) {
                Some(flag) => *side |= flag,
                None => {
                    unknown.push(name);
                    known = false;
                }
            }
        }
        if known {
            any.push(all);
        }
    }
    (Condition::AnyOf(any), rest)
}

fn pieces(mut rest: &'static str, unknown: &mut Vec<&'static str>) -> Vec<TemplatePiece> {
    let mut pieces = Vec::new();
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, next)) = after.split_once("}}") else {
            break;
        };
        if !before.is_empty() {
            pieces.push(TemplatePiece::Text(Cow::Borrowed(before)));
        }
        match names::value_of(name.trim()) {
            Some(write) => pieces.push(TemplatePiece::Value(write)),
            None => unknown.push(name),
        }
        rest = next;
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Text(Cow::Borrowed(rest)));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{PromptTemplate, TemplatePiece};
    use crate::names::flag;

    fn kept(source: &'static str, holding: &[&str]) -> Vec<String> {
        let flags = holding
            .iter()
            .map(|name| flag(name).unwrap())
            .fold(0, |all, flag| all | flag);
        let template = PromptTemplate::parse(source);
        let shown = template.lines(flags).map(|pieces| {
            let shown = pieces.iter().map(|piece| match piece {
                TemplatePiece::Text(text) => text,
                TemplatePiece::Value(_) => "<>",
            });
            shown.collect()
        });
        shown.collect()
    }

    #[test]
    fn keeps_lines_by_their_condition() {
        let source = "<!-- a note -->\nalways {{owners}}\n\
                      {{if channel and not tool.exec or tool.cron}}some\n\nlast {{tools}}{{files}}";
        assert_eq!(
            kept(source, &["channel"]),
            ["always <>", "some", "", "last <><>"]
        );
        assert_eq!(
            kept(source, &["channel", "tool.exec"]),
            ["always <>", "", "last <><>"]
        );
        assert_eq!(kept(source, &["tool.exec", "tool.cron"])[1], "some");
    }

    #[test]
    fn unknown_names_are_noticed_and_never_hold() {
        let template = PromptTemplate::parse("{{if chanel}}a\n{{if not chanel}}b\n{{toolz}}c");
        assert_eq!(template.unknown, ["chanel", "chanel", "toolz"]);
        assert_eq!(template.lines(0).count(), 1);
    }

    #[test]
    fn braces_that_do_not_close_are_text() {
        assert_eq!(kept("a {{b", &[]), ["a {{b"]);
    }
}
