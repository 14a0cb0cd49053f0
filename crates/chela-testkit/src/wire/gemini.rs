//! Gemini's generateContent and streamGenerateContent.

use serde_json::{Value, json};

use super::{AnswerEnd, StreamFrame, WireAnswer, WireCall};

pub fn whole(answer: &WireAnswer) -> Value {
    let mut parts = Vec::new();
    if !answer.reasoning.is_empty() {
        parts.push(json!({ "text": answer.full_reasoning(), "thought": true }));
    }
    if !answer.text.is_empty() {
        parts.push(json!({ "text": answer.full_text() }));
    }
    parts.extend(answer.calls.iter().map(|call| call_part(answer, call)));
    let mut response = response(answer, parts);
    response["candidates"][0]["finishReason"] = finish(answer).into();
    response
}

pub fn frames(answer: &WireAnswer) -> Vec<StreamFrame> {
    let thoughts = answer
        .reasoning
        .iter()
        .map(|piece| json!({ "text": piece, "thought": true }));
    let text = answer.text.iter().map(|piece| json!({ "text": piece }));
    let calls = answer.calls.iter().map(|call| call_part(answer, call));
    let mut parts: Vec<Value> = thoughts.chain(text).chain(calls).collect();
    // The last part comes with the reason.
    let last = parts.pop().unwrap_or_else(|| json!({ "text": "" }));
    let mut frames: Vec<StreamFrame> = parts
        .into_iter()
        .map(|part| StreamFrame::data(&response(answer, vec![part])))
        .collect();
    let mut end = response(answer, vec![last]);
    end["candidates"][0]["finishReason"] = finish(answer).into();
    frames.push(StreamFrame::data(&end));
    frames
}

fn call_part(answer: &WireAnswer, call: &WireCall) -> Value {
    json!({
        "functionCall": { "id": call.id, "name": call.name, "args": call.object() },
        "thoughtSignature": answer.id("sig-"),
    })
}

fn response(answer: &WireAnswer, parts: Vec<Value>) -> Value {
    let usage = &answer.usage;
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
        "usageMetadata": {
            "promptTokenCount": usage.input,
            "cachedContentTokenCount": usage.cached,
            "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.input + usage.output,
        },
        "modelVersion": answer.model,
        "responseId": answer.id("r-"),
    })
}

fn finish(answer: &WireAnswer) -> &'static str {
    match answer.stop {
        AnswerEnd::Done | AnswerEnd::Tools => "STOP",
        AnswerEnd::Length => "MAX_TOKENS",
        AnswerEnd::Refused => "SAFETY",
    }
}
