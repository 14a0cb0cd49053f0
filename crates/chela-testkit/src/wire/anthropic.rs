//! Anthropic messages.

use serde_json::{Value, json};

use super::{AnswerEnd, StreamFrame, WireAnswer};

pub fn whole(answer: &WireAnswer) -> Value {
    let mut content = Vec::new();
    if !answer.reasoning.is_empty() {
        content.push(json!({
            "type": "thinking",
            "thinking": answer.full_reasoning(),
            "signature": answer.id("sig-"),
        }));
    }
    if !answer.text.is_empty() {
        content.push(json!({ "type": "text", "text": answer.full_text() }));
    }
    for call in &answer.calls {
        content.push(json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.object(),
        }));
    }
    let mut message = message(answer);
    message["content"] = content.into();
    message["stop_reason"] = stop(answer).into();
    message["usage"] = usage(answer, answer.usage.output);
    message
}

pub fn frames(answer: &WireAnswer) -> Vec<StreamFrame> {
    let mut frames = vec![event(
        "message_start",
        json!({ "message": message(answer) }),
    )];
    let mut index = 0;
    if !answer.reasoning.is_empty() {
        let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let thinking = |piece| json!({ "type": "thinking_delta", "thinking": piece });
        let signature = json!({ "type": "signature_delta", "signature": answer.id("sig-") });
        let deltas = answer.reasoning.iter().map(thinking).chain([signature]);
        push_block(&mut frames, &mut index, block, deltas);
    }
    if !answer.text.is_empty() {
        let block = json!({ "type": "text", "text": "" });
        let text = |piece| json!({ "type": "text_delta", "text": piece });
        push_block(&mut frames, &mut index, block, answer.text.iter().map(text));
    }
    for call in &answer.calls {
        let block = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        let input = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
        push_block(
            &mut frames,
            &mut index,
            block,
            call.arguments.iter().map(input),
        );
    }
    frames.push(event(
        "message_delta",
        json!({
            "delta": { "stop_reason": stop(answer), "stop_sequence": null },
            "usage": { "output_tokens": answer.usage.output },
        }),
    ));
    frames.push(event("message_stop", json!({})));
    frames
}

fn push_block(
    frames: &mut Vec<StreamFrame>,
    index: &mut usize,
    block: Value,
    deltas: impl Iterator<Item = Value>,
) {
    frames.push(event(
        "content_block_start",
        json!({ "index": index, "content_block": block }),
    ));
    for delta in deltas {
        frames.push(event(
            "content_block_delta",
            json!({ "index": index, "delta": delta }),
        ));
    }
    frames.push(event("content_block_stop", json!({ "index": index })));
    *index += 1;
}

fn event(name: &str, fields: Value) -> StreamFrame {
    let mut data = json!({ "type": name });
    if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
        data.extend(fields);
    }
    StreamFrame::Event(name.to_owned(), data)
}

fn message(answer: &WireAnswer) -> Value {
    json!({
        "id": answer.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(answer, 1),
    })
}

fn stop(answer: &WireAnswer) -> &'static str {
    match answer.stop {
        AnswerEnd::Done => "end_turn",
        AnswerEnd::Tools => "tool_use",
        AnswerEnd::Length => "max_tokens",
        AnswerEnd::Refused => "refusal",
    }
}

/// Anthropic counts what was cached beside the input, not within it.
fn usage(answer: &WireAnswer, output: u64) -> Value {
    let usage = &answer.usage;
    json!({
        "input_tokens": answer.evaluated().saturating_sub(usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": output,
    })
}
