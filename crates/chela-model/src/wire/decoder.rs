//! The stream of one answer, from bytes to events.

use serde_json::Value;

use super::draft::{AnswerDraft, EventSink};
use super::frames::{FrameReader, StreamFraming, TooLong};
use super::{anthropic, completions, google, ollama, responses};
use crate::complaint::EndpointComplaint;
use crate::{MessagePart, ModelApi, StopReason, ToolMode, Usage};

/// Understands the documents of one protocol.
pub trait DecodeDocument: std::fmt::Debug + Send {
    fn event(
        &mut self,
        event: &Value,
        draft: &mut AnswerDraft,
        sink: EventSink<'_>,
    ) -> Result<(), StreamFault>;

    /// The stream has ended well.
    fn end(&mut self, draft: &mut AnswerDraft);
}

/// What can be wrong with a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFault {
    /// Not what the protocol promises.
    Malformed(String),
    /// It ended before the answer did.
    Cut,
    /// The endpoint says that something went wrong.
    Said(EndpointComplaint),
}

impl StreamFault {
    pub fn said(error: &Value) -> Self {
        Self::Said(EndpointComplaint::of_error(error))
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
pub struct AnswerDecoder {
    framing: StreamFraming,
    frames: FrameReader,
    reader: Reader,
}

#[derive(Debug)]
struct Reader {
    format: Box<dyn DecodeDocument>,
    draft: AnswerDraft,
    /// That said something.
    documents: u64,
}

/// What a stream said in the end.
#[derive(Debug, PartialEq)]
pub struct DecodedAnswer {
    pub content: Vec<MessagePart>,
    pub stop: StopReason,
    pub usage: Option<Usage>,
}

impl AnswerDecoder {
    /// `request` is the body that is answered: ids of calls that have none are made from it.
    pub fn new(api: ModelApi, framing: StreamFraming, mode: ToolMode, request: &[u8]) -> Self {
        let format: Box<dyn DecodeDocument> = match api {
            ModelApi::OpenAiCompletions => Box::new(completions::CompletionsDecoder::default()),
            ModelApi::OpenAiResponses | ModelApi::AzureOpenAiResponses => {
                Box::new(responses::ResponsesDecoder::default())
            }
            ModelApi::AnthropicMessages => Box::new(anthropic::AnthropicDecoder),
            ModelApi::GoogleGenerativeAi => Box::new(google::GoogleDecoder::default()),
            ModelApi::Ollama => Box::new(ollama::OllamaDecoder::default()),
        };
        Self {
            framing,
            frames: FrameReader::new(framing),
            reader: Reader {
                format,
                draft: AnswerDraft::new(mode, request),
                documents: 0,
            },
        }
    }

    /// How the answers of a protocol are framed when they are streamed.
    pub fn framing(api: ModelApi) -> StreamFraming {
        match api {
            ModelApi::Ollama => StreamFraming::Lines,
            _ => StreamFraming::Sse,
        }
    }

    /// The same for an answer that is not streamed; nothing was fed yet.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.framing = StreamFraming::Whole;
        self.frames = FrameReader::new(StreamFraming::Whole);
        self
    }

    pub fn feed(&mut self, bytes: &[u8], sink: EventSink<'_>) -> Result<(), StreamFault> {
        let reader = &mut self.reader;
        self.frames
            .feed(bytes, &mut |data| reader.document(data, sink))
    }

    /// How much was said so far. Comments and pings say nothing, however many come; of a body that
    /// is not streamed every byte is a word. `None` where that is so.
    pub fn documents(&self) -> Option<u64> {
        (self.framing != StreamFraming::Whole).then_some(self.reader.documents)
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
    pub fn finish(mut self, sink: EventSink<'_>) -> Result<DecodedAnswer, StreamFault> {
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
            ..
        } = self.reader;
        format.end(&mut draft);
        let (content, stop, usage) = draft.finish(sink);
        Ok(DecodedAnswer {
            content,
            stop,
            usage,
        })
    }
}

impl Reader {
    fn document(&mut self, data: &[u8], sink: EventSink<'_>) -> Result<(), StreamFault> {
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
        if event.get("type").and_then(Value::as_str) != Some("ping") {
            self.documents += 1;
        }
        self.format.event(&event, &mut self.draft, sink)?;
        if self.draft.is_too_long() {
            return Err(StreamFault::Malformed("an answer without end".to_owned()));
        }
        Ok(())
    }
}
