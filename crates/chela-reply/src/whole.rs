//! Whether a whole text is nothing but a model's way of saying nothing.

use serde_json::Value;

use super::fold::{FoldedChar, seen};
use crate::Silence;
use crate::part::{head, tail};

/// The words, as letters only.
const NO_REPLY: &str = "noreply";
const HEARTBEAT_OK: &str = "heartbeatok";
/// What the words are made of.
pub const PIECES: [&str; 4] = ["no", "reply", "heartbeat", "ok"];

/// Words with which models introduce what they answer.
pub const LABELS: [&str; 14] = [
    "reply",
    "response",
    "respond",
    "answer",
    "finalanswer",
    "final",
    "assistant",
    "output",
    "message",
    "text",
    "content",
    "action",
    "result",
    "status",
];
/// A longer text that begins with a brace is no envelope around one word.
const LONGEST_ENVELOPE: usize = 600;

/// Whether a text says nothing but that there is nothing to say.
pub fn is_silence(text: &str) -> bool {
    silence(text).is_some()
}

/// The same, and which of the two words it was; the last one when both were said.
///
/// Seen through: case, width, invisible characters, quotes, brackets, markdown, code fences, HTML
/// tags, a label before it, a JSON envelope around it, repetition, and a space, a hyphen or
/// nothing in the place of the underscore.
pub fn silence(text: &str) -> Option<Silence> {
    if let Some(found) = in_envelope(text) {
        return Some(found);
    }
    let letters = letters(&without_markup(text));
    let bare = LABELS
        .iter()
        .filter_map(|label| letters.strip_prefix(label))
        .find_map(repeated);
    repeated(&letters).or(bare)
}

/// The letters and digits a person sees, in lower case.
pub fn letters(text: &str) -> String {
    text.chars()
        .filter_map(|c| match seen(c) {
            FoldedChar::Letter(letter) => Some(letter),
            _ => None,
        })
        .collect()
}

/// Whether nothing is left but pieces of the words, and markup.
pub fn is_leftover(text: &str) -> bool {
    let letters = letters(&without_markup(text));
    let mut rest = letters.as_str();
    while let Some(tail) = PIECES.iter().find_map(|piece| rest.strip_prefix(piece)) {
        rest = tail;
    }
    rest.is_empty()
}

/// One word or both, over and over, and nothing else.
fn repeated(letters: &str) -> Option<Silence> {
    let mut rest = letters;
    let mut found = None;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix(NO_REPLY) {
            found = Some(Silence::NoReply);
            rest = tail;
        } else {
            rest = rest.strip_prefix(HEARTBEAT_OK)?;
            found = Some(Silence::HeartbeatOk);
        }
    }
    found
}

/// Text without HTML tags and without the language of code fences.
pub fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let trimmed = line.trim_start();
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let info = trimmed.trim_start_matches(['`', '~']);
        if fence && info.len() < 20 && !info.contains(|c: char| c.is_whitespace()) {
            // A fence may hold the word itself: ```NO_REPLY```.
            if repeated(&letters(info)).is_none() {
                continue;
            }
        }
        let mut rest = line;
        while let Some(open) = rest.find('<') {
            out.push_str(head(rest, open));
            let tagged = tail(rest, open);
            let close = tagged.find('>').filter(|close| *close <= 80);
            match close {
                Some(close) if is_tag(tail(head(tagged, close), 1)) => {
                    rest = tail(tagged, close + 1);
                }
                _ => {
                    out.push('<');
                    rest = tail(tagged, 1);
                }
            }
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Whether what stands between angle brackets is a tag, and not the word in brackets.
fn is_tag(inner: &str) -> bool {
    let name = inner.trim_start_matches('/');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!')
        && repeated(&letters(inner)).is_none()
}

/// `{"reply": "NO_REPLY"}` and the like: an object in which one value is silence.
fn in_envelope(text: &str) -> Option<Silence> {
    let inner = without_markup(text);
    let inner = inner.trim().trim_matches('`').trim();
    if !inner.starts_with(['{', '[']) || inner.len() > LONGEST_ENVELOPE {
        return None;
    }
    let value: Value = serde_json::from_str(inner).ok()?;
    in_value(&value)
}

fn in_value(value: &Value) -> Option<Silence> {
    match value {
        Value::String(text) => repeated(&letters(text)),
        Value::Array(items) => items.iter().find_map(in_value),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, value)| in_value(value).or_else(|| repeated(&letters(name)))),
        _ => None,
    }
}
