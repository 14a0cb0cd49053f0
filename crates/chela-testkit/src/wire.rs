//! An answer in each wire format: whole, or as the frames of a stream.

mod anthropic;
mod chat;
mod failure;
mod gemini;
mod listing;
mod ollama;
mod responses;

use serde_json::{Value, json};

use crate::model_call::{CallFormat, ModelCall};
use crate::prefix;
use crate::script::{AnswerFault, LineEnding, ScriptStep, StopReason, TokenCounts};

pub use failure::{error_body, error_frame};
pub use listing::listing;

/// Characters in a piece, unless a step says otherwise.
const PIECE: usize = 16;
/// An endless reply repeats what comes after about half as many pieces.
const ENDLESS_PIECES: usize = 32;
/// A moment, the same in every answer.
const CREATED: u64 = 1_767_225_600;

/// What the model says, cut into the pieces it is streamed in.
#[derive(Debug)]
pub struct WireAnswer {
    /// Number of the model call: it makes ids unique.
    call: u64,
    model: String,
    reasoning: Vec<String>,
    text: Vec<String>,
    calls: Vec<WireCall>,
    stop: AnswerEnd,
    usage: TokenCounts,
    /// The stream is to carry token counts (OpenAI sends them only when asked).
    usage_wanted: bool,
}

#[derive(Debug)]
struct WireCall {
    id: String,
    name: String,
    arguments: Vec<String>,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerEnd {
    Done,
    Tools,
    Length,
    Refused,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFrame {
    /// Server-sent event with a name.
    Event(String, Value),
    /// Server-sent event without one.
    Data(String),
    /// A line of its own.
    Line(Value),
}

impl TokenCounts {
    /// As the formats of OpenAI tell it. What was written to the cache is named where something was.
    fn cache_details(&self) -> Value {
        let mut details = json!({ "cached_tokens": self.cached });
        if self.cache_write > 0 {
            details["cache_write_tokens"] = self.cache_write.into();
        }
        details
    }
}

impl WireAnswer {
    /// What `step` says to `asked`, the endpoint's model call number `call`. `counted` is the
    /// input as the endpoint counts it.
    pub fn new(
        step: &ScriptStep,
        asked: &ModelCall,
        body: &Value,
        call: u64,
        counted: TokenCounts,
    ) -> Self {
        let piece = step.piece.unwrap_or(PIECE);
        let mut text = asked.fill(&step.reply, call);
        if step.fault == Some(AnswerFault::Endless) {
            // Long enough that half of it is in the middle of the text.
            text = text.repeat(piece * ENDLESS_PIECES / text.len().max(1) + 1);
        }
        let reasoning = asked.fill(&step.reasoning, call);
        let calls: Vec<WireCall> = step
            .tool_calls
            .iter()
            .enumerate()
            .map(|(at, scripted)| WireCall {
                id: scripted
                    .id
                    .clone()
                    .unwrap_or_else(|| format!("call_{call}_{at}")),
                name: scripted.name.clone(),
                arguments: pieces(&arguments(&scripted.arguments, asked, call), piece),
            })
            .collect();
        let said: usize = calls
            .iter()
            .flat_map(|call| &call.arguments)
            .map(String::len)
            .sum();
        let counted = TokenCounts {
            output: prefix::tokens(text.len() + reasoning.len() + said).max(1),
            reasoning: prefix::tokens(reasoning.len()),
            ..counted
        };
        Self {
            call,
            model: asked.model.clone(),
            reasoning: pieces(&reasoning, piece),
            text: pieces(&text, piece),
            stop: match step.stop {
                Some(StopReason::Length) => AnswerEnd::Length,
                Some(StopReason::Refused) => AnswerEnd::Refused,
                None if calls.is_empty() => AnswerEnd::Done,
                None => AnswerEnd::Tools,
            },
            calls,
            usage: step.usage.unwrap_or(counted),
            usage_wanted: body["stream_options"]["include_usage"] == true,
        }
    }

    /// The whole answer in one JSON object.
    pub fn whole(&self, format: CallFormat) -> Value {
        match format {
            CallFormat::Chat => chat::whole(self),
            CallFormat::Responses => responses::whole(self),
            CallFormat::Anthropic => anthropic::whole(self),
            CallFormat::Gemini => gemini::whole(self),
            CallFormat::Ollama => ollama::whole(self),
        }
    }

    /// The answer as a stream.
    pub fn frames(&self, format: CallFormat) -> Vec<StreamFrame> {
        match format {
            CallFormat::Chat => chat::frames(self),
            CallFormat::Responses => responses::frames(self),
            CallFormat::Anthropic => anthropic::frames(self),
            CallFormat::Gemini => gemini::frames(self),
            CallFormat::Ollama => ollama::frames(self),
        }
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:08}", self.call)
    }

    fn full_text(&self) -> String {
        self.text.concat()
    }

    fn full_reasoning(&self) -> String {
        self.reasoning.concat()
    }

    /// Tokens of the input that had to be evaluated.
    fn evaluated(&self) -> u64 {
        self.usage.input.saturating_sub(self.usage.cached)
    }
}

impl WireCall {
    fn full_arguments(&self) -> String {
        self.arguments.concat()
    }

    /// For formats that send arguments as an object: what is none goes as text.
    fn object(&self) -> Value {
        let text = self.full_arguments();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }
}

impl StreamFrame {
    pub fn bytes(&self, line: LineEnding) -> String {
        let end = match line {
            LineEnding::Lf => "\n",
            LineEnding::Crlf => "\r\n",
        };
        match self {
            Self::Event(name, data) => format!("event: {name}{end}data: {data}{end}{end}"),
            Self::Data(data) => format!("data: {data}{end}{end}"),
            Self::Line(data) => format!("{data}{end}"),
        }
    }

    /// What a server sends to keep a quiet stream alive; nothing in formats without it.
    pub fn ping(format: CallFormat, line: LineEnding) -> String {
        match format {
            CallFormat::Anthropic => {
                Self::Event("ping".to_owned(), json!({ "type": "ping" })).bytes(line)
            }
            CallFormat::Ollama => String::new(),
            _ => match line {
                LineEnding::Lf => ": ping\n\n".to_owned(),
                LineEnding::Crlf => ": ping\r\n\r\n".to_owned(),
            },
        }
    }

    fn data(value: &Value) -> Self {
        Self::Data(value.to_string())
    }
}

/// The content type of a stream.
pub fn stream_type(format: CallFormat) -> &'static str {
    match format {
        CallFormat::Ollama => "application/x-ndjson",
        _ => "text/event-stream; charset=utf-8",
    }
}

/// Arguments as the model writes them.
fn arguments(scripted: &Value, asked: &ModelCall, call: u64) -> String {
    match scripted {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        object => {
            let mut object = object.clone();
            fill_strings(&mut object, asked, call);
            object.to_string()
        }
    }
}

fn fill_strings(value: &mut Value, asked: &ModelCall, call: u64) {
    match value {
        Value::String(text) => *text = asked.fill(text, call),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| fill_strings(item, asked, call)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| fill_strings(field, asked, call)),
        _ => {}
    }
}

fn pieces(text: &str, length: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(length.max(1)).map(String::from_iter).collect()
}
