//! `/v1/responses`: OpenAI's newer interface.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::program_messages::{
    OfferedTools, ProgramMessage, call_in_words, plain_text, read_messages,
};
use super::read_body::{TURN_BODY, read_json};
use super::sse::{SseFrame, StreamForm, stream_answer};
use super::turn_request::{TurnAnswer, TurnRequest, answer, model_or_usual, take_turn};
use crate::caller_tools::CallerCall;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::json_member::put;
use crate::work_item::WorkOutcome;

#[derive(Debug, Deserialize)]
pub(super) struct ResponseAsk {
    #[serde(default)]
    model: String,
    input: Value,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    previous_response_id: Option<String>,
}

impl ResponseAsk {
    pub(super) fn read_turn(&mut self) -> Result<TurnRequest, ErrorReply> {
        let tools = self.tools.as_deref().unwrap_or_default();
        let offered = OfferedTools::read(tools, self.tool_choice.as_ref())?;
        let mut request = TurnRequest {
            model: model_or_usual(&self.model),
            user: self.user.take(),
            after: self.previous_response_id.clone(),
            tools: offered.tools,
            must_call: offered.must_call,
            ..read_input(self.input.take())?
        };
        request.instructions.extend(self.instructions.take());
        Ok(request)
    }
}

pub(super) async fn create(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ErrorReply> {
    let mut ask: ResponseAsk = read_json(body, TURN_BODY).await?;
    let request = ask.read_turn()?;
    let model = request.model.clone();
    let turn = take_turn(&state, &headers, request).await?;
    let head = ResponseHead {
        key: turn.key.clone(),
        created: state.lanes.host().unix_time(),
        model,
        previous: ask.previous_response_id,
        tools: ask.tools.unwrap_or_default(),
    };
    if ask.stream {
        let form = ResponseStream {
            head,
            sequence: 0,
            text: None,
        };
        return Ok(stream_answer(&state, turn, form));
    }
    let (calls, outcome) = match answer(&state, turn).await? {
        TurnAnswer::Ended(outcome) => (Vec::new(), outcome),
        TurnAnswer::Calls(calls, said) => (calls, said),
    };
    let has_text = !outcome.reply.is_empty() || calls.is_empty();
    let text = has_text.then_some(outcome.reply.as_str());
    Ok(Json(head.completed(&outcome, text, &calls)).into_response())
}

/// The input: a text, or messages.
fn read_input(input: Value) -> Result<TurnRequest, ErrorReply> {
    if let Value::String(text) = input {
        if text.trim().is_empty() {
            return Err(ErrorReply::bad_request("`input` is empty"));
        }
        return Ok(TurnRequest {
            text,
            ..TurnRequest::default()
        });
    }
    let Value::Array(items) = input else {
        return Err(ErrorReply::bad_request("`input` is a text or a list"));
    };
    let mut messages = Vec::new();
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            None | Some("message") => {
                let message: ProgramMessage = serde_json::from_value(item).map_err(|error| {
                    ErrorReply::bad_request(format!("an item of `input` cannot be read: {error}"))
                })?;
                messages.push(message);
            }
            Some("reasoning") => {}
            // As the older interface writes them.
            Some("function_call") => {
                let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
                messages.push(ProgramMessage {
                    role: "assistant".to_owned(),
                    content: call_in_words(text("name"), text("arguments")).into(),
                    ..ProgramMessage::default()
                });
            }
            Some("function_call_output") => {
                let call = item.get("call_id").and_then(Value::as_str);
                messages.push(ProgramMessage {
                    role: "tool".to_owned(),
                    content: plain_text(item.get("output").unwrap_or(&Value::Null)).into(),
                    tool_call_id: call.map(str::to_owned),
                    ..ProgramMessage::default()
                });
            }
            Some(other) => {
                return Err(ErrorReply::bad_request(format!(
                    "an item of the type `{}` cannot be read; messages can",
                    chela_core::sanitize::literal(&other.chars().take(40).collect::<String>())
                )));
            }
        }
    }
    read_messages(messages)
}

#[derive(Debug)]
struct ResponseHead {
    key: String,
    created: u64,
    model: String,
    previous: Option<String>,
    /// As they came.
    tools: Vec<Value>,
}

impl ResponseHead {
    fn object(&self, status: &str, output: &[Value]) -> Value {
        json!({
            "id": format!("resp_{}", self.key), "object": "response", "created_at": self.created,
            "status": status, "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "model": self.model, "output": output, "parallel_tool_calls": true,
            "previous_response_id": self.previous, "temperature": null, "tool_choice": "auto",
            "tools": self.tools, "top_p": null, "usage": null,
        })
    }

    fn item(&self, status: &str, text: Option<&str>) -> Value {
        let content: Vec<Value> = text.map(part).into_iter().collect();
        json!({
            "type": "message", "id": format!("msg_{}", self.key), "role": "assistant",
            "status": status, "content": content,
        })
    }

    fn call(&self, call: &CallerCall, (status, arguments): (&str, &str)) -> Value {
        json!({
            "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
            "name": call.name, "arguments": arguments, "status": status,
        })
    }

