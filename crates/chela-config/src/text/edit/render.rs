//! New values as text.

use serde_json::Value;

use super::super::literal::quoted;
use super::TextSplice;
use super::container::{indent_of, is_one_line, line_width};
use super::diff::ValueReplacement;
use super::style::{TextStyle, WIDTH};
use crate::span::{after, between};

pub fn replacements(
    text: &str,
    style: &TextStyle,
    all: &[ValueReplacement<'_>],
) -> Vec<TextSplice> {
    all.iter()
        .map(|ValueReplacement { old, new, outer }| {
            let (start, end) = (old.at.start as usize, old.at.end as usize);
            let short = one_line(new, style);
            let width =
                line_width(text, start).saturating_sub(between(text, start, end).chars().count());
            let was_short = is_one_line(text, old) && after(text, start).starts_with(['{', '[']);
            let stays = was_short || outer.is_some_and(|outer| is_one_line(text, outer));
            let fits = width + short.chars().count() <= WIDTH;
            let new = match stays && fits {
                true => short,
                false => on_lines(
                    new,
                    style,
                    indent_of(text, start),
                    WIDTH.saturating_sub(width),
                ),
            };
            TextSplice {
                start,
                end,
                text: new,
            }
        })
        .collect()
}

/// A value without line breaks.
pub fn one_line(value: &Value, style: &TextStyle) -> String {
    let comma = format!(",{}", style.space);
    match value {
        Value::String(text) => quoted(text, style.quote),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| one_line(item, style)).collect();
            format!("[{}]", items.join(&comma))
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let members: Vec<_> = map
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{}:{}{}",
                        style.key("", key, &[]),
                        style.space,
                        one_line(value, style)
                    )
                })
                .collect();
            format!("{{{}{}{}}}", style.pad, members.join(&comma), style.pad)
        }
        scalar => scalar.to_string(),
    }
}

/// A value with its members on lines of their own. Lists of plain values stay on one line while
/// they fit into `room`.
pub fn on_lines(value: &Value, style: &TextStyle, indent: &str, room: usize) -> String {
    let inner = format!("{indent}{}", style.indent);
    let inner_room = WIDTH.saturating_sub(inner.chars().count());
    let (open, close, lines): (_, _, Vec<String>) = match value {
        Value::Array(items) if !items.is_empty() => {
            let short = one_line(value, style);
            if items.iter().all(is_plain) && short.chars().count() <= room {
                return short;
            }
            (
                '[',
                ']',
                items
                    .iter()
                    .map(|item| on_lines(item, style, &inner, inner_room))
                    .collect(),
            )
        }
        Value::Object(map) if !map.is_empty() => {
            let members = map.iter().map(|(key, value)| {
                let key = style.key("", key, &[]);
                let room = inner_room.saturating_sub(key.chars().count() + 3);
                format!(
                    "{key}:{}{}",
                    style.space,
                    on_lines(value, style, &inner, room)
                )
            });
            ('{', '}', members.collect())
        }
        flat => return one_line(flat, style),
    };
    let newline = style.newline;
    let last = if style.trailing_comma { "," } else { "" };
    let lines = lines.join(&format!(",{newline}{inner}"));
    format!("{open}{newline}{inner}{lines}{last}{newline}{indent}{close}")
}

pub fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}
