//! The stream of one answer, from bytes to events.

use serde_json::Value;

use super::draft::{Draft, Sink};
use super::frames::{Frames, Framing, TooLong};
use super::{anthropic, completions, google, ollama, responses};
use crate::fault::Complaint;
use crate::{Api, Part, StopReason, ToolMode, Usage};

/// Understands the documents of one protocol.
pub trait Decode: std::fmt::Debug + Send {
    fn event(
        &mut self,
        event: &Value,
        draft: &mut Draft,
        sink: Sink<'_>,
    ) -> Result<(), StreamFault>;

    /// The stream has ended well.
    fn end(&mut self, draft: &mut Draft);
}

/// What can be wrong with a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFault {
    /// Not what the protocol promises.
    Malformed(String),
    /// It ended before the answer did.
    Cut,
    /// The endpoint says that something went wrong.
    Said(Complaint),
}

impl StreamFault {
    pub fn said(error: &Value) -> Self {
        Self::Said(Complaint::of_error(error))
    }

    pub fn strange(event: &Value) -> Self {
        let text: String = event.to_string().chars().take(120).collect();
        Self::Malformed(format!("an event nobody expects: {text}"))
    }
}

impl From<TooLong> for StreamFault {
    fn from(_: TooLong) -> Self {
        Self::Malformed("an event without end".to_owned())
    }
}

/// Takes the bytes of an answer as they come, in pieces of any size. The same bytes give the same
/// events and the same answer, however they are cut.
#[derive(Debug)]
pub struct Decoder {
    frames: Frames,
    reader: Reader,
}

#[derive(Debug)]
struct Reader {
    format: Box<dyn Decode>,
    draft: Draft,
}

/// What a stream said in the end.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub content: Vec<Part>,
    pub stop: StopReason,
    pub usage: Option<Usage>,
}

impl Decoder {
    /// `request` is the body that is answered: ids of calls that have none are made from it.
    pub fn new(api: Api, framing: Framing, mode: ToolMode, request: &[u8]) -> Self {
        let format: Box<dyn Decode> = match api {
            Api::OpenAiCompletions => Box::new(completions::Completions::default()),
            Api::OpenAiResponses | Api::AzureOpenAiResponses => {
                Box::new(responses::Responses::default())
            }
            Api::AnthropicMessages => Box::new(anthropic::Anthropic),
            Api::GoogleGenerativeAi => Box::new(google::Google::default()),
            Api::Ollama => Box::new(ollama::Ollama::default()),
        };
        Self {
            frames: Frames::new(framing),
            reader: Reader {
                format,
                draft: Draft::new(mode, request),
            },
        }
    }

    /// How the answers of a protocol are framed when they are streamed.
    pub fn framing(api: Api) -> Framing {
        match api {
            Api::Ollama => Framing::Lines,
            _ => Framing::Sse,
        }
    }

    /// The same for an answer that is not streamed; nothing was fed yet.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.frames = Frames::new(Framing::Whole);
        self
    }

    pub fn feed(&mut self, bytes: &[u8], sink: Sink<'_>) -> Result<(), StreamFault> {
        let reader = &mut self.reader;
        self.frames
            .feed(bytes, &mut |data| reader.document(data, sink))
    }

    /// Whether the endpoint has said that this was all. More may follow: usage, mostly.
    pub fn is_done(&self) -> bool {
        self.reader.draft.done
    }

    /// Whether nothing can follow.
    pub fn is_closed(&self) -> bool {
        self.reader.draft.closed
    }

    /// The bytes have ended.
    pub fn finish(mut self, sink: Sink<'_>) -> Result<Answer, StreamFault> {
        if let Some(rest) = self.frames.rest() {
            match self.reader.document(&rest, sink) {
                // Half a document is a cut, not a mistake.
                Err(StreamFault::Malformed(_)) if !self.reader.draft.done => {
                    return Err(StreamFault::Cut);
                }
                Err(fault @ StreamFault::Said(_)) => return Err(fault),
                _ => {}
            }
        }
        if !self.reader.draft.done {
            return Err(StreamFault::Cut);
        }
        let Reader {
            mut format,
            mut draft,
        } = self.reader;
        format.end(&mut draft);
        let (content, stop, usage) = draft.finish(sink);
        Ok(Answer {
            content,
            stop,
            usage,
        })
    }
}

impl Reader {
    fn document(&mut self, data: &[u8], sink: Sink<'_>) -> Result<(), StreamFault> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            // Some servers say so in place of a reason to stop.
            self.draft.done = true;
            self.draft.closed = true;
            return Ok(());
        }
        let event: Value = serde_json::from_slice(data).map_err(|_| {
            let text: String = String::from_utf8_lossy(data).chars().take(120).collect();
            StreamFault::Malformed(format!("this is not JSON: {text}"))
        })?;
        self.format.event(&event, &mut self.draft, sink)?;
        if self.draft.is_too_long() {
            return Err(StreamFault::Malformed("an answer without end".to_owned()));
        }
        Ok(())
    }
}
