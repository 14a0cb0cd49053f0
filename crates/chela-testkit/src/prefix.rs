//! What a prefix cache would have kept.
//!
//! A server that caches prefixes reads a request as one text - tools, system prompt, messages -
//! and has to evaluate only what comes after the part it has seen before. Anthropic's keeps only
//! what ends at a `cache_control` mark.

use serde_json::Value;

use crate::model_call::CallFormat;
use crate::script::TokenCounts;

/// Texts kept; the oldest go first.
const KEPT: usize = 256;
/// A token is about this long.
const BYTES_PER_TOKEN: usize = 4;

/// The cache of one endpoint.
#[derive(Debug, Default)]
pub struct PrefixCache {
    seen: Vec<String>,
}

impl PrefixCache {
    /// Counts a request, and remembers it.
    pub fn visit(&mut self, format: CallFormat, body: &Value) -> TokenCounts {
        let read = Rendered::of(format, body);
        let text = read.text.as_str();
        let known = self.seen.iter().map(|seen| match format {
            CallFormat::Anthropic if !text.starts_with(seen.as_str()) => 0,
            _ => common_prefix(text, seen),
        });
        let cached = known.max().unwrap_or(0);
        let written = match format {
            CallFormat::Anthropic => read
                .marks
                .last()
                .copied()
                .unwrap_or(0)
                .saturating_sub(cached),
            _ => 0,
        };
        match format {
            CallFormat::Anthropic => self
                .seen
                .extend(read.marks.iter().map(|mark| text[..*mark].to_owned())),
            _ => self.seen.push(text.to_owned()),
        }
        let surplus = self.seen.len().saturating_sub(KEPT);
        self.seen.drain(..surplus);
        TokenCounts {
            input: tokens(text.len()),
            cached: tokens(cached).min(tokens(text.len()).saturating_sub(1)),
            cache_write: tokens(written),
            ..TokenCounts::default()
        }
    }
}

/// Tokens of a request.
pub fn count(format: CallFormat, body: &Value) -> u64 {
    tokens(Rendered::of(format, body).text.len())
}

/// About how many tokens this many bytes are.
pub fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// A request as the model behind the endpoint would read it.
struct Rendered {
    text: String,
    /// Where cache marks stand, from the front.
    marks: Vec<usize>,
}

impl Rendered {
    fn of(format: CallFormat, body: &Value) -> Self {
        let mut rendered = Self {
            text: String::new(),
            marks: Vec::new(),
        };
        let (system, messages) = match format {
            CallFormat::Chat | CallFormat::Ollama => ("", "messages"),
            CallFormat::Responses => ("instructions", "input"),
            CallFormat::Anthropic => ("system", "messages"),
            CallFormat::Gemini => ("systemInstruction", "contents"),
        };
        for field in ["tools", system, messages] {
            rendered.push(&body[field]);
        }
        rendered
    }

    /// Lists one item after the other, so that an item more changes nothing before it.
    fn push(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                for item in items {
                    self.push(item);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields.iter().filter(|(name, _)| *name != "cache_control") {
                    self.text.push_str(name);
                    self.text.push(':');
                    self.push(field);
                }
                self.text.push('\n');
                if fields.contains_key("cache_control") {
                    self.marks.push(self.text.len());
                }
            }
            other => {
                self.text.push_str(&other.to_string());
                self.text.push('\n');
            }
        }
    }
}

/// Block by block, and byte by byte in the one that differs: every request of a test is compared
/// with all before it.
fn common_prefix(one: &str, other: &str) -> usize {
    const BLOCK: usize = 256;
    let blocks = one
        .as_bytes()
        .chunks(BLOCK)
        .zip(other.as_bytes().chunks(BLOCK));
    let mut same = 0;
    for (one, other) in blocks {
        if one != other {
            let bytes = one.iter().zip(other);
            return same + bytes.take_while(|(one, other)| one == other).count();
        }
        same += one.len();
    }
    same
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PrefixCache, common_prefix};
    use crate::model_call::CallFormat;

    #[test]
    fn a_prefix_ends_where_texts_differ() {
        let text = "x".repeat(1_000);
        assert_eq!(common_prefix(&text, &text), 1_000);
        assert_eq!(common_prefix(&text, &text[..700]), 700);
        for at in [0, 1, 255, 256, 257, 999] {
            let mut other = text.clone();
            other.replace_range(at..=at, "y");
            assert_eq!(common_prefix(&text, &other), at);
            assert_eq!(common_prefix(&other, &text), at);
        }
    }

    #[test]
    fn what_stays_in_front_is_cached() {
        let mut cache = PrefixCache::default();
        let system = "You are kind. ".repeat(100);
        let chat = |said: &[&str]| {
            let mut messages = vec![json!({"role": "system", "content": system})];
            messages.extend(
                said.iter()
                    .map(|text| json!({"role": "user", "content": text})),
            );
            json!({"tools": [{"name": "read"}], "messages": messages})
        };
        assert_eq!(cache.visit(CallFormat::Chat, &chat(&["one"])).cached, 0);
        let second = cache.visit(CallFormat::Chat, &chat(&["one", "two"]));
        assert!(second.input - second.cached < 12, "{second:?}");
        let other = cache.visit(CallFormat::Chat, &json!({"messages": []}));
        assert_eq!(other.cached, 0);
        let changed = json!({"tools": [{"name": "reed"}], "messages": []});
        assert!(cache.visit(CallFormat::Chat, &changed).cached < 5);
    }

    #[test]
    fn anthropic_keeps_what_is_marked() {
        let mut cache = PrefixCache::default();
        let mark = json!({"type": "ephemeral"});
        let ask = |tail: &str, marked: bool| {
            let mut block = json!({"type": "text", "text": "stable ".repeat(50)});
            if marked {
                block["cache_control"] = mark.clone();
            }
            json!({"system": [block, {"type": "text", "text": tail}], "messages": []})
        };
        cache.visit(CallFormat::Anthropic, &ask("a", false));
        let unmarked = cache.visit(CallFormat::Anthropic, &ask("a", false));
        assert_eq!((unmarked.cached, unmarked.cache_write), (0, 0));
        let first = cache.visit(CallFormat::Anthropic, &ask("b", true));
        assert!(first.cached == 0 && first.cache_write > 80, "{first:?}");
        let second = cache.visit(CallFormat::Anthropic, &ask("c", true));
        assert_eq!((second.cached, second.cache_write), (first.cache_write, 0));
    }
}
