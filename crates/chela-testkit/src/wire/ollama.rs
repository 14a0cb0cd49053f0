//! Ollama's own chat.

use serde_json::{Value, json};

use super::{Answer, Call, End, Frame};

pub fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.full_text() });
    if !answer.reasoning.is_empty() {
        message["thinking"] = answer.full_reasoning().into();
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer.calls.iter().map(tool_call).collect();
    }
    last(answer, &message)
}

pub fn frames(answer: &Answer) -> Vec<Frame> {
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
        .map(Frame::Line)
        .collect()
}

fn line(answer: &Answer, message: &Value) -> Value {
    json!({
        "model": answer.model,
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": false,
    })
}

fn last(answer: &Answer, message: &Value) -> Value {
    let mut last = line(answer, message);
    last["done"] = true.into();
    last["done_reason"] = match answer.stop {
        End::Length => "length",
        End::Done | End::Tools | End::Refused => "stop",
    }
    .into();
    last["prompt_eval_count"] = answer.usage.input.into();
    last["eval_count"] = answer.usage.output.into();
    last
}

fn tool_call(call: &Call) -> Value {
    json!({ "id": call.id, "function": { "name": call.name, "arguments": call.object() } })
}
