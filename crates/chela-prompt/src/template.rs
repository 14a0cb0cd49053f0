//! The small template language of `text/*.md`.
//!
//! `{{name}}` stands for a value; a line that begins with `{{if …}}` is kept only when its
//! condition holds; a line that begins with `<!--` is a note to the editor. That is all of it.

use crate::out::Out;

/// What the names in a text file stand for.
pub(crate) trait Values {
    /// Whether a condition holds; `None` for a name that is not known.
    fn flag(&self, name: &str) -> Option<bool>;

    /// Writes the value of a name; `false` for one that is not known.
    fn write(&self, name: &str, out: &mut Out) -> bool;
}

/// A text file, taken apart once.
#[derive(Debug)]
pub(crate) struct Template {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    /// Any of these must hold; none at all means always.
    any_of: Vec<AllOf>,
    pieces: Vec<Piece>,
}

/// Names that must hold, or must not.
type AllOf = Vec<(Wanted, &'static str)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Holds,
    HoldsNot,
}

#[derive(Debug)]
pub(crate) enum Piece {
    Text(&'static str),
    Slot(&'static str),
}

impl Template {
    pub(crate) fn parse(source: &'static str) -> Self {
        let lines = source
            .trim_end()
            .lines()
            .filter(|line| !line.starts_with("<!--"))
            .map(|line| {
                let (any_of, rest) = condition(line.trim_end());
                Line {
                    any_of,
                    pieces: pieces(rest),
                }
            })
            .collect();
        Self { lines }
    }

    /// The pieces of the lines whose condition holds, line by line.
    pub(crate) fn lines<'a>(
        &'a self,
        holds: impl Fn(&'static str) -> bool + 'a,
    ) -> impl Iterator<Item = &'a [Piece]> {
        let wanted = move |all: &AllOf| {
            all.iter()
                .all(|(wanted, name)| holds(name) == (*wanted == Wanted::Holds))
        };
        self.lines
            .iter()
            .filter(move |line| line.any_of.is_empty() || line.any_of.iter().any(&wanted))
            .map(|line| line.pieces.as_slice())
    }

    /// Every name used in a condition.
    #[cfg(test)]
    pub(crate) fn flags(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.lines
            .iter()
            .flat_map(|line| line.any_of.iter().flatten().map(|(_, name)| *name))
    }

    /// Every name that stands for a value.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.lines
            .iter()
            .flat_map(|line| &line.pieces)
            .filter_map(|piece| match piece {
                Piece::Slot(name) => Some(*name),
                Piece::Text(_) => None,
            })
    }
}

/// `{{if a and not b or c}}text` is `[[a, not b], [c]]` and `text`.
fn condition(line: &'static str) -> (Vec<AllOf>, &'static str) {
    let Some((wanted, rest)) = line
        .strip_prefix("{{if ")
        .and_then(|after| after.split_once("}}"))
    else {
        return (Vec::new(), line);
    };
    let any_of = wanted
        .split(" or ")
        .map(|all| {
            all.split(" and ")
                .map(|name| match name.trim().strip_prefix("not ") {
                    Some(name) => (Wanted::HoldsNot, name.trim()),
                    None => (Wanted::Holds, name.trim()),
                })
                .collect()
        })
        .collect();
    (any_of, rest)
}

fn pieces(mut rest: &'static str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, next)) = after.split_once("}}") else {
            break;
        };
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        pieces.push(Piece::Slot(name.trim()));
        rest = next;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Piece, Template};

    fn kept(source: &'static str, holding: &[&str]) -> Vec<String> {
        Template::parse(source)
            .lines(|name| holding.contains(&name))
            .map(|pieces| {
                let shown = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => (*text).to_owned(),
                    Piece::Slot(name) => format!("<{name}>"),
                });
                shown.collect()
            })
            .collect()
    }

    #[test]
    fn keeps_lines_by_their_condition() {
        let source =
            "<!-- a note -->\nalways {{x}}\n{{if a and not b or c}}some\n\nlast {{y}}{{z}}";
        assert_eq!(
            kept(source, &["a"]),
            ["always <x>", "some", "", "last <y><z>"]
        );
        assert_eq!(kept(source, &["a", "b"]), ["always <x>", "", "last <y><z>"]);
        assert_eq!(kept(source, &["a", "b", "c"])[1], "some");
    }

    #[test]
    fn braces_that_do_not_close_are_text() {
        assert_eq!(kept("a {{b", &[]), ["a {{b"]);
    }
}
