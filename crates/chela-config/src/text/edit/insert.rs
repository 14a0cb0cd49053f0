//! Adding elements at the end of an object or a list.

use serde_json::Value;

use super::TextSplice;
use super::container::{
    ContainerLayout, ElementSpan, indent_of, is_first_on_line, is_one_line, line_width, tail,
};
use super::diff::ElementInsertion;
use super::render::{is_plain, on_lines, one_line};
use super::style::{TextStyle, WIDTH};
use crate::node::ConfigNode;
use crate::span::{after, between, blank_length};
use crate::text::scan::{ends_line, trivia_at};

pub fn insertions(text: &str, style: &TextStyle, all: &[ElementInsertion<'_>]) -> Vec<TextSplice> {
    all.iter()
        .flat_map(|insertion| Insert::new(text, style, insertion).splices())
        .collect()
}

struct Insert<'a> {
    text: &'a str,
    style: &'a TextStyle,
    node: &'a ConfigNode,
    outer: Option<&'a ConfigNode>,
    container: ContainerLayout,
    entries: &'a [(Option<&'a str>, &'a Value)],
}

impl<'a> Insert<'a> {
    fn new(text: &'a str, style: &'a TextStyle, insertion: &'a ElementInsertion<'a>) -> Self {
        Self {
            text,
            style,
            node: insertion.container,
            outer: insertion.outer,
            container: ContainerLayout::of(text, insertion.container),
            entries: &insertion.entries,
        }
    }

    fn splices(&self) -> Vec<TextSplice> {
        let one_line = is_one_line(self.text, self.node);
        match self.container.elements.last() {
            Some(last) if !one_line => self.after_last_line(*last),
            Some(last) => self.within_line(*last),
            None => self.fill_empty(),
        }
    }

    /// The object or list spans lines: each new element gets its own.
    fn after_last_line(&self, last: ElementSpan) -> Vec<TextSplice> {
        let hugging = !between(self.text, last.end, self.container.close).contains(ends_line);
        if hugging && !is_first_on_line(self.text, last.start) {
            return self.beside(last);
        }
        let indent = self.element_indent();
        let break_line = format!("{}{indent}", self.style.newline);
        let written = self.on_lines(&indent);
        let mut new = format!("{break_line}{}", written.join(&format!(",{break_line}")));
        if last.comma.is_some() {
            new.push(',');
        }
        self.at_end(last, new)
    }

    /// The object or list is one line, and stays one unless that makes the line too long.
    fn within_line(&self, last: ElementSpan) -> Vec<TextSplice> {
        let added: usize = self
            .on_one_line()
            .iter()
            .map(|entry| entry.chars().count() + 2)
            .sum();
        let width = line_width(self.text, self.container.open);
        if width <= WIDTH && width + added > WIDTH {
            return self.spread(last);
        }
        self.beside(last)
    }

    fn beside(&self, last: ElementSpan) -> Vec<TextSplice> {
        let space = self.style.space;
        let mut new = format!("{space}{}", self.on_one_line().join(&format!(",{space}")));
        if last.comma.is_some() {
            new.push(',');
        }
        self.at_end(last, new)
    }

    /// Puts `new` behind the last element, its comma and its comments.
    fn at_end(&self, last: ElementSpan, new: String) -> Vec<TextSplice> {
        let (from, comma) = match last.comma {
            Some(comma) => (comma + 1, None),
            None => (last.end, Some(insertion_at(last.end, ","))),
        };
        let end = tail(self.text, from).end;
        comma.into_iter().chain([insertion_at(end, new)]).collect()
    }

