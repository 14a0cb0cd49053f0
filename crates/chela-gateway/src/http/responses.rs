//! `/v1/responses`: OpenAI's newer interface.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_completions::{AskedMessage, read_messages, refuse_tools};
use super::read_body::{TURN_BODY, read_json};
use super::sse::{SseFrame, StreamForm, stream_answer};
use super::turn_request::{TurnRequest, answer, model_or_usual};
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
    tools: Vec<Value>,
    #[serde(default)]
    previous_response_id: Option<String>,
}

impl ResponseAsk {
    pub(super) fn take_turn(&mut self) -> Result<TurnRequest, ErrorReply> {
        refuse_tools(&self.tools)?;
        let mut request = TurnRequest {
            model: model_or_usual(&self.model),
            user: self.user.take(),
            after: self.previous_response_id.clone(),
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
    let request = ask.take_turn()?;
    let model = request.model.clone();
    let item = request.into_work(&state, &headers).await?;
    let head = ResponseHead {
        key: item.id.trim_start_matches("api:").to_owned(),
        created: state.lanes.host().unix_time(),
        model,
        previous: ask.previous_response_id,
    };
    if ask.stream {
        let form = ResponseStream {
            head,
            sequence: 0,
            text: String::new(),
        };
        return stream_answer(&state, item, form).await;
    }
    let outcome = answer(&state, item).await?;
    Ok(Json(head.completed(&outcome, &outcome.reply)).into_response())
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
                let message: AskedMessage = serde_json::from_value(item).map_err(|error| {
                    ErrorReply::bad_request(format!("an item of `input` cannot be read: {error}"))
                })?;
                messages.push(message);
            }
            Some("reasoning") => {}
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
}

impl ResponseHead {
    fn object(&self, status: &str, output: &[Value]) -> Value {
        json!({
            "id": format!("resp_{}", self.key), "object": "response", "created_at": self.created,
            "status": status, "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "model": self.model, "output": output, "parallel_tool_calls": true,
            "previous_response_id": self.previous, "temperature": null, "tool_choice": "auto",
            "tools": [], "top_p": null, "usage": null,
        })
    }

    fn item(&self, status: &str, text: Option<&str>) -> Value {
        let content: Vec<Value> = text.map(part).into_iter().collect();
        json!({
            "type": "message", "id": format!("msg_{}", self.key), "role": "assistant",
            "status": status, "content": content,
        })
    }

    fn completed(&self, outcome: &WorkOutcome, text: &str) -> Value {
        let mut response = self.object("completed", &[self.item("completed", Some(text))]);
        put(
            &mut response,
            "usage",
            json!({
                "input_tokens": outcome.input_tokens,
                "input_tokens_details": { "cached_tokens": 0 },
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
    text: String,
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

impl StreamForm for ResponseStream {
    fn begin(&mut self) -> Vec<SseFrame> {
        let begun = json!({ "response": self.head.object("in_progress", &[]) });
        let item = json!({ "output_index": 0, "item": self.head.item("in_progress", None) });
        vec![
            self.frame("response.created", begun.clone()),
            self.frame("response.in_progress", begun),
            self.frame("response.output_item.added", item),
            self.in_place("response.content_part.added", "part", part("")),
        ]
    }

    fn text(&mut self, delta: &str) -> Vec<SseFrame> {
        self.text.push_str(delta);
        vec![self.in_place("response.output_text.delta", "delta", delta.into())]
    }

    fn end(&mut self, outcome: &WorkOutcome) -> Vec<SseFrame> {
        let text = self.text.clone();
        let item = json!({ "output_index": 0, "item": self.head.item("completed", Some(&text)) });
        let response = json!({ "response": self.head.completed(outcome, &text) });
        vec![
            self.in_place("response.output_text.done", "text", text.as_str().into()),
            self.in_place("response.content_part.done", "part", part(&text)),
            self.frame("response.output_item.done", item),
            self.frame("response.completed", response),
        ]
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
