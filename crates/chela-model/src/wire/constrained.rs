//! Tools for models whose template knows none: the answer is held to a JSON object that is either
//! a tool call or a reply.

use serde_json::{Value, json};

use super::schema;
use crate::{ModelRequest, SchemaProfile, ToolSchema};

const INSTRUCTIONS: &str = include_str!("../../text/constrained.md");

/// What the answer must be.
pub fn answer_schema(tools: &[ToolSchema]) -> Value {
    let reply = json!({
        "type": "object",
        "properties": {"reply": {"type": "string"}},
        "required": ["reply"],
        "additionalProperties": false,
    });
    let calls = tools.iter().map(|tool| {
        json!({
            "type": "object",
            "properties": {
                "tool": {"type": "string", "enum": [tool.name]},
                "arguments": schema::adapted(&tool.parameters, SchemaProfile::LlamaCpp),
            },
            "required": ["tool", "arguments"],
            "additionalProperties": false,
        })
    });
    let kinds: Vec<Value> = std::iter::once(reply).chain(calls).collect();
    json!({"anyOf": kinds})
}

/// The system text with the tools described in it.
pub fn system(request: &ModelRequest) -> String {
    let mut text = with_tools(&request.system.stable, &request.tools);
    text.push_str(&request.system.tail);
    text
}

/// A text with how tools are called, and which there are, behind it.
pub fn with_tools(text: &str, tools: &[ToolSchema]) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let tools: Vec<String> = tools.iter().map(line).collect();
    text.push_str(&INSTRUCTIONS.replace("{tools}", &tools.join("\n")));
    text
}

/// `- read(path: string, limit?: integer): Reads a file.`
pub fn line(tool: &ToolSchema) -> String {
    let parameters = &tool.parameters;
    let required: Vec<&str> = parameters["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let arguments: Vec<String> = parameters["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, kind)| {
            let optional = if required.contains(&name.as_str()) {
                ""
            } else {
                "?"
            };
            format!(
                "{name}{optional}: {}",
                kind["type"].as_str().unwrap_or("any")
            )
        })
        .collect();
    let first = tool.description.split_inclusive(". ").next();
    let what = first.unwrap_or_default().lines().next().unwrap_or_default();
    format!("- {}({}): {}", tool.name, arguments.join(", "), what.trim())
}

/// Reads the object while it arrives: the reply is passed on letter by letter, a call is kept
/// until it is whole.
#[derive(Debug, Default)]
pub struct ConstrainedReader {
    raw: String,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is not clear yet what comes.
    #[default]
    Start,
    /// Inside the reply; everything before this byte was passed on.
    Reply(usize),
    /// After the reply.
    Closed,
    /// The endpoint ignored the schema: this is plain text.
    Plain,
    /// An object that is no reply.
    Call,
}

/// What is left at the end.
pub struct ConstrainedEnd {
    pub text: String,
    /// Name and arguments as JSON, as they came.
    pub call: Option<(String, String)>,
}

impl ConstrainedReader {
    /// Takes more of the answer, gives what can be shown of it.
    pub fn push(&mut self, text: &str) -> String {
        self.raw.push_str(text);
        if self.state == State::Start {
            self.state = start(&self.raw);
            if self.state == State::Plain {
                return self.raw.clone();
            }
        }
        match self.state {
            State::Plain => text.to_owned(),
            State::Reply(from) => {
                let (said, next, closed) = unescape(self.raw.get(from..).unwrap_or_default());
                self.state = if closed {
                    State::Closed
                } else {
                    State::Reply(from + next)
                };
                said
            }
            State::Start | State::Closed | State::Call => String::new(),
        }
    }

    pub fn finish(self) -> ConstrainedEnd {
        let raw = self.raw.trim();
        let nothing = ConstrainedEnd {
            text: String::new(),
            call: None,
        };
        if raw.is_empty() || !matches!(self.state, State::Start | State::Call) {
            return nothing;
        }
        let json = raw.trim_start_matches("```json").trim_matches('`').trim();
        match serde_json::from_str::<Value>(json) {
            Ok(ref value) => match (value["tool"].as_str(), value["reply"].as_str()) {
                (Some(tool), _) => ConstrainedEnd {
                    call: Some((tool.to_owned(), value["arguments"].to_string())),
                    ..nothing
                },
                (None, Some(reply)) => ConstrainedEnd {
                    text: reply.to_owned(),
                    ..nothing
                },
                (None, None) => ConstrainedEnd {
                    text: raw.to_owned(),
                    ..nothing
                },
            },
            // Cut off inside a call: the name may be whole, the arguments are not.
            Err(_) => match broken_call(json) {
                Some(call) => ConstrainedEnd {
                    call: Some(call),
                    ..nothing
                },
                None => ConstrainedEnd {
                    text: raw.to_owned(),
                    ..nothing
                },
            },
        }
    }
}

