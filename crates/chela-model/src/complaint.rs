//! What an endpoint says when it does not answer, in whatever form.

mod judge;
mod retry_after;

use std::time::Duration;

use serde_json::Value;

pub use judge::judge;
pub use retry_after::retry_after;

/// What an endpoint complained about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointComplaint {
    /// Its own word for the kind: `overloaded_error`, `RESOURCE_EXHAUSTED`.
    pub kind: String,
    /// Its own code: `context_length_exceeded`, `429`.
    pub code: String,
    pub message: String,
    /// How long it asks to wait, where the body says so.
    pub wait: Option<Duration>,
}

/// Longer messages help nobody.
const MOST_CHARS: usize = 400;

impl EndpointComplaint {
    /// From the `error` of a body or of a stream: an object, or just a text.
    pub fn of_error(error: &Value) -> Self {
        if let Some(text) = error.as_str() {
            return Self {
                message: short(text),
                ..Self::default()
            };
        }
        let word = |field: &str| match &error[field] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let (inner, router) = (&error["error"], &error["metadata"]);
        let message = ["message", "detail", "error", "msg"]
            .iter()
            .find_map(|field| error[*field].as_str())
            .or_else(|| inner["message"].as_str())
            .unwrap_or_default();
        // A router puts the words of the endpoint behind it here.
        let behind = match &router["raw"] {
            Value::String(raw) if !raw.is_empty() => Self::of_body(raw).message,
            _ => String::new(),
        };
        let message = match (message.is_empty(), behind.is_empty()) {
            (_, true) => message.to_owned(),
            (true, false) => behind,
            (false, false) => format!("{message}: {behind}"),
        };
        let kind = word("type");
        Self {
            kind: if kind.is_empty() {
                word("status")
            } else {
                kind
            },
            code: word("code"),
            message: short(&message),
            wait: wait(error),
        }
    }

    /// From the body of a failed request.
    pub fn of_body(body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            return Self {
                message: plain(body),
                ..Self::default()
            };
        };
        let value = match &value {
            Value::Array(items) => items.first().cloned().unwrap_or_default(),
            _ => value,
        };
        match value.get("error") {
            Some(error) if !error.is_null() => Self::of_error(error),
            _ => Self::of_error(&value),
        }
    }

    /// Everything it said, in small letters, to look for words in.
    pub fn words(&self) -> String {
        format!("{} {} {}", self.kind, self.code, self.message).to_ascii_lowercase()
    }

    /// What to show of it: the message, or else the kind.
    pub fn shown(&self) -> String {
        match (self.message.is_empty(), self.kind.is_empty()) {
            (false, _) => self.message.clone(),
            (true, false) => self.kind.clone(),
            (true, true) => self.code.clone(),
        }
    }
}

/// Google writes `details: [{retryDelay: "34s"}]`.
fn wait(error: &Value) -> Option<Duration> {
    let details = error["details"].as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = delay.trim_end_matches('s').parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A body that is no JSON: the title of a page, or the text itself.
fn plain(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let title = || {
        let start = lower.find("<title>")? + "<title>".len();
        let length = lower.get(start..)?.find("</title>")?;
        body.get(start..start + length)
    };
    if let Some(title) = title() {
        return short(title);
    }
    if lower.trim_start().starts_with('<') {
        return "a web page".to_owned();
    }
    short(body)
}

/// One line of bounded length without control characters.
fn short(text: &str) -> String {
    let clean: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    if clean.chars().count() <= MOST_CHARS {
        return clean;
    }
    let mut cut: String = clean.chars().take(MOST_CHARS).collect();
    cut.push('…');
    cut
}
