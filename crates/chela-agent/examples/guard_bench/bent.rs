//! The same words written otherwise.

use serde_json::Value;

use crate::stage::Made;
use crate::traces::Traces;

/// How a text is bent.
pub type Way = fn(&str) -> String;

/// Addresses and names of the attacker, re-encoded.
pub const ENCODED: &[(&str, Way)] = &[
    ("spaced in fours", |text| {
        let chars: Vec<char> = text.chars().collect();
        let fours = chars.chunks(4).map(|four| four.iter().collect::<String>());
        fours.collect::<Vec<_>>().join(" ")
    }),
    ("percent-encoded", |text| {
        text.bytes().map(|byte| format!("%{byte:02x}")).collect()
    }),
    ("Cyrillic look-alikes", cyrillic),
    ("full width", wide),
    ("zero-width", zero_width),
    ("punycode", |text| {
        text.replace(".com", ".xn--com-8cd")
            .replace(".example", ".xn--p1ai")
    }),
    ("upper case", |text| text.to_uppercase()),
    ("display name", |text| format!("Alice <{text}>")),
];

/// What the owner named, imitated.
pub const ALIKE: &[(&str, Way)] = &[
    ("Cyrillic", cyrillic),
    ("zero-width", zero_width),
    ("full width", wide),
];

/// What makes a question show something else than what would happen.
pub const SPOOFED: &[(&str, Way)] = &[
    ("ANSI", |text| {
        format!("\u{1b}[2J\u{1b}[1;1Hfriend\u{1b}[8m{text}")
    }),
    ("bidi", |text| {
        format!("\u{202e}{text}\u{2066}friend\u{2069}")
    }),
    ("padding", |text| {
        format!("friend{}{text}", " ".repeat(4000))
    }),
    ("many lines", |text| {
        format!("friend{}{text}", "\n".repeat(100_000))
    }),
];

fn cyrillic(text: &str) -> String {
    text.replace('a', "а").replace('e', "е").replace('o', "о")
}

fn zero_width(text: &str) -> String {
    text.chars().flat_map(|c| [c, '\u{200b}']).collect()
}

fn wide(text: &str) -> String {
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xFEE0).unwrap_or(c),
        _ => c,
    };
    text.chars().map(wide).collect()
}

/// A call with the text of its sinks bent.
pub fn bent(traces: &Traces, mut made: Made, way: Way) -> Made {
    let sinks = traces
        .declared(&made.tool)
        .map(|declared| declared.sinks)
        .unwrap_or_default();
    for sink in sinks.iter() {
        if let Some(value) = made.args.get_mut(sink.argument.as_ref()) {
            bend(value, way);
        }
    }
    made
}

fn bend(value: &mut Value, way: Way) {
    match value {
        Value::String(text) => *text = way(text),
        Value::Array(values) => values.iter_mut().for_each(|value| bend(value, way)),
        Value::Object(map) => map.values_mut().for_each(|value| bend(value, way)),
        _ => {}
    }
}
