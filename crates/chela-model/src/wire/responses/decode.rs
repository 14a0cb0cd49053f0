//! The stream of an OpenAI responses answer.

use serde_json::{Value, json};

use crate::wire::draft::{AnswerDraft, EventSink};
use crate::wire::{DecodeDocument, StreamFault, number};
use crate::{StopReason, Usage};

#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    refused: bool,
}

impl DecodeDocument for ResponsesDecoder {
    fn event(
        &mut self,
        event: &Value,
        draft: &mut AnswerDraft,
        sink: EventSink<'_>,
    ) -> Result<(), StreamFault> {
        let slot = number(&event["output_index"]);
        let delta = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str() {
            Some("response.output_item.added") => begin(slot, &event["item"], draft, sink),
            Some("response.output_text.delta") => draft.text(delta, sink),
            Some("response.refusal.delta") => {
                self.refused = true;
                draft.text(delta, sink);
            }
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                draft.reasoning(delta, sink);
            }
            Some("response.reasoning_summary_part.added")
                if number(&event["summary_index"]) > 0 =>
            {
                draft.reasoning("\n\n", sink);
            }
            Some("response.function_call_arguments.delta") => draft.arguments(slot, delta),
            Some("response.output_item.done") => end(slot, &event["item"], draft),
            Some("response.completed" | "response.incomplete") => {
                self.close(&event["response"], draft);
            }
            Some("response.failed") => {
                let response = &event["response"];
                return Err(StreamFault::said(&response["error"]));
            }
            Some("error") => {
                let error = event.get("error").unwrap_or(event);
                return Err(StreamFault::said(error));
            }
            Some(_) => {}
            // A server that does not stream gives the whole answer at once.
            None if event["object"] == "response" => {
                if event["error"].is_object() {
                    return Err(StreamFault::said(&event["error"]));
                }
                let items = event["output"].as_array();
                for (at, item) in items.into_iter().flatten().enumerate() {
                    whole(at as u64, item, draft, sink);
                }
                self.close(event, draft);
            }
            None if event.get("error").is_some() => {
                return Err(StreamFault::said(&event["error"]));
            }
            None => return Err(StreamFault::strange(event)),
        }
        Ok(())
    }

    fn end(&mut self, _draft: &mut AnswerDraft) {}
}

impl ResponsesDecoder {
    fn close(&self, response: &Value, draft: &mut AnswerDraft) {
        draft.done = true;
        draft.closed = true;
        if response["usage"].is_object() {
            draft.usage = Some(usage(&response["usage"]));
        }
        let details = &response["incomplete_details"];
        draft.stop = Some(match details["reason"].as_str() {
            Some("content_filter") => StopReason::Refused,
            Some(_) => StopReason::Length,
            None if self.refused => StopReason::Refused,
            None => StopReason::End,
        });
    }
}

fn begin(slot: u64, item: &Value, draft: &mut AnswerDraft, sink: EventSink<'_>) {
    match item["type"].as_str() {
        Some("function_call") => {
            let id = item["call_id"].as_str().or(item["id"].as_str());
            draft.call(slot, id, item["name"].as_str(), sink);
        }
        Some("reasoning") => draft.begin_reasoning(),
        _ => {}
    }
}

/// The item once more, whole: arguments that did not come in pieces, and the sealed thoughts.
fn end(slot: u64, item: &Value, draft: &mut AnswerDraft) {
    match item["type"].as_str() {
        Some("function_call") => {
            draft.arguments_whole(slot, item["arguments"].as_str().unwrap_or_default());
        }
        Some("reasoning") => {
            if let Some(sealed) = item["encrypted_content"].as_str() {
                let kept = json!({"id": item["id"], "encrypted_content": sealed});
                draft.sign_whole(kept.to_string());
            }
        }
        _ => {}
    }
}

fn whole(slot: u64, item: &Value, draft: &mut AnswerDraft, sink: EventSink<'_>) {
    begin(slot, item, draft, sink);
    let texts = |field: &str| -> Vec<String> {
        let blocks = item[field].as_array();
        let texts = blocks.into_iter().flatten();
        texts
            .filter_map(|block| block["text"].as_str().map(str::to_owned))
            .collect()
    };
    match item["type"].as_str() {
        Some("message") => draft.text(&texts("content").concat(), sink),
        Some("reasoning") => draft.reasoning(&texts("summary").join("\n\n"), sink),
        _ => {}
    }
    end(slot, item, draft);
}

fn usage(usage: &Value) -> Usage {
    let (input, output) = (
        &usage["input_tokens_details"],
        &usage["output_tokens_details"],
    );
    Usage {
        input: number(&usage["input_tokens"]),
        output: number(&usage["output_tokens"]),
        cache_read: number(&input["cached_tokens"]),
        cache_write: number(&input["cache_write_tokens"]),
        reasoning: number(&output["reasoning_tokens"]),
        estimated: false,
    }
}
