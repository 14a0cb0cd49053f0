//! A script: what the endpoint says, and to which request.

mod comments;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A sample script with every kind of step, explained.
pub const EXAMPLE: &str = include_str!("../data/example.json");

/// What an endpoint does. In a file: JSON, where `//` begins a comment.
///
/// A step with `when` answers every request it matches, before any other; the steps without one
/// are played in their order, one request each; `otherwise` answers what is left.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EndpointScript {
    /// Names under which the model is listed. Default: `scripted`.
    pub models: Vec<String>,
    /// Tokens of context. A longer request is refused, as a real server would.
    pub context_window: Option<u64>,
    /// The key every request must carry.
    pub key: Option<String>,
    #[serde(deserialize_with = "checked_steps")]
    pub steps: Vec<ScriptStep>,
    #[serde(deserialize_with = "checked_step")]
    pub otherwise: Option<ScriptStep>,
}

/// What is said to one request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptStep {
    /// Which requests it is for.
    pub when: Option<StepRule>,
    /// How many requests it answers. Default: one in its turn, any number with `when`.
    pub times: Option<u32>,
    /// Waits before the first byte, in milliseconds.
    pub delay_ms: u64,

    /// A plain HTTP answer instead of a model's.
    pub status: Option<u16>,
    pub headers: BTreeMap<String, String>,
    /// Sent as it is. With a `status` alone, the error body of the wire format is made up.
    pub body: Option<AnswerBody>,

    /// `{{user}}`, `{{tool}}`, `{{system}}`, `{{model}}`, `{{tools}}`, `{{messages}}` and
    /// `{{call}}` stand for what was asked.
    pub reply: String,
    pub reasoning: String,
    pub tool_calls: Vec<ScriptedCall>,
    pub stop: Option<StopReason>,
    /// Default: counted from the request, with what a prefix cache would have kept.
    pub usage: Option<TokenCounts>,

    /// Characters of text or arguments in one streamed piece. Default: 16.
    pub piece: Option<usize>,
    /// Waits between pieces, in milliseconds.
    pub piece_ms: u64,
    /// Bytes in one write to the socket: cuts through lines and characters. Default: a piece.
    pub write: Option<usize>,
    pub line: LineEnding,
    /// A comment or ping event before every piece.
    pub ping: bool,
    pub fault: Option<AnswerFault>,
}

/// Which requests a step is for: all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StepRule {
    /// Text in the newest user message or tool result.
    pub contains: Option<String>,
    /// Text anywhere in the body.
    pub body: Option<String>,
    pub model: Option<String>,
    /// Text in the path. Needed for a step that answers something else than a model call.
    pub path: Option<String>,
    /// Only this model call, counted from 1.
    pub nth: Option<u64>,
    /// Whether the newest message is a tool result.
    pub after_tool: Option<bool>,
}

/// A tool the model asks for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedCall {
    pub name: String,
    /// An object; or text, sent as it is, for arguments that are not JSON.
    pub arguments: Value,
    pub id: Option<String>,
}

/// The bytes of a plain HTTP answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum AnswerBody {
    Text(String),
    Json(Value),
}

/// Why the model stopped, where that is not plain from what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    Length,
    Refused,
}

/// Token counts, as the endpoint reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TokenCounts {
    /// The whole input.
    pub input: u64,
    pub output: u64,
    /// Part of `input` that came from the cache.
    pub cached: u64,
    /// Part of `input` that was written to the cache.
    pub cache_write: u64,
    pub reasoning: u64,
}

/// How lines end in a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LineEnding {
    #[default]
    Lf,
    Crlf,
}

/// How an answer goes wrong. The number is the bytes of the body that still arrive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnswerFault {
    /// The connection is closed.
    Cut(usize),
    /// The connection is reset.
    Reset(usize),
    /// Nothing more comes, and the connection stays open.
    Stall(usize),
    /// Halfway through, the stream says that it failed, in its own format.
    Error { kind: String, message: String },
    /// Halfway through, these bytes come; then it goes on.
    Garbage(String),
    /// The reply begins again and again, for ever.
    Endless,
    /// One line that never ends.
    EndlessLine,
}

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("{path}:{line}:{column}: {what}")]
    Bad {
        path: String,
        line: usize,
        column: usize,
        what: String,
    },
}

/// Reads a script of any kind.
pub(crate) fn read_script<S: DeserializeOwned>(path: &Path) -> Result<S, ScriptError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse_script(&name, &text),
        Err(source) => Err(ScriptError::Read { path: name, source }),
    }
}

fn parse_script<S: DeserializeOwned>(name: &str, text: &str) -> Result<S, ScriptError> {
    serde_json::from_str(&comments::blank(text)).map_err(|error| {
        let told = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        ScriptError::Bad {
            path: name.to_owned(),
            line: error.line(),
            column: error.column(),
            what: told.strip_suffix(&place).unwrap_or(&told).to_owned(),
        }
    })
}

