//! `/v1/chat/completions`: OpenAI's older interface.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::program_messages::{OfferedTools, ProgramMessage, read_messages};
use super::read_body::{TURN_BODY, read_json};
use super::sse::{SseFrame, StreamForm, stream_answer};
use super::turn_request::{TurnAnswer, TurnRequest, answer, model_or_usual, take_turn};
use crate::caller_tools::CallerCall;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::json_member::put;
use crate::work_item::{WorkImage, WorkOutcome};

#[derive(Debug, Deserialize)]
pub(super) struct CompletionAsk {
    #[serde(default)]
    model: String,
    messages: Vec<ProgramMessage>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    n: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl CompletionAsk {
    pub(super) fn read_turn(&mut self) -> Result<TurnRequest, ErrorReply> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(ErrorReply::bad_request(
                "an agent gives one answer: leave `n` out",
            ));
        }
        let tools = self.tools.take().unwrap_or_default();
        let offered = OfferedTools::read(&tools, self.tool_choice.as_ref())?;
        Ok(TurnRequest {
            model: model_or_usual(&self.model),
            user: self.user.take(),
            tools: offered.tools,
            must_call: offered.must_call,
            ..read_messages(std::mem::take(&mut self.messages))?
        })
    }
}

pub(super) async fn create(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ErrorReply> {
    let mut ask: CompletionAsk = read_json(body, TURN_BODY).await?;
    let request = ask.read_turn()?;
    let model = request.model.clone();
    let turn = take_turn(&state, &headers, request).await?;
    let head = CompletionHead {
        id: format!("chatcmpl-{}", turn.key),
        created: state.lanes.host().unix_time(),
        model,
    };
    if ask.stream {
        let form = CompletionStream {
            head,
            with_usage: ask
                .stream_options
                .is_some_and(|options| options.include_usage),
        };
        return Ok(stream_answer(&state, turn, form));
    }
    let (message, finish, outcome) = match answer(&state, turn).await? {
        TurnAnswer::Ended(outcome) => {
            let message = json!({ "role": "assistant", "content": outcome.reply, "refusal": null });
            (message, "stop", outcome)
        }
        TurnAnswer::Calls(calls, said) => {
            let content = (!said.reply.is_empty()).then_some(&said.reply);
            let calls: Vec<Value> = calls.iter().map(call_json).collect();
            let message = json!({
                "role": "assistant", "content": content, "refusal": null, "tool_calls": calls,
            });
            (message, "tool_calls", said)
        }
    };
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish,
    });
    let mut reply = head.object("chat.completion", vec![choice]);
    put(&mut reply, "usage", usage(&outcome));
    Ok(Json(reply).into_response())
}

/// The words and pictures of a message, which is a text or a list of parts.
pub(super) fn read_content(content: &Value) -> Result<(String, Vec<WorkImage>), ErrorReply> {
    let parts = match content {
        Value::Null => return Ok((String::new(), Vec::new())),
        Value::String(text) => return Ok((text.clone(), Vec::new())),
        Value::Array(parts) => parts,
        _ => {
            return Err(ErrorReply::bad_request(
                "`content` is a text or a list of parts",
            ));
        }
    };
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for part in parts {
        match part.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" | "input_text" | "output_text" => {
                let text = part.get("text").and_then(Value::as_str);
                texts.push(text.unwrap_or_default().to_owned());
            }
            "image_url" => images.push(data_image(part.pointer("/image_url/url"))?),
            "input_image" => images.push(data_image(part.get("image_url"))?),
            "image" => images.push(source_image(part)?),
            // What the caller's own tools said is in the history as text.
            "tool_use" | "tool_result" | "thinking" => {}
            other => {
                return Err(ErrorReply::bad_request(format!(
                    "a part of the type `{}` cannot be read; text and pictures can",
                    chela_core::sanitize::literal(&other.chars().take(40).collect::<String>())
                )));
            }
        }
    }
    Ok((texts.join("\n"), images))
}

/// A picture as a `data:` address: nothing is fetched for a caller.
fn data_image(url: Option<&Value>) -> Result<WorkImage, ErrorReply> {
    let read = || {
        let url = url?.as_str()?.strip_prefix("data:")?;
        let (mime, data) = url.split_once(";base64,")?;
        Some(WorkImage {
            mime: mime.to_owned(),
            data: data.to_owned(),
        })
    };
    read().ok_or_else(|| ErrorReply::bad_request("a picture has to be a `data:…;base64,…` address"))
}

/// A picture as Anthropic writes one.
fn source_image(part: &Value) -> Result<WorkImage, ErrorReply> {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str);
    match (text("/source/media_type"), text("/source/data")) {
        (Some(mime), Some(data)) => Ok(WorkImage {
            mime: mime.to_owned(),
            data: data.to_owned(),
        }),
        _ => Err(ErrorReply::bad_request("a picture has to come as base64")),
    }
}

fn usage(outcome: &WorkOutcome) -> Value {
    json!({
        "prompt_tokens": outcome.input_tokens,
        "completion_tokens": outcome.output_tokens,
        "total_tokens": outcome.input_tokens + outcome.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": outcome.cache_read_tokens,
            "cache_write_tokens": outcome.cache_write_tokens,
        },
    })
}

fn call_json(call: &CallerCall) -> Value {
    json!({
        "id": call.id, "type": "function",
        "function": { "name": call.name, "arguments": call.arguments.to_string() },
    })
}

#[derive(Debug)]
struct CompletionHead {
    id: String,
    created: u64,
    model: String,
}

impl CompletionHead {
    fn object(&self, object: &str, choices: Vec<Value>) -> Value {
        json!({
            "id": self.id, "object": object, "created": self.created, "model": self.model,
            "choices": choices,
        })
    }
}

struct CompletionStream {
    head: CompletionHead,
    with_usage: bool,
}

impl CompletionStream {
    fn chunk(&self, delta: &Value, finish: Option<&str>) -> SseFrame {
        let choice = json!({
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish,
        });
        SseFrame::data(&self.head.object("chat.completion.chunk", vec![choice]))
    }

    fn finish(&self, reason: &str, outcome: &WorkOutcome) -> Vec<SseFrame> {
        let mut frames = vec![self.chunk(&json!({}), Some(reason))];
        if self.with_usage {
            let mut last = self.head.object("chat.completion.chunk", Vec::new());
            put(&mut last, "usage", usage(outcome));
            frames.push(SseFrame::data(&last));
        }
        frames.push(Self::done());
        frames
    }

    fn done() -> SseFrame {
        SseFrame {
            event: None,
            data: "[DONE]".to_owned(),
        }
    }
}

impl StreamForm for CompletionStream {
    fn begin(&mut self) -> Vec<SseFrame> {
        vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn text(&mut self, delta: &str) -> Vec<SseFrame> {
        vec![self.chunk(&json!({ "content": delta }), None)]
    }

    fn end(&mut self, outcome: &WorkOutcome) -> Vec<SseFrame> {
        self.finish("stop", outcome)
    }

    fn calls(&mut self, calls: &[CallerCall], said: &WorkOutcome) -> Vec<SseFrame> {
        let calls = calls.iter().enumerate().map(|(index, call)| {
            let mut call = call_json(call);
            put(&mut call, "index", index);
            self.chunk(&json!({ "tool_calls": [call] }), None)
        });
        calls.chain(self.finish("tool_calls", said)).collect()
    }

    fn fail(&mut self, why: &str) -> Vec<SseFrame> {
        let error =
            json!({ "error": { "message": why, "type": "api_error", "code": "turn_failed" } });
        vec![SseFrame::data(&error), Self::done()]
    }
}
