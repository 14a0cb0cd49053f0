//! The stream of a chat/completions answer.

use serde_json::Value;

use crate::wire::draft::{AnswerDraft, EventSink};
use crate::wire::{DecodeDocument, StreamFault, number};
use crate::{StopReason, Usage};

/// Reads chunks, and whole answers of servers that do not stream.
#[derive(Debug, Default)]
pub struct CompletionsDecoder {
    /// `reasoning_details` of OpenRouter, given back unchanged.
    details: Vec<Value>,
    /// The last id that came under each index: some servers use one index for all calls.
    slots: Vec<(u64, String)>,
}

impl DecodeDocument for CompletionsDecoder {
    fn event(
        &mut self,
        chunk: &Value,
        draft: &mut AnswerDraft,
        sink: EventSink<'_>,
    ) -> Result<(), StreamFault> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(StreamFault::said(error));
        }
        if let Some(usage) = usage(chunk) {
            draft.usage = Some(usage);
        }
        let Some(choice) = chunk["choices"].get(0) else {
            // The last chunk has usage and no choice; anything else is not of this protocol.
            return match chunk.get("choices").is_some() || chunk.get("usage").is_some() {
                true => Ok(()),
                false => Err(StreamFault::strange(chunk)),
            };
        };
        let said = match &choice["delta"] {
            Value::Object(_) => &choice["delta"],
            _ => &choice["message"],
        };
        for field in ["reasoning_content", "reasoning", "thinking"] {
            if let Some(thought) = said[field].as_str() {
                draft.reasoning(thought, sink);
                break;
            }
        }
        if let Some(details) = said["reasoning_details"].as_array() {
            self.details.extend(details.iter().cloned());
        }
        match &said["content"] {
            Value::String(text) => draft.text(text, sink),
            // Mistral's reasoning models answer in blocks.
            Value::Array(blocks) => {
                for block in blocks {
                    match block["thinking"].as_array() {
                        Some(thoughts) => thoughts
                            .iter()
                            .filter_map(|thought| thought["text"].as_str())
                            .for_each(|thought| draft.reasoning(thought, sink)),
                        None => draft.text(block["text"].as_str().unwrap_or_default(), sink),
                    }
                }
            }
            _ => {}
        }
        if let Some(refusal) = said["refusal"].as_str() {
            draft.text(refusal, sink);
            draft.stop = Some(StopReason::Refused);
        }
        for (at, call) in said["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            self.call(call, at as u64, draft, sink);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            draft.done = true;
            let stop = match reason {
                "tool_calls" | "function_call" => StopReason::Tools,
                "length" | "max_tokens" => StopReason::Length,
                "content_filter" | "refusal" => StopReason::Refused,
                "error" => return Err(StreamFault::said(&choice["error"])),
                _ => StopReason::End,
            };
            if draft.stop != Some(StopReason::Refused) {
                draft.stop = Some(stop);
            }
        }
        Ok(())
    }

    fn end(&mut self, draft: &mut AnswerDraft) {
        if !self.details.is_empty() {
            draft.sign_whole(Value::Array(std::mem::take(&mut self.details)).to_string());
        }
    }
}

impl CompletionsDecoder {
    fn call(&mut self, call: &Value, at: u64, draft: &mut AnswerDraft, sink: EventSink<'_>) {
        let index = call["index"].as_u64().unwrap_or(at);
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let function = &call["function"];
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let slot = self.slot(index, id, name);
        draft.call(slot, id, name, sink);
        match &function["arguments"] {
            Value::String(piece) => draft.arguments(slot, piece),
            Value::Object(whole) => {
                draft.arguments(slot, &Value::Object(whole.clone()).to_string());
            }
            _ => {}
        }
    }

    /// A new id under an index in use is another call.
    fn slot(&mut self, index: u64, id: Option<&str>, name: Option<&str>) -> u64 {
        let id = id.unwrap_or_default();
        let is_same =
            |known: &str| name.is_none() || known.is_empty() || id.is_empty() || known == id;
        let mut slots = self.slots.iter().enumerate();
        match slots.rfind(|(_, (own, _))| *own == index) {
            Some((at, (_, known))) if is_same(known) => at as u64,
            _ => {
                self.slots.push((index, id.to_owned()));
                self.slots.len() as u64 - 1
            }
        }
    }
}

/// What the call cost; llama.cpp tells in `timings` what it really evaluated.
fn usage(chunk: &Value) -> Option<Usage> {
    let timings = &chunk["timings"];
    let usage = chunk.get("usage").filter(|usage| usage.is_object());
    if usage.is_none() && timings["prompt_n"].is_null() {
        return None;
    }
    let mut found = Usage::default();
    if let Some(usage) = usage {
        let cached = &usage["prompt_tokens_details"];
        found.input = number(&usage["prompt_tokens"]);
        found.output = number(&usage["completion_tokens"]);
        // DeepSeek and Moonshot have their own places for it.
        found.cache_read = number(&cached["cached_tokens"])
            .max(number(&usage["prompt_cache_hit_tokens"]))
            .max(number(&usage["cached_tokens"]));
        found.cache_write = number(&cached["cache_write_tokens"]);
        let details = &usage["completion_tokens_details"];
        found.reasoning = number(&details["reasoning_tokens"]);
    }
    if !timings["prompt_n"].is_null() {
        let cached = number(&timings["cache_n"]);
        found.cache_read = found.cache_read.max(cached);
        found.input = found.input.max(cached + number(&timings["prompt_n"]));
        found.output = found.output.max(number(&timings["predicted_n"]));
    }
    Some(found)
}
