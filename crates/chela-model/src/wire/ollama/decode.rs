//! The stream of a native Ollama answer.

use serde_json::Value;

use crate::wire::draft::{AnswerDraft, EventSink};
use crate::wire::{DecodeDocument, StreamFault, number};
use crate::{StopReason, Usage};

#[derive(Debug, Default)]
pub struct OllamaDecoder {
    calls: u64,
}

impl DecodeDocument for OllamaDecoder {
    fn event(
        &mut self,
        line: &Value,
        draft: &mut AnswerDraft,
        sink: EventSink<'_>,
    ) -> Result<(), StreamFault> {
        if let Some(error) = line.get("error") {
            return Err(StreamFault::said(error));
        }
        if line.get("message").is_none() && line.get("done").is_none() {
            return Err(StreamFault::strange(line));
        }
        let message = &line["message"];
        draft.reasoning(message["thinking"].as_str().unwrap_or_default(), sink);
        draft.text(message["content"].as_str().unwrap_or_default(), sink);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let slot = self.calls;
            self.calls += 1;
            let function = &call["function"];
            draft.call(slot, call["id"].as_str(), function["name"].as_str(), sink);
            match &function["arguments"] {
                Value::String(raw) => draft.arguments(slot, raw),
                Value::Null => {}
                other => draft.arguments(slot, &other.to_string()),
            }
        }
        if line["done"].as_bool() == Some(true) {
            draft.done = true;
            draft.closed = true;
            draft.stop = Some(match line["done_reason"].as_str() {
                Some("length") => StopReason::Length,
                _ => StopReason::End,
            });
            if line.get("eval_count").is_some() || line.get("prompt_eval_count").is_some() {
                draft.usage = Some(Usage {
                    input: number(&line["prompt_eval_count"]),
                    output: number(&line["eval_count"]),
                    ..Usage::default()
                });
            }
        }
        Ok(())
    }

    fn end(&mut self, _draft: &mut AnswerDraft) {}
}
