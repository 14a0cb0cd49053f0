//! How the elements of an object or a list lie in the text.

use super::super::scan::{TriviaKind, ends_line, trivia_at};
use crate::node::{ConfigNode, NodeKind};
use crate::span::{after, before, between, blank_length};

/// An object or a list in the text.
#[derive(Debug)]
pub struct ContainerLayout {
    /// The opening bracket.
    pub open: usize,
    /// The closing bracket.
    pub close: usize,
    pub elements: Vec<ElementSpan>,
}

/// A member or an item, without the comma after it.
#[derive(Debug, Clone, Copy)]
pub struct ElementSpan {
    pub start: usize,
    pub end: usize,
    pub comma: Option<usize>,
}

impl ContainerLayout {
    pub fn of(text: &str, node: &ConfigNode) -> Self {
        let spans: Vec<(u32, u32)> = match &node.kind {
            NodeKind::Object(members) => members
                .iter()
                .map(|member| (member.key_at.start, member.value.at.end))
                .collect(),
            NodeKind::Array(items) => items
                .iter()
                .map(|item| (item.at.start, item.at.end))
                .collect(),
            _ => Vec::new(),
        };
        let elements = spans
            .into_iter()
            .map(|(start, end)| {
                let (start, end) = (start as usize, end as usize);
                ElementSpan {
                    start,
                    end,
                    comma: comma_after(text, end),
                }
            })
            .collect();
        Self {
            open: node.at.start as usize,
            close: (node.at.end as usize).saturating_sub(1),
            elements,
        }
    }

    pub fn inside<'t>(&self, text: &'t str) -> &'t str {
        between(text, self.open + 1, self.close)
    }

    pub fn has_trailing_comma(&self) -> bool {
        self.elements
            .last()
            .is_some_and(|element| element.comma.is_some())
    }
}

fn comma_after(text: &str, end: usize) -> Option<usize> {
    let mut pos = end;
    while let Ok(Some(trivia)) = trivia_at(text, pos) {
        pos = trivia.end;
    }
    (text.as_bytes().get(pos) == Some(&b',')).then_some(pos)
}

/// The comments that stand behind an element on its line, and where they end.
#[derive(Debug)]
pub struct LineTail {
    pub comments: Vec<(usize, usize)>,
    pub end: usize,
}

/// Collects the comments from `from` to the end of the line. A comment that another element
/// follows belongs to that one.
pub fn tail(text: &str, from: usize) -> LineTail {
    let mut found = LineTail {
        comments: Vec::new(),
        end: from,
    };
    let mut pending = Vec::new();
    let mut pos = from;
    let mut commas = 0;
    loop {
        match trivia_at(text, pos) {
            Ok(Some(trivia)) if trivia.kind == TriviaKind::Newline => break,
            Ok(Some(trivia)) => {
                if trivia.is_comment() {
                    pending.push((trivia.start, trivia.end));
                }
                pos = trivia.end;
            }
            _ if text.as_bytes().get(pos) == Some(&b',') && commas == 0 => {
                commas += 1;
                found.comments.append(&mut pending);
                pos += 1;
            }
            _ if matches!(text.as_bytes().get(pos), Some(b'}' | b']') | None) => break,
            _ => {
                pending.clear();
                break;
            }
        }
    }
    found.comments.append(&mut pending);
    found.end = found
        .comments
        .last()
        .map_or(from, |(_, end)| (*end).max(from));
    found
}

/// Where the line of `pos` starts.
pub fn line_start(text: &str, pos: usize) -> usize {
    let earlier = before(text, pos);
    match earlier.char_indices().rfind(|(_, c)| ends_line(*c)) {
        Some((at, c)) => at + c.len_utf8(),
        None => earlier.len() - earlier.trim_start_matches('\u{feff}').len(),
    }
}

/// The white space at the start of the line of `pos`.
pub fn indent_of(text: &str, pos: usize) -> &str {
    let line = after(text, line_start(text, pos));
    before(line, blank_length(line))
}

/// Whether only white space stands before `pos` on its line.
pub fn is_first_on_line(text: &str, pos: usize) -> bool {
    between(text, line_start(text, pos), pos)
        .trim_start_matches([' ', '\t'])
        .is_empty()
}

/// How many characters the line of `pos` has.
pub fn line_width(text: &str, pos: usize) -> usize {
    let line = after(text, line_start(text, pos));
    line.chars().take_while(|c| !ends_line(*c)).count()
}

/// Whether a node is written on one line.
pub fn is_one_line(text: &str, node: &ConfigNode) -> bool {
    !between(text, node.at.start as usize, node.at.end as usize).contains(ends_line)
}
