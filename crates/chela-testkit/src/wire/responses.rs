//! OpenAI responses.

use serde_json::{Value, json};

use super::{AnswerEnd, CREATED, StreamFrame, WireAnswer, WireCall};

pub fn whole(answer: &WireAnswer) -> Value {
    let mut output = Vec::new();
    if !answer.reasoning.is_empty() {
        output.push(reasoning_item(answer));
    }
    if !answer.text.is_empty() {
        output.push(message_item(answer, &answer.full_text(), "completed"));
    }
    for call in &answer.calls {
        output.push(call_item(call, &call.full_arguments(), "completed"));
    }
    let mut response = response(answer, status(answer));
    response["output"] = output.into();
    response["usage"] = usage(answer);
    if let Some(reason) = incomplete(answer) {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    response
}

pub fn frames(answer: &WireAnswer) -> Vec<StreamFrame> {
    let mut stream = Stream::default();
    let begun = response(answer, "in_progress");
    stream.push("response.created", json!({ "response": begun }));
    stream.push("response.in_progress", json!({ "response": begun }));
    if !answer.reasoning.is_empty() {
        stream.reasoning(answer);
    }
    if !answer.text.is_empty() {
        stream.message(answer);
    }
    for call in &answer.calls {
        stream.call(call);
    }
    let last = match incomplete(answer) {
        Some(_) => "response.incomplete",
        None => "response.completed",
    };
    stream.push(last, json!({ "response": whole(answer) }));
    stream.frames
}

/// Events with their numbers, and the index of the item under way.
#[derive(Default)]
struct Stream {
    frames: Vec<StreamFrame>,
    item: usize,
}

impl Stream {
    fn push(&mut self, name: &str, fields: Value) {
        let mut data = json!({ "type": name, "sequence_number": self.frames.len() });
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        self.frames.push(StreamFrame::Event(name.to_owned(), data));
    }

    fn open(&mut self, item: Value) {
        let at = self.item;
        self.push(
            "response.output_item.added",
            json!({ "output_index": at, "item": item }),
        );
    }

    fn close(&mut self, item: Value) {
        let at = self.item;
        self.push(
            "response.output_item.done",
            json!({ "output_index": at, "item": item }),
        );
        self.item += 1;
    }

    fn reasoning(&mut self, answer: &WireAnswer) {
        let (id, at) = (answer.id("rs_"), self.item);
        self.open(json!({ "type": "reasoning", "id": id, "summary": [] }));
        for piece in &answer.reasoning {
            self.push(
                "response.reasoning_summary_text.delta",
                json!({ "item_id": id, "output_index": at, "summary_index": 0, "delta": piece }),
            );
        }
        self.push(
            "response.reasoning_summary_text.done",
            json!({ "item_id": id, "output_index": at, "summary_index": 0,
                    "text": answer.full_reasoning() }),
        );
        self.close(reasoning_item(answer));
    }

    fn message(&mut self, answer: &WireAnswer) {
        let (id, at, text) = (answer.id("msg_"), self.item, answer.full_text());
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let mut empty = message_item(answer, "", "in_progress");
        empty["content"] = json!([]);
        self.open(empty);
        self.push(
            "response.content_part.added",
            json!({ "item_id": id, "output_index": at, "content_index": 0, "part": part("") }),
        );
        for piece in &answer.text {
            self.push(
                "response.output_text.delta",
                json!({ "item_id": id, "output_index": at, "content_index": 0, "delta": piece }),
            );
        }
        self.push(
            "response.output_text.done",
            json!({ "item_id": id, "output_index": at, "content_index": 0, "text": text }),
        );
        self.push(
            "response.content_part.done",
            json!({ "item_id": id, "output_index": at, "content_index": 0, "part": part(&text) }),
        );
        self.close(message_item(answer, &text, "completed"));
    }

    fn call(&mut self, call: &WireCall) {
        let (id, at) = (item_id(call), self.item);
        self.open(call_item(call, "", "in_progress"));
        for piece in &call.arguments {
            self.push(
                "response.function_call_arguments.delta",
                json!({ "item_id": id, "output_index": at, "delta": piece }),
            );
        }
        let whole = call.full_arguments();
        self.push(
            "response.function_call_arguments.done",
            json!({ "item_id": id, "output_index": at, "arguments": whole }),
        );
        self.close(call_item(call, &whole, "completed"));
    }
}

fn response(answer: &WireAnswer, status: &str) -> Value {
    json!({
        "id": answer.id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": answer.model,
        "output": [],
        "usage": null,
    })
}

fn reasoning_item(answer: &WireAnswer) -> Value {
    json!({
        "type": "reasoning",
        "id": answer.id("rs_"),
        "summary": [{ "type": "summary_text", "text": answer.full_reasoning() }],
        "encrypted_content": answer.id("sealed-"),
    })
}

fn message_item(answer: &WireAnswer, text: &str, status: &str) -> Value {
    json!({
        "type": "message",
        "id": answer.id("msg_"),
        "status": status,
        "role": "assistant",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

fn call_item(call: &WireCall, arguments: &str, status: &str) -> Value {
    json!({
        "type": "function_call",
        "id": item_id(call),
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
        "status": status,
    })
}

fn item_id(call: &WireCall) -> String {
    format!("fc_{}", call.id)
}

fn status(answer: &WireAnswer) -> &'static str {
    match incomplete(answer) {
        Some(_) => "incomplete",
        None => "completed",
    }
}

fn incomplete(answer: &WireAnswer) -> Option<&'static str> {
    match answer.stop {
        AnswerEnd::Done | AnswerEnd::Tools => None,
        AnswerEnd::Length => Some("max_output_tokens"),
        AnswerEnd::Refused => Some("content_filter"),
    }
}

fn usage(answer: &WireAnswer) -> Value {
    let usage = &answer.usage;
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": usage.cache_details(),
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input + usage.output,
    })
}
