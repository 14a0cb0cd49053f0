//! OpenAI chat completions, as llama.cpp, vLLM, LM Studio and others speak it too.

use serde_json::{Value, json};

use super::{AnswerEnd, CREATED, StreamFrame, WireAnswer};

pub fn whole(answer: &WireAnswer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.full_text() });
    if !answer.reasoning.is_empty() {
        message["reasoning_content"] = answer.full_reasoning().into();
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.full_arguments() },
            })
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": answer.id("chatcmpl-"),
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(answer) }],
        "usage": usage(answer),
        "timings": timings(answer),
    })
}

pub fn frames(answer: &WireAnswer) -> Vec<StreamFrame> {
    let mut frames = vec![delta(
        answer,
        &json!({ "role": "assistant", "content": "" }),
    )];
    for piece in &answer.reasoning {
        frames.push(delta(answer, &json!({ "reasoning_content": piece })));
    }
    for piece in &answer.text {
        frames.push(delta(answer, &json!({ "content": piece })));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let begun = json!({
            "index": index,
            "id": call.id,
            "type": "function",
            "function": { "name": call.name, "arguments": "" },
        });
        frames.push(delta(answer, &json!({ "tool_calls": [begun] })));
        for piece in &call.arguments {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            frames.push(delta(answer, &json!({ "tool_calls": [more] })));
        }
    }
    let mut last = chunk(answer);
    last["choices"] = json!([{ "index": 0, "delta": {}, "finish_reason": finish(answer) }]);
    last["timings"] = timings(answer);
    frames.push(StreamFrame::data(&last));
    if answer.usage_wanted {
        let mut counts = chunk(answer);
        counts["choices"] = json!([]);
        counts["usage"] = usage(answer);
        frames.push(StreamFrame::data(&counts));
    }
    frames.push(StreamFrame::Data("[DONE]".to_owned()));
    frames
}

fn delta(answer: &WireAnswer, delta: &Value) -> StreamFrame {
    let mut chunk = chunk(answer);
    chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": null }]);
    StreamFrame::data(&chunk)
}

fn chunk(answer: &WireAnswer) -> Value {
    json!({
        "id": answer.id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": answer.model,
    })
}

fn finish(answer: &WireAnswer) -> &'static str {
    match answer.stop {
        AnswerEnd::Done => "stop",
        AnswerEnd::Tools => "tool_calls",
        AnswerEnd::Length => "length",
        AnswerEnd::Refused => "content_filter",
    }
}

fn usage(answer: &WireAnswer) -> Value {
    let usage = &answer.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": usage.cache_details(),
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

/// What llama.cpp adds.
fn timings(answer: &WireAnswer) -> Value {
    json!({
        "cache_n": answer.usage.cached,
        "prompt_n": answer.evaluated(),
        "predicted_n": answer.usage.output,
    })
}
