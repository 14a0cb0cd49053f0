//! The stream of an Anthropic answer.

use serde_json::Value;

use crate::wire::draft::{AnswerDraft, EventSink};
use crate::wire::{DecodeDocument, StreamFault, number};
use crate::{StopReason, Usage};

#[derive(Debug, Default)]
pub struct AnthropicDecoder;

impl DecodeDocument for AnthropicDecoder {
    fn event(
        &mut self,
        event: &Value,
        draft: &mut AnswerDraft,
        sink: EventSink<'_>,
    ) -> Result<(), StreamFault> {
        let index = number(&event["index"]);
        let (message, delta) = (&event["message"], &event["delta"]);
        match event["type"].as_str() {
            Some("message_start") => add_usage(draft, &message["usage"]),
            Some("content_block_start") => begin(index, &event["content_block"], draft, sink),
            Some("content_block_delta") => {
                let text = |field: &str| delta[field].as_str().unwrap_or_default();
                match delta["type"].as_str() {
                    Some("text_delta") => draft.text(text("text"), sink),
                    Some("thinking_delta") => draft.reasoning(text("thinking"), sink),
                    Some("signature_delta") => draft.sign(text("signature")),
                    Some("input_json_delta") => draft.arguments(index, text("partial_json")),
                    _ => {}
                }
            }
            Some("message_delta") => {
                add_usage(draft, &event["usage"]);
                stop(draft, &delta["stop_reason"]);
            }
            Some("message_stop") => {
                draft.done = true;
                draft.closed = true;
            }
            Some("error") => return Err(StreamFault::said(&event["error"])),
            // A server that does not stream gives the whole message at once.
            Some("message") => {
                for (at, block) in event["content"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .enumerate()
                {
                    begin(at as u64, block, draft, sink);
                }
                add_usage(draft, &event["usage"]);
                stop(draft, &event["stop_reason"]);
                draft.done = true;
            }
            Some(_) => {}
            None if event.get("error").is_some() => {
                return Err(StreamFault::said(&event["error"]));
            }
            None => return Err(StreamFault::strange(event)),
        }
        Ok(())
    }

    fn end(&mut self, _draft: &mut AnswerDraft) {}
}

fn begin(index: u64, block: &Value, draft: &mut AnswerDraft, sink: EventSink<'_>) {
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    match block["type"].as_str() {
        Some("text") => draft.text(text("text"), sink),
        Some("thinking") => {
            draft.begin_reasoning();
            draft.reasoning(text("thinking"), sink);
            if !text("signature").is_empty() {
                draft.sign(text("signature"));
            }
        }
        Some("redacted_thinking") => draft.withheld(text("data").to_owned()),
        Some("tool_use") => {
            draft.call(index, block["id"].as_str(), block["name"].as_str(), sink);
            if block["input"]
                .as_object()
                .is_some_and(|input| !input.is_empty())
            {
                draft.arguments(index, &block["input"].to_string());
            }
        }
        _ => {}
    }
}

fn stop(draft: &mut AnswerDraft, reason: &Value) {
    draft.stop = match reason.as_str() {
        Some("tool_use") => Some(StopReason::Tools),
        Some("max_tokens" | "model_context_window_exceeded") => Some(StopReason::Length),
        Some("refusal") => Some(StopReason::Refused),
        Some(_) => Some(StopReason::End),
        None => draft.stop,
    };
}

/// Input comes in three parts; later events repeat some of them.
fn add_usage(draft: &mut AnswerDraft, usage: &Value) {
    if !usage.is_object() {
        return;
    }
    let old = draft.usage.unwrap_or_default();
    let newer = |field: &str, old: u64| number(&usage[field]).max(old);
    let fresh = newer(
        "input_tokens",
        old.input.saturating_sub(old.cache_read + old.cache_write),
    );
    let cache_read = newer("cache_read_input_tokens", old.cache_read);
    let cache_write = newer("cache_creation_input_tokens", old.cache_write);
    draft.usage = Some(Usage {
        input: fresh + cache_read + cache_write,
        output: newer("output_tokens", old.output),
        cache_read,
        cache_write,
        ..old
    });
}
