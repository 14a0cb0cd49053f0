//! For heads that are nearly YAML: quoting what should have been quoted, and, when that does not
//! help, taking the single lines for what they say.

use serde_json::{Map, Value};

/// The head with every unquoted value that YAML trips over put in quotes, if there is one.
pub(super) fn quote_values(head: &str) -> Option<String> {
    let lines: Vec<&str> = head.lines().collect();
    let mut quoted = String::with_capacity(head.len() + 64);
    let mut changed = false;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some(pair) = Pair::of(line).filter(|pair| trips(pair.value)) else {
            quoted.push_str(line);
            quoted.push('\n');
            continue;
        };
        let mut value = pair.value.to_owned();
        // A value that went on over indented lines goes on inside the quotes.
        while let Some(next) = lines.get(at).filter(|next| continues(next, pair.indent)) {
            value.push(' ');
            value.push_str(next.trim());
            at += 1;
        }
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        quoted.push_str(&format!(
            "{}{}: \"{escaped}\"\n",
            " ".repeat(pair.indent),
            pair.key
        ));
        changed = true;
    }
    changed.then_some(quoted)
}

/// The head by its lines: a key and what follows it, up to the next key. `None` when no line has a
/// key.
pub(super) fn read(head: &str) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    let mut open: Option<OpenKey<'_>> = None;
    for line in head.lines() {
        let line = line.trim_end();
        let describes = open.as_ref().is_some_and(|open| open.key == "description");
        match key_of(line, describes) {
            Some((key, value)) => {
                put(&mut map, open.replace(OpenKey::new(key, value)));
            }
            None => {
                if let Some(open) = &mut open {
                    open.more.push(line);
                }
            }
        }
    }
    put(&mut map, open);
    (!map.is_empty()).then_some(map)
}

/// Whether a line is neither a key nor a part of one: a sentence at the margin.
pub(super) fn is_text(line: &str) -> bool {
    line.starts_with(char::is_alphabetic) && key_of(line, false).is_none()
}

/// A key, what stands behind it, and the lines below.
struct OpenKey<'a> {
    key: &'a str,
    value: &'a str,
    more: Vec<&'a str>,
}

impl<'a> OpenKey<'a> {
    fn new(key: &'a str, value: &'a str) -> Self {
        Self {
            key,
            value,
            more: Vec::new(),
        }
    }

    fn into_value(self) -> Option<Value> {
        let marks = ["", "|", ">", "|-", ">-", "|+", ">+"];
        if !marks.contains(&self.value) {
            let more = self.more.iter().copied();
            let goes_on = more.take_while(|line| !line.trim().is_empty() && !line.starts_with('#'));
            let text = std::iter::once(unquoted(self.value))
                .chain(goes_on.map(str::trim).filter(|line| !is_mark(line)))
                .collect::<Vec<_>>()
                .join(" ");
            return match text.trim() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                text => Some(Value::from(unquoted(text))),
            };
        }
        let block = self.more.join("\n");
        if self.value.is_empty()
            && let Ok(value @ (Value::Object(_) | Value::Array(_))) = super::yaml::read(&block)
        {
            return Some(value);
        }
        let text = block.trim();
        let text = match text.starts_with(['{', '[']) {
            // For whoever reads JSON.
            true => text.to_owned(),
            false => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        (!text.is_empty()).then(|| Value::from(unquoted(&text)))
    }
}

fn put(map: &mut Map<String, Value>, open: Option<OpenKey<'_>>) {
    if let Some(open) = open {
        let key = open.key.to_owned();
        if let Some(value) = open.into_value() {
            map.entry(key).or_insert(value);
        }
    }
}

/// A key at the margin. Inside a description that goes on over lines, a word with a capital and a
/// colon is a part of it.
fn key_of(line: &str, describes: bool) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let first = key.chars().next()?;
    let is_key = first.is_ascii_alphabetic() && key.chars().all(word);
    let apart = value.is_empty() || value.starts_with([' ', '\t', '"', '\'', '[', '{']);
    let said = describes && first.is_ascii_uppercase();
    (is_key && apart && !said).then(|| (key, value.trim()))
}

/// What version control leaves behind in a file two people wrote.
fn is_mark(line: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>"]
        .iter()
        .any(|mark| line.starts_with(mark))
}

/// A text without the quotes around it, or without one that is never closed.
fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            return rest.strip_suffix(quote).unwrap_or(rest);
        }
    }
    text
}

struct Pair<'a> {
    indent: usize,
    key: &'a str,
    value: &'a str,
}

impl<'a> Pair<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let content = line.trim_start_matches(' ');
        let (key, value) = content.split_once(':')?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_key = !key.is_empty() && key.chars().all(word);
        let value = value.strip_prefix(' ')?.trim();
        is_key.then_some(Self {
            indent: line.len() - content.len(),
            key,
            value,
        })
    }
}

/// Whether YAML would not take this value as the one piece of text it is.
fn trips(value: &str) -> bool {
    let Some(first) = value.chars().next() else {
        return false;
    };
    let last = value.chars().next_back();
    match first {
        // A quote that is never closed is not repaired: nobody knows where it should have ended.
        '"' | '\'' => {
            let inner = value.get(1..).unwrap_or_default();
            inner.contains(first) && !closes(inner, first)
        }
        // `[a] [b]` is two lists to YAML and one hint to people.
        '[' => {
            let inner = value.get(1..value.len() - 1);
            last != Some(']') || inner.is_some_and(|inner| inner.contains(']'))
        }
        '{' => last != Some('}'),
        '|' | '>' => {
            value
                .trim_start_matches(['|', '>', '-', '+'])
                .trim_start()
                .len()
                > 1
        }
        '@' | '`' | '%' | '&' | '*' | '!' | ',' | ']' | '}' => true,
        _ => value.contains(": ") || value.ends_with(':') || value.contains(" #"),
    }
}

/// Whether a quoted value ends with its quote and holds no other.
fn closes(rest: &str, quote: char) -> bool {
    rest.strip_suffix(quote)
        .is_some_and(|inner| !inner.replace("\\\"", "").replace("''", "").contains(quote))
}

fn continues(line: &str, indent: usize) -> bool {
    let content = line.trim_start_matches(' ');
    !content.is_empty() && line.len() - content.len() > indent && !content.starts_with('#')
}
