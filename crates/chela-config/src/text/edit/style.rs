//! How a text is written: what new pieces should look like.

use super::super::literal::quoted;
use super::super::scan::{ends_line, is_plain_identifier};
use super::container::{ContainerLayout, indent_of, is_first_on_line, is_one_line};
use crate::node::{ConfigNode, NodeKind, NodeMember};
use crate::span::after;

/// Longer lines than this are broken up.
pub const WIDTH: usize = 100;

/// The habits of a text, as far as its first examples show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextStyle {
    pub newline: &'static str,
    pub indent: String,
    pub keys: KeyStyle,
    pub quote: char,
    /// Whether lists and objects over several lines end in a comma.
    pub trailing_comma: bool,
    /// Between the braces and the members of a one-line object.
    pub pad: &'static str,
    /// After colons and commas.
    pub space: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStyle {
    Bare,
    Quoted,
}

impl TextStyle {
    pub fn of(text: &str, root: &ConfigNode) -> Self {
        let mut seen = Seen::default();
        seen.look(text, root);
        let keys = seen.keys.unwrap_or(KeyStyle::Quoted);
        let tight = seen.tight.unwrap_or(false);
        Self {
            newline: newline_of(text),
            indent: seen.indent.unwrap_or_else(|| "  ".to_owned()),
            keys,
            quote: seen.quote.unwrap_or('"'),
            trailing_comma: seen.trailing_comma.unwrap_or(false),
            pad: if seen.padded.unwrap_or(!tight) {
                " "
            } else {
                ""
            },
            space: if tight { "" } else { " " },
        }
    }

    /// A key as text; `neighbours` are the members it will stand among.
    pub fn key(&self, text: &str, key: &str, neighbours: &[NodeMember]) -> String {
        let near = neighbours
            .iter()
            .rev()
            .find_map(|member| key_style(text, member));
        match near.unwrap_or(self.keys) {
            KeyStyle::Bare if is_plain_identifier(key) => key.to_owned(),
            KeyStyle::Bare => quoted(key, self.quote),
            KeyStyle::Quoted => {
                let quote = neighbours
                    .last()
                    .and_then(|member| quote_at(text, member.key_at.start));
                quoted(key, quote.unwrap_or(self.quote))
            }
        }
    }
}

pub fn newline_of(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// What examples have shown so far.
#[derive(Debug, Default)]
struct Seen {
    indent: Option<String>,
    keys: Option<KeyStyle>,
    quote: Option<char>,
    trailing_comma: Option<bool>,
    padded: Option<bool>,
    tight: Option<bool>,
}

impl Seen {
    fn look(&mut self, text: &str, node: &ConfigNode) {
        match &node.kind {
            NodeKind::Object(members) => {
                self.look_at_layout(
                    text,
                    node,
                    members.first().map(|member| member.key_at.start),
                );
                for member in members {
                    self.look_at_key(text, member);
                    self.look(text, &member.value);
                }
            }
            NodeKind::Array(items) => {
                self.look_at_layout(text, node, items.first().map(|item| item.at.start));
                items.iter().for_each(|item| self.look(text, item));
            }
            NodeKind::String(_) if self.quote.is_none() => {
                self.quote = quote_at(text, node.at.start)
            }
            _ => {}
        }
    }

    fn look_at_key(&mut self, text: &str, member: &NodeMember) {
        if self.keys.is_none() {
            self.keys = key_style(text, member);
        }
        if self.tight.is_none() {
            let gap = text.get(member.key_at.end as usize..member.value.at.start as usize);
            self.tight = gap.map(|gap| gap == ":");
        }
    }

    fn look_at_layout(&mut self, text: &str, node: &ConfigNode, first: Option<u32>) {
        let Some(first) = first.map(|first| first as usize) else {
            return;
        };
        let open = node.at.start as usize;
        let first_on_line = is_first_on_line(text, first);
        if self.indent.is_none() && first_on_line {
            let inner = indent_of(text, first).strip_prefix(indent_of(text, open));
            self.indent = inner.filter(|inner| !inner.is_empty()).map(str::to_owned);
        }
        if self.trailing_comma.is_none() && first_on_line {
            let container = ContainerLayout::of(text, node);
            if container.inside(text).contains(ends_line) {
                self.trailing_comma = Some(container.has_trailing_comma());
            }
        }
        let wanted = self.padded.is_none() && matches!(node.kind, NodeKind::Object(_));
        if wanted && !first_on_line && is_one_line(text, node) {
            self.padded = Some(after(text, open + 1).starts_with(' '));
        }
    }
}

/// What a key shows about the habit; one that needs its quotes shows nothing.
fn key_style(text: &str, member: &NodeMember) -> Option<KeyStyle> {
    match quote_at(text, member.key_at.start) {
        None => Some(KeyStyle::Bare),
        Some(_) => is_plain_identifier(&member.key).then_some(KeyStyle::Quoted),
    }
}

fn quote_at(text: &str, at: u32) -> Option<char> {
    match text.as_bytes().get(at as usize) {
        Some(b'"') => Some('"'),
        Some(b'\'') => Some('\''),
        _ => None,
    }
}
