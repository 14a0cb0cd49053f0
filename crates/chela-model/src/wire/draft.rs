//! An answer while it arrives.

use chela_core::ContentHash;
use serde_json::{Map, Value};

use super::constrained::ConstrainedReader;
use crate::{MessagePart, ResponseEvent, StopReason, ToolCall, ToolMode, Usage};

/// Whoever listens while the answer arrives.
pub type EventSink<'a> = &'a mut (dyn FnMut(ResponseEvent) + Send);

/// An answer while it arrives. The formats fill it, each in its own way.
#[derive(Debug)]
pub struct AnswerDraft {
    pieces: Vec<Piece>,
    pub usage: Option<Usage>,
    pub stop: Option<StopReason>,
    /// The endpoint said that this was all.
    pub done: bool,
    /// And nothing follows, not even what it cost.
    pub closed: bool,
    constrained: Option<ConstrainedReader>,
    /// For calls that come without an id.
    seed: String,
    bytes: usize,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Reasoning {
        text: String,
        signature: Option<String>,
        redacted: bool,
    },
    Call {
        slot: u64,
        id: String,
        name: String,
        arguments: String,
        told: bool,
    },
}

/// More than any model says in one answer: whoever says more is broken.
const MOST_BYTES: usize = 2 << 20;

impl AnswerDraft {
    /// `request` tells answers apart whose calls have no ids of their own.
    pub fn new(mode: ToolMode, request: &[u8]) -> Self {
        Self {
            pieces: Vec::new(),
            usage: None,
            stop: None,
            done: false,
            closed: false,
            constrained: (mode == ToolMode::Constrained).then(ConstrainedReader::default),
            seed: ContentHash::of(request).short(),
            bytes: 0,
        }
    }

    pub fn is_too_long(&self) -> bool {
        self.bytes > MOST_BYTES
    }

    pub fn text(&mut self, text: &str, sink: EventSink<'_>) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        let said = match &mut self.constrained {
            Some(reader) => reader.push(text),
            None => text.to_owned(),
        };
        self.say(said, sink);
    }

    fn say(&mut self, said: String, sink: EventSink<'_>) {
        if said.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(&said),
            _ => self.pieces.push(Piece::Text(said.clone())),
        }
        sink(ResponseEvent::Text(said));
    }

    pub fn reasoning(&mut self, thought: &str, sink: EventSink<'_>) {
        if thought.is_empty() {
            return;
        }
        self.bytes += thought.len();
        match self.pieces.last_mut() {
            Some(Piece::Reasoning {
                text,
                redacted: false,
                signature: None,
            }) => text.push_str(thought),
            _ => self.pieces.push(Piece::Reasoning {
                text: thought.to_owned(),
                signature: None,
                redacted: false,
            }),
        }
        sink(ResponseEvent::Reasoning(thought.to_owned()));
    }

    /// New reasoning, apart from any before it.
    pub fn begin_reasoning(&mut self) {
        self.pieces.push(Piece::Reasoning {
            text: String::new(),
            signature: None,
            redacted: false,
        });
    }

    /// A signature for the reasoning that just ended, whole or in pieces; reasoning that was
    /// never shown has nothing but one.
    pub fn sign(&mut self, piece: &str) {
        self.bytes += piece.len();
        match self.pieces.last_mut() {
            Some(Piece::Reasoning { signature, .. }) => {
                signature.get_or_insert_default().push_str(piece);
            }
            _ => self.withheld(piece.to_owned()),
        }
    }

    /// Replaces the signature of the last reasoning of this answer.
    pub fn sign_whole(&mut self, whole: String) {
        let last = self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Reasoning { signature, .. } => Some(signature),
            _ => None,
        });
        match last {
            Some(signature) => *signature = Some(whole),
            None => self.pieces.insert(
                0,
                Piece::Reasoning {
                    text: String::new(),
                    signature: Some(whole),
                    redacted: true,
                },
            ),
        }
    }

    /// Reasoning whose text is kept from us.
    pub fn withheld(&mut self, data: String) {
        self.bytes += data.len();
        self.pieces.push(Piece::Reasoning {
            text: String::new(),
            signature: Some(data),
            redacted: true,
        });
    }

    /// A call begins or goes on; id and name may come later, or in pieces.
    pub fn call(
        &mut self,
        slot: u64,
        call_id: Option<&str>,
        call_name: Option<&str>,
        sink: EventSink<'_>,
    ) {
        let count = self.calls();
        let taken = self.told_ids();
        if find_call(&mut self.pieces, slot).is_none() {
            self.pieces.push(Piece::Call {
                slot,
                id: String::new(),
                name: String::new(),
                arguments: String::new(),
                told: false,
            });
        }
        let Some(Piece::Call { id, name, told, .. }) = find_call(&mut self.pieces, slot) else {
            return;
        };
        if let Some(call_id) = call_id
            && id.is_empty()
        {
            id.push_str(call_id);
        }
        if let Some(call_name) = call_name
            && !*told
        {
            name.push_str(call_name);
        }
        if !name.is_empty() && !std::mem::replace(told, true) {
            if id.is_empty() {
                *id = format!("call_{}_{count}", self.seed);
            }
            // Whatever is kept under an id is kept once: a second call of the same id would hide
            // what the first one did.
            let given = id.clone();
            let mut copy = 2;
            while taken.contains(id) {
                *id = format!("{given}_{copy}");
                copy += 1;
            }
            sink(ResponseEvent::ToolCall {
                id: id.clone(),
                name: name.clone(),
            });
        }
    }

    /// The ids of the calls that were told of.
    fn told_ids(&self) -> Vec<String> {
        let ids = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Call { id, told: true, .. } => Some(id.clone()),
            _ => None,
        });
        ids.collect()
    }

    /// More of a call's arguments.
    pub fn arguments(&mut self, slot: u64, piece: &str) {
        self.bytes += piece.len();
        if let Some(Piece::Call { arguments, .. }) = find_call(&mut self.pieces, slot) {
            arguments.push_str(piece);
        }
    }

    /// All of a call's arguments, where they come once more at the end.
    pub fn arguments_whole(&mut self, slot: u64, whole: &str) {
        if let Some(Piece::Call { arguments, .. }) = find_call(&mut self.pieces, slot)
            && !whole.is_empty()
        {
            whole.clone_into(arguments);
        }
    }

    pub fn calls(&self) -> usize {
        let is_call = |piece: &&Piece| matches!(piece, Piece::Call { .. });
        self.pieces.iter().filter(is_call).count()
    }

    /// The whole answer.
    pub fn finish(mut self, sink: EventSink<'_>) -> (Vec<MessagePart>, StopReason, Option<Usage>) {
        if let Some(reader) = self.constrained.take() {
            let end = reader.finish();
            self.say(end.text, sink);
            if let Some((name, arguments)) = end.call {
                let slot = u64::MAX;
                self.call(slot, None, Some(&name), sink);
                self.arguments(slot, &arguments);
            }
        }
        let called = self.calls() > 0;
        let parts = self.pieces.into_iter().filter_map(part).collect();
        let stop = match self.stop {
            Some(StopReason::End) | None if called => StopReason::Tools,
            Some(StopReason::Tools) if !called => StopReason::End,
            stop => stop.unwrap_or(StopReason::End),
        };
        (parts, stop, self.usage)
    }
}