    fn completed(&self, outcome: &WorkOutcome, text: Option<&str>, calls: &[CallerCall]) -> Value {
        let said = text.map(|text| self.item("completed", Some(text)));
        let called = calls
            .iter()
            .map(|call| self.call(call, ("completed", &call.arguments.to_string())));
        let output: Vec<Value> = said.into_iter().chain(called).collect();
        let mut response = self.object("completed", &output);
        put(
            &mut response,
            "usage",
            json!({
                "input_tokens": outcome.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": outcome.cache_read_tokens,
                    "cache_write_tokens": outcome.cache_write_tokens,
                },
                "output_tokens": outcome.output_tokens,
                "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": outcome.input_tokens + outcome.output_tokens,
            }),
        );
        response
    }
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

struct ResponseStream {
    head: ResponseHead,
    sequence: u64,
    /// What was said so far; `None` while no message was begun.
    text: Option<String>,
}

impl ResponseStream {
    fn frame(&mut self, event: &'static str, mut data: Value) -> SseFrame {
        put(&mut data, "type", event);
        put(&mut data, "sequence_number", self.sequence);
        self.sequence += 1;
        SseFrame::named(event, &data)
    }

    fn place(&self) -> Value {
        json!({ "item_id": format!("msg_{}", self.head.key), "output_index": 0, "content_index": 0 })
    }

    fn in_place(&mut self, event: &'static str, name: &str, value: Value) -> SseFrame {
        let mut data = self.place();
        put(&mut data, name, value);
        if event.starts_with("response.output_text") {
            put(&mut data, "logprobs", json!([]));
        }
        self.frame(event, data)
    }
}

impl ResponseStream {
    /// Begins the message, once.
    fn begin_text(&mut self) -> Vec<SseFrame> {
        if self.text.is_some() {
            return Vec::new();
        }
        self.text = Some(String::new());
        let item = json!({ "output_index": 0, "item": self.head.item("in_progress", None) });
        vec![
            self.frame("response.output_item.added", item),
            self.in_place("response.content_part.added", "part", part("")),
        ]
    }

    /// Ends the message, if there is one.
    fn end_text(&mut self) -> Vec<SseFrame> {
        let Some(text) = self.text.clone() else {
            return Vec::new();
        };
        let item = json!({ "output_index": 0, "item": self.head.item("completed", Some(&text)) });
        vec![
            self.in_place("response.output_text.done", "text", text.as_str().into()),
            self.in_place("response.content_part.done", "part", part(&text)),
            self.frame("response.output_item.done", item),
        ]
    }

    fn call_frames(&mut self, at: usize, call: &CallerCall) -> Vec<SseFrame> {
        let arguments = call.arguments.to_string();
        let id = format!("fc_{}", call.id);
        let begun = self.head.call(call, ("in_progress", ""));
        let ended = self.head.call(call, ("completed", &arguments));
        let place = |name: &str, value: &str| {
            let mut data = json!({ "item_id": id, "output_index": at });
            put(&mut data, name, value);
            data
        };
        let mut done = place("arguments", &arguments);
        put(&mut done, "name", call.name.as_str());
        vec![
            self.frame(
                "response.output_item.added",
                json!({ "output_index": at, "item": begun }),
            ),
            self.frame(
                "response.function_call_arguments.delta",
                place("delta", &arguments),
            ),
            self.frame("response.function_call_arguments.done", done),
            self.frame(
                "response.output_item.done",
                json!({ "output_index": at, "item": ended }),
            ),
        ]
    }

    fn completed(&mut self, outcome: &WorkOutcome, calls: &[CallerCall]) -> SseFrame {
        let text = self.text.clone();
        let response = self.head.completed(outcome, text.as_deref(), calls);
        self.frame("response.completed", json!({ "response": response }))
    }
}

impl StreamForm for ResponseStream {
    fn begin(&mut self) -> Vec<SseFrame> {
        let begun = json!({ "response": self.head.object("in_progress", &[]) });
        vec![
            self.frame("response.created", begun.clone()),
            self.frame("response.in_progress", begun),
        ]
    }

    fn text(&mut self, delta: &str) -> Vec<SseFrame> {
        let mut frames = self.begin_text();
        if let Some(text) = &mut self.text {
            text.push_str(delta);
        }
        frames.push(self.in_place("response.output_text.delta", "delta", delta.into()));
        frames
    }

    fn calls(&mut self, calls: &[CallerCall], said: &WorkOutcome) -> Vec<SseFrame> {
        let mut frames = self.end_text();
        let first = usize::from(self.text.is_some());
        for (at, call) in calls.iter().enumerate() {
            frames.extend(self.call_frames(first + at, call));
        }
        frames.push(self.completed(said, calls));
        frames
    }

    fn end(&mut self, outcome: &WorkOutcome) -> Vec<SseFrame> {
        let mut frames = self.begin_text();
        frames.extend(self.end_text());
        frames.push(self.completed(outcome, &[]));
        frames
    }

    fn fail(&mut self, why: &str) -> Vec<SseFrame> {
        let mut response = self.head.object("failed", &[]);
        put(
            &mut response,
            "error",
            json!({ "code": "server_error", "message": why }),
        );
        vec![self.frame("response.failed", json!({ "response": response }))]
    }
}