    /// Breaks a one-line object or list into lines, one for each element, new ones included.
    fn spread(&self, last: ElementSpan) -> Vec<TextSplice> {
        let outer = indent_of(self.text, self.container.open);
        let indent = format!("{outer}{}", self.style.indent);
        let break_line = format!("{}{indent}", self.style.newline);
        let gap = |from: usize, new: &str| TextSplice {
            start: from,
            end: from + blank_length(after(self.text, from)),
            text: new.to_owned(),
        };
        let mut splices = vec![gap(self.container.open + 1, &break_line)];
        let (_, before_last) = self.container.elements.split_last().unwrap_or((&last, &[]));
        splices.extend(
            before_last
                .iter()
                .filter_map(|element| Some(gap(element.comma? + 1, &break_line))),
        );
        let written = self.on_lines(&indent).join(&format!(",{break_line}"));
        let comma = if last.comma.is_some() || self.style.trailing_comma {
            ","
        } else {
            ""
        };
        splices.extend(self.at_end(last, format!("{break_line}{written}{comma}")));
        let inside = self.container.inside(self.text);
        let close = self.container.open + 1 + inside.trim_end_matches([' ', '\t']).len();
        splices.push(TextSplice {
            start: close,
            end: self.container.close,
            text: format!("{}{outer}", self.style.newline),
        });
        splices
    }

    fn fill_empty(&self) -> Vec<TextSplice> {
        let inside = self.container.inside(self.text);
        let short = self.on_one_line().join(&format!(",{}", self.style.space));
        let in_line = self
            .outer
            .is_some_and(|outer| is_one_line(self.text, outer));
        let plain_list = self
            .entries
            .iter()
            .all(|(key, value)| key.is_none() && is_plain(value));
        let fits = line_width(self.text, self.container.open) + short.chars().count() + 2 <= WIDTH;
        if inside.trim().is_empty() && (in_line || plain_list) && fits {
            let pad = if self.entries.iter().any(|(key, _)| key.is_some()) {
                self.style.pad
            } else {
                ""
            };
            return vec![TextSplice {
                start: self.container.open + 1,
                end: self.container.close,
                text: format!("{pad}{short}{pad}"),
            }];
        }
        let outer = indent_of(self.text, self.container.open);
        let indent = format!("{outer}{}", self.style.indent);
        let break_line = format!("{}{indent}", self.style.newline);
        let comma = if self.style.trailing_comma { "," } else { "" };
        let written = self.on_lines(&indent).join(&format!(",{break_line}"));
        let start = self.after_comments();
        let closing = format!("{}{outer}", self.style.newline);
        vec![TextSplice {
            start,
            end: self.container.close,
            text: format!("{break_line}{written}{comma}{closing}"),
        }]
    }

    /// Behind the last comment of an otherwise empty object.
    fn after_comments(&self) -> usize {
        let mut end = self.container.open + 1;
        let mut pos = end;
        while let Ok(Some(trivia)) = trivia_at(self.text, pos) {
            pos = trivia.end;
            if trivia.is_comment() {
                end = pos;
            }
        }
        end
    }

    fn element_indent(&self) -> String {
        let on_own_line = self.container.elements.iter().rev();
        let model = on_own_line
            .map(|element| element.start)
            .find(|start| is_first_on_line(self.text, *start));
        match model {
            Some(start) => indent_of(self.text, start).to_owned(),
            None => format!(
                "{}{}",
                indent_of(self.text, self.container.open),
                self.style.indent
            ),
        }
    }

    fn on_one_line(&self) -> Vec<String> {
        self.entries
            .iter()
            .map(|(key, value)| format!("{}{}", self.key(*key), one_line(value, self.style)))
            .collect()
    }

    fn on_lines(&self, indent: &str) -> Vec<String> {
        self.entries
            .iter()
            .map(|(key, value)| {
                let key = self.key(*key);
                let room = WIDTH.saturating_sub(indent.chars().count() + key.chars().count() + 1);
                format!("{key}{}", on_lines(value, self.style, indent, room))
            })
            .collect()
    }

    fn key(&self, key: Option<&str>) -> String {
        let Some(key) = key else { return String::new() };
        let key = self.style.key(self.text, key, self.node.members());
        format!("{key}:{}", self.style.space)
    }
}

fn insertion_at(at: usize, text: impl Into<String>) -> TextSplice {
    TextSplice {
        start: at,
        end: at,
        text: text.into(),
    }
}