/// What the first letters tell.
fn start(raw: &str) -> State {
    let text = raw.trim_start();
    let text = text.strip_prefix("```json").unwrap_or(text).trim_start();
    if text.is_empty() || "```json".starts_with(text) {
        return State::Start;
    }
    let Some(inner) = text.strip_prefix('{') else {
        return State::Plain;
    };
    let mut rest = inner.trim_start();
    for (at, expected) in ["\"reply\"", ":", "\""].into_iter().enumerate() {
        if let Some(after) = rest.strip_prefix(expected) {
            rest = if at == 2 { after } else { after.trim_start() };
        } else if expected.starts_with(rest) {
            return State::Start;
        } else {
            return State::Call;
        }
    }
    State::Reply(raw.len() - rest.len())
}

/// The letters of a JSON string as far as they are whole, how many bytes they took, and whether
/// the string ended.
fn unescape(text: &str) -> (String, usize, bool) {
    let mut said = String::new();
    let mut rest = text;
    loop {
        let stop = rest.find(['"', '\\']);
        let Some((plain, tail)) = stop.and_then(|stop| rest.split_at_checked(stop)) else {
            said.push_str(rest);
            return (said, text.len(), false);
        };
        said.push_str(plain);
        let taken = text.len() - tail.len();
        let Some(escape) = tail.strip_prefix('\\') else {
            return (said, taken + 1, true);
        };
        let mut letters = escape.chars();
        let (letter, after) = match letters.next() {
            None => return (said, taken, false),
            Some('u') => match unicode_escape(tail) {
                Some((letter, length)) => (letter, tail.get(length..).unwrap_or_default()),
                None => return (said, taken, false),
            },
            Some('n') => ('\n', letters.as_str()),
            Some('t') => ('\t', letters.as_str()),
            Some('r') => ('\r', letters.as_str()),
            Some('b') => ('\u{8}', letters.as_str()),
            Some('f') => ('\u{c}', letters.as_str()),
            Some(other) if other.is_ascii() => (other, letters.as_str()),
            // A stray backslash before a letter of more than one byte.
            Some(_) => ('\\', escape),
        };
        said.push(letter);
        rest = after;
    }
}

/// `\u00e9`, or a pair for what lies beyond; `None` while it is incomplete.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| -> Option<u32> {
        let digits = text.get(2..6)?;
        Some(u32::from_str_radix(digits, 16).unwrap_or(0xFFFD))
    };
    let first = unit(text)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first).unwrap_or('\u{FFFD}'), 6));
    }
    let pair = text.get(6..)?;
    if pair.len() < 2 {
        return None;
    }
    if !pair.starts_with("\\u") {
        return Some(('\u{FFFD}', 6));
    }
    let second = unit(pair)?;
    let code = 0x1_0000 + ((first - 0xD800) << 10) + second.wrapping_sub(0xDC00);
    match char::from_u32(code).filter(|_| (0xDC00..0xE000).contains(&second)) {
        Some(letter) => Some((letter, 12)),
        None => Some(('\u{FFFD}', 6)),
    }
}

/// Name and broken arguments of a call that was cut off.
fn broken_call(raw: &str) -> Option<(String, String)> {
    let after = raw
        .split_once("\"tool\"")?
        .1
        .trim_start()
        .strip_prefix(':')?;
    let (name, rest) = after.trim_start().strip_prefix('"')?.split_once('"')?;
    let arguments = rest
        .split_once("\"arguments\"")
        .map_or("", |(_, rest)| rest);
    let arguments = arguments.trim_start().trim_start_matches(':').trim();
    let arguments = if arguments.is_empty() { "{" } else { arguments };
    Some((name.to_owned(), arguments.to_owned()))
}

#[cfg(test)]
mod tests;
