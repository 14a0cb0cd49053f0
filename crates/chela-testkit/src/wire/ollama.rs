//! Ollama's own chat.

use serde_json::{Value, json};

use super::{AnswerEnd, StreamFrame, WireAnswer, WireCall};

pub fn whole(answer: &WireAnswer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.full_text() });
    if !answer.reasoning.is_empty() {
        message["thinking"] = answer.full_reasoning().into();
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer.calls.iter().map(tool_call).collect();
    }
    last(answer, &message)
}

pub fn frames(answer: &WireAnswer) -> Vec<StreamFrame> {
    let thinking = answer
        .reasoning
        .iter()
        .map(|piece| json!({ "role": "assistant", "content": "", "thinking": piece }));
    let text = answer
        .text
        .iter()
        .map(|piece| json!({ "role": "assistant", "content": piece }));
    let calls = answer
        .calls
        .iter()
        .map(|call| json!({ "role": "assistant", "content": "", "tool_calls": [tool_call(call)] }));
    let end = last(answer, &json!({ "role": "assistant", "content": "" }));
    thinking
        .chain(text)
        .chain(calls)
        .map(|message| line(answer, &message))
        .chain([end])
        .map(StreamFrame::Line)
        .collect()
}

fn line(answer: &WireAnswer, message: &Value) -> Value {
    json!({
        "model": answer.model,
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": false,
    })
}

fn last(answer: &WireAnswer, message: &Value) -> Value {
    let mut last = line(answer, message);
    last["done"] = true.into();
    last["done_reason"] = match answer.stop {
        AnswerEnd::Length => "length",
        AnswerEnd::Done | AnswerEnd::Tools | AnswerEnd::Refused => "stop",
    }
    .into();
    last["prompt_eval_count"] = answer.usage.input.into();
    last["eval_count"] = answer.usage.output.into();
    last
}

fn tool_call(call: &WireCall) -> Value {
    json!({ "id": call.id, "function": { "name": call.name, "arguments": call.object() } })
}
