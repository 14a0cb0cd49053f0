//! The stream of a Gemini answer.

use serde_json::Value;

use crate::wire::draft::{AnswerDraft, EventSink};
use crate::wire::{DecodeDocument, StreamFault, number};
use crate::{StopReason, Usage};

#[derive(Debug, Default)]
pub struct GoogleDecoder {
    calls: u64,
}

impl DecodeDocument for GoogleDecoder {
    fn event(
        &mut self,
        chunk: &Value,
        draft: &mut AnswerDraft,
        sink: EventSink<'_>,
    ) -> Result<(), StreamFault> {
        // Without `alt=sse` the answer is an array of the same chunks.
        if let Some(chunks) = chunk.as_array() {
            return chunks
                .iter()
                .try_for_each(|chunk| self.event(chunk, draft, sink));
        }
        if let Some(error) = chunk.get("error") {
            return Err(StreamFault::said(error));
        }
        if chunk["usageMetadata"].is_object() {
            draft.usage = Some(usage(&chunk["usageMetadata"]));
        }
        let feedback = &chunk["promptFeedback"];
        if let Some(reason) = feedback["blockReason"].as_str() {
            draft.text(
                &format!("(the endpoint blocked this prompt: {reason})"),
                sink,
            );
            draft.stop = Some(StopReason::Refused);
            draft.done = true;
        }
        let Some(candidate) = chunk["candidates"].get(0) else {
            let known = [
                "usageMetadata",
                "promptFeedback",
                "candidates",
                "responseId",
            ];
            return match known.iter().any(|field| chunk.get(*field).is_some()) {
                true => Ok(()),
                false => Err(StreamFault::strange(chunk)),
            };
        };
        let content = &candidate["content"];
        for part in content["parts"].as_array().into_iter().flatten() {
            self.part(part, draft, sink);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            draft.done = true;
            draft.stop = Some(match reason {
                "MAX_TOKENS" => StopReason::Length,
                "STOP" | "FINISH_REASON_UNSPECIFIED" | "OTHER" => StopReason::End,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
                    return Err(StreamFault::Malformed(format!(
                        "the model made a tool call that cannot be read ({reason})"
                    )));
                }
                _ => StopReason::Refused,
            });
        }
        Ok(())
    }

    fn end(&mut self, _draft: &mut AnswerDraft) {}
}

impl GoogleDecoder {
    fn part(&mut self, part: &Value, draft: &mut AnswerDraft, sink: EventSink<'_>) {
        let text = part["text"].as_str().unwrap_or_default();
        let signature = part["thoughtSignature"].as_str();
        if part["thought"].as_bool() == Some(true) {
            draft.reasoning(text, sink);
            if let Some(signature) = signature {
                draft.sign(signature);
            }
            return;
        }
        // The signature of what was thought before this part goes before it here too.
        if let Some(signature) = signature {
            draft.withheld(signature.to_owned());
        }
        draft.text(text, sink);
        let call = &part["functionCall"];
        if let Some(name) = call["name"].as_str() {
            let slot = self.calls;
            self.calls += 1;
            draft.call(slot, call["id"].as_str(), Some(name), sink);
            if call["args"].is_object() {
                draft.arguments(slot, &call["args"].to_string());
            }
        }
    }
}

fn usage(usage: &Value) -> Usage {
    let thoughts = number(&usage["thoughtsTokenCount"]);
    Usage {
        input: number(&usage["promptTokenCount"]) + number(&usage["toolUsePromptTokenCount"]),
        output: number(&usage["candidatesTokenCount"]) + thoughts,
        cache_read: number(&usage["cachedContentTokenCount"]),
        cache_write: 0,
        reasoning: thoughts,
        estimated: false,
    }
}