/// The last call of this slot.
fn find_call(pieces: &mut [Piece], wanted: u64) -> Option<&mut Piece> {
    let mut newest_first = pieces.iter_mut().rev();
    newest_first.find(|piece| matches!(piece, Piece::Call { slot, .. } if *slot == wanted))
}

fn part(piece: Piece) -> Option<MessagePart> {
    match piece {
        Piece::Text(text) => Some(MessagePart::Text { text }),
        Piece::Reasoning {
            text,
            signature: None,
            ..
        } if text.is_empty() => None,
        Piece::Reasoning {
            text,
            signature,
            redacted,
        } => Some(MessagePart::Reasoning {
            text,
            signature: signature.filter(|signature| !signature.is_empty()),
            redacted,
        }),
        // Nobody was named: nothing can be run.
        Piece::Call { name, .. } if name.is_empty() => None,
        Piece::Call {
            id,
            name,
            arguments,
            ..
        } => Some(MessagePart::ToolCall(call(id, name, arguments))),
    }
}

fn call(id: String, name: String, raw: String) -> ToolCall {
    let (arguments, malformed) = match object(&raw) {
        Some(arguments) => (arguments, None),
        None => (Map::new(), Some(raw)),
    };
    ToolCall {
        id,
        name,
        arguments,
        malformed,
    }
}

/// The object in a text; nothing at all is an empty one, and some models quote it once more.
fn object(raw: &str) -> Option<Map<String, Value>> {
    let raw = raw.trim();
    if raw.is_empty() {
        return Some(Map::new());
    }
    match serde_json::from_str(raw).ok()? {
        Value::Object(object) => Some(object),
        Value::Null => Some(Map::new()),
        Value::String(inner) => match serde_json::from_str(&inner).ok()? {
            Value::Object(object) => Some(object),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerDraft, object};
    use crate::{MessagePart, ToolMode};

    #[test]
    fn calls_of_one_id_are_told_apart() {
        let mut draft = AnswerDraft::new(ToolMode::Native, b"request");
        let mut told = Vec::new();
        let mut sink = |event| told.push(event);
        for slot in 0..3 {
            draft.call(slot, Some("dup"), Some("write"), &mut sink);
            draft.arguments(slot, "{}");
        }
        draft.call(3, Some("dup_2"), Some("write"), &mut sink);
        let (parts, ..) = draft.finish(&mut sink);
        let ids: Vec<&str> = parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::ToolCall(call) => Some(call.id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids, ["dup", "dup_2", "dup_3", "dup_2_2"]);
        assert_eq!(told.len(), 4);
    }

    #[test]
    fn arguments_are_read_or_kept_as_they_came() {
        assert_eq!(object("").unwrap().len(), 0);
        assert_eq!(object("null").unwrap().len(), 0);
        assert_eq!(object(r#"{"a":1}"#).unwrap().len(), 1);
        assert_eq!(object(r#""{\"a\":1}""#).unwrap().len(), 1);
        for bad in ["{\"a\":", "[1]", "7", "\"text\"", "{'a':1}"] {
            assert!(object(bad).is_none(), "{bad}");
        }
    }
}
