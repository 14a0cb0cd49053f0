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

/// The top-level `key: value` lines, when the head has no other shape and at least a description.
pub(super) fn read(head: &str) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    for line in head.lines() {
        let nested = line.starts_with([' ', '\t', '-', '}', ']', '{', '[']);
        if line.trim().is_empty() || line.starts_with('#') || nested {
            continue;
        }
        let (key, value) = line.split_once(':')?;
        let key = key.trim().trim_matches(['"', '\'']);
        if key.is_empty() || key.contains(char::is_whitespace) {
            return None;
        }
        let value = value.trim();
        if let Some(value) = unquoted(value) {
            map.insert(key.to_owned(), value);
        }
    }
    map.get("description")
        .is_some_and(|text| text.is_string())
        .then_some(map)
}

/// A value as it stands on its line; `None` when it goes on elsewhere.
fn unquoted(value: &str) -> Option<Value> {
    if value.is_empty() || matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        return None;
    }
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            // An opened quote that is never closed would swallow what follows: not a line.
            return rest.strip_suffix(quote).map(Value::from);
        }
    }
    match value {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => Some(Value::from(value)),
    }
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
