//! The plain subset of YAML that most heads are written in, read at a tenth of the price.
//!
//! It answers only when full YAML would give the same answer, and steps aside otherwise; a
//! property test holds it to that.

use serde_json::{Map, Value};

/// Deeper heads go to the full parser.
const MAX_DEPTH: usize = 8;

pub(super) fn read(head: &str) -> Option<Map<String, Value>> {
    if head.contains(['\t', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) {
        return None;
    }
    let lines = Line::all(head)?;
    let mut reader = Reader {
        lines: &lines,
        at: 0,
    };
    let map = reader.map(0, 0)?;
    (reader.at == lines.len() && !map.is_empty()).then_some(map)
}

#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// The lines that say something; `None` when one holds a control character.
    fn all(head: &'a str) -> Option<Vec<Self>> {
        let mut lines = Vec::with_capacity(16);
        for line in head.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
                return None;
            }
            let text = line.trim_start_matches(' ');
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            lines.push(Self {
                indent: line.len() - text.len(),
                text: text.trim_end_matches(' '),
            });
        }
        Some(lines)
    }
}

struct Reader<'a> {
    lines: &'a [Line<'a>],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    fn map(&mut self, indent: usize, depth: usize) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        while let Some(line) = self.peek().filter(|line| line.indent >= indent) {
            if line.indent != indent || depth > MAX_DEPTH {
                return None;
            }
            let (key, rest) = line.text.split_once(':')?;
            if !is_key(key) {
                return None;
            }
            self.at += 1;
            let value = if rest.is_empty() {
                self.block(indent, depth)?
            } else {
                let value = inline(rest.strip_prefix(' ')?.trim_start_matches(' '))?;
                // Deeper lines would go on with this value.
                if self.peek().is_some_and(|next| next.indent > indent) {
                    return None;
                }
                value
            };
            if map.insert(key.to_owned(), value).is_some() {
                return None;
            }
        }
        Some(map)
    }

    /// What stands below a `key:` with nothing after it.
    fn block(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let Some(next) = self.peek() else {
            return Some(Value::Null);
        };
        if next.text.starts_with("- ") && next.indent >= indent {
            return self.list(next.indent, indent);
        }
        if next.indent > indent {
            return self.map(next.indent, depth + 1).map(Value::Object);
        }
        Some(Value::Null)
    }

    fn list(&mut self, indent: usize, parent: usize) -> Option<Value> {
        let mut items = Vec::new();
        while let Some(line) = self.peek() {
            let Some(item) = line
                .text
                .strip_prefix("- ")
                .filter(|_| line.indent == indent)
            else {
                // The list ends where its parent's map goes on, and nowhere else.
                return (line.indent <= parent && line.text != "-").then_some(Value::Array(items));
            };
            items.push(inline(item.trim_start_matches(' '))?);
            self.at += 1;
        }
        Some(Value::Array(items))
    }
}

fn is_key(key: &str) -> bool {
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    key.bytes().next().is_some_and(|c| c.is_ascii_alphabetic()) && key.bytes().all(word)
}

/// A value that is complete on its line.
fn inline(value: &str) -> Option<Value> {
    let first = value.chars().next()?;
    match first {
        '"' | '\'' => quoted(value, first).map(Value::from),
        '[' => list(value),
        '{' if !value.contains('\\') => serde_json::from_str::<Map<String, Value>>(value)
            .ok()
            .map(Value::Object),
        _ => scalar(value),
    }
}

fn quoted(value: &str, quote: char) -> Option<&str> {
    let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains([quote, '\\'])).then_some(inner)
}

fn list(value: &str) -> Option<Value> {
    let inner = value
        .strip_prefix('[')?
        .strip_suffix(']')?
        .trim_matches(' ');
    if inner.is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    let item = |item: &str| {
        let item = item.trim_matches(' ');
        let first = item.chars().next()?;
        if item.contains(['[', ']', '{', '}', ':', '#']) {
            return None;
        }
        match first {
            '"' | '\'' => quoted(item, first).map(Value::from),
            _ => scalar(item),
        }
    };
    inner
        .split(',')
        .map(item)
        .collect::<Option<Vec<_>>>()
        .map(Value::Array)
}

/// Text without quotes, when there is no doubt that it is text.
fn scalar(value: &str) -> Option<Value> {
    match value {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        _ => {}
    }
    let first = value.chars().next()?;
    let starts_as_text = first.is_alphabetic() && !looks_like_a_keyword(value);
    let breaks = value.contains(": ") || value.ends_with(':') || value.contains(" #");
    (starts_as_text && !breaks).then(|| Value::from(value))
}

/// Words to which some YAML gives a meaning: booleans, nothing, numbers that are none.
fn looks_like_a_keyword(value: &str) -> bool {
    const WORDS: [&str; 10] = [
        "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan",
    ];
    value.len() <= 5 && WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.eq_ignore_ascii_case("inf")
        || value.eq_ignore_ascii_case("infinity")
}