impl EndpointScript {
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        read_script(path)
    }

    /// `name` is what errors call the text: its path.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse_script(name, text)
    }

    /// Steps played one after the other.
    pub fn steps(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same step for every request.
    pub fn always(step: ScriptStep) -> Self {
        Self {
            otherwise: Some(step),
            ..Self::default()
        }
    }
}

impl ScriptStep {
    pub fn reply(text: impl Into<String>) -> Self {
        Self {
            reply: text.into(),
            ..Self::default()
        }
    }

    /// A call of one tool.
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self {
            tool_calls: vec![ScriptedCall {
                name: name.to_owned(),
                arguments,
                id: None,
            }],
            ..Self::default()
        }
    }

    /// An HTTP error, in the words of the wire format.
    pub fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// A plain answer: a page, a redirect, a body no model would send.
    pub fn page(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        Self {
            body: Some(AnswerBody::Text(body.into())),
            ..Self::status(status)
        }
        .header("content-type", content_type)
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.insert(name.to_owned(), value.into());
        self
    }

    pub fn when(mut self, rule: StepRule) -> Self {
        self.when = Some(rule);
        self
    }

    pub fn fault(mut self, fault: AnswerFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// How many requests it still answers at the start; `None` without end.
    pub(crate) fn plays(&self) -> Option<u32> {
        match (&self.when, self.times) {
            (_, Some(times)) => Some(times),
            (Some(_), None) => None,
            (None, None) => Some(1),
        }
    }

    /// In a word or two, for whoever watches.
    pub fn summary(&self) -> String {
        let what = match (self.status, &self.body) {
            (Some(status), _) => format!("status {status}"),
            (None, Some(_)) => "status 200".to_owned(),
            (None, None) => {
                let calls = self.tool_calls.iter().map(|call| call.name.as_str());
                let said = (!self.reply.is_empty()).then_some("reply");
                said.into_iter().chain(calls).collect::<Vec<_>>().join(", ")
            }
        };
        match &self.fault {
            Some(fault) => format!("{what}, then {}", fault.summary()),
            None if what.is_empty() => "an empty answer".to_owned(),
            None => what,
        }
    }
}

impl AnswerFault {
    fn summary(&self) -> String {
        match self {
            Self::Cut(bytes) => format!("cut after {bytes} bytes"),
            Self::Reset(bytes) => format!("reset after {bytes} bytes"),
            Self::Stall(bytes) => format!("silence after {bytes} bytes"),
            Self::Error { kind, .. } => format!("the error {kind}"),
            Self::Garbage(_) => "garbage".to_owned(),
            Self::Endless => "more without end".to_owned(),
            Self::EndlessLine => "a line without end".to_owned(),
        }
    }
}

impl ScriptStep {
    /// What makes no sense together.
    fn check(&self) -> Result<(), &'static str> {
        let speaks =
            !(self.reply.is_empty() && self.reasoning.is_empty() && self.tool_calls.is_empty());
        if speaks && (self.status.is_some() || self.body.is_some()) {
            return Err(
                "a step either speaks as a model (reply, reasoning, toolCalls) or sends \
                        a plain answer (status, body), not both",
            );
        }
        if self
            .status
            .is_some_and(|status| !(200..=599).contains(&status))
        {
            return Err("status must be from 200 to 599");
        }
        if self.piece == Some(0) || self.write == Some(0) || self.times == Some(0) {
            return Err("piece, write and times must be at least 1");
        }
        if self.tool_calls.iter().any(|call| call.name.is_empty()) {
            return Err("a tool call needs a name");
        }
        if self.fault == Some(AnswerFault::Endless) && self.reply.is_empty() {
            return Err("the fault \"endless\" needs a reply to repeat");
        }
        Ok(())
    }
}

/// A step read from a file: checked where it stands, so that the error has its line.
struct Checked(ScriptStep);

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CheckedVisitor)
    }
}

/// Checks before the object is left: an error found after that would have the place of what
/// follows.
struct CheckedVisitor;

impl<'de> Visitor<'de> for CheckedVisitor {
    type Value = Checked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step: an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Checked, A::Error> {
        let step = ScriptStep::deserialize(MapAccessDeserializer::new(map))?;
        step.check().map_err(A::Error::custom)?;
        Ok(Checked(step))
    }
}

fn checked_steps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ScriptStep>, D::Error> {
    let steps = Vec::<Checked>::deserialize(deserializer)?;
    Ok(steps.into_iter().map(|Checked(step)| step).collect())
}

fn checked_step<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ScriptStep>, D::Error> {
    let step = Option::<Checked>::deserialize(deserializer)?;
    Ok(step.map(|Checked(step)| step))
}
