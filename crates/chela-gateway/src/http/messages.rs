//! `/v1/messages`: Anthropic's interface.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_completions::read_content;
use super::program_messages::{OfferedTools, ProgramMessage, read_messages};
use super::read_body::{TURN_BODY, read_json};
use super::sse::{SseFrame, StreamForm, stream_answer};
use super::turn_request::{TurnAnswer, TurnRequest, answer, model_or_usual, take_turn};
use crate::caller_tools::CallerCall;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::json_member::put;
use crate::work_item::WorkOutcome;

const PATH: &str = "/v1/messages";

#[derive(Debug, Deserialize)]
pub(super) struct MessagesAsk {
    #[serde(default)]
    model: String,
    messages: Vec<ProgramMessage>,
    #[serde(default)]
    system: Value,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    metadata: Option<AskMetadata>,
}

#[derive(Debug, Deserialize)]
struct AskMetadata {
    #[serde(default)]
    user_id: Option<String>,
}

impl MessagesAsk {
    pub(super) fn read_turn(&mut self) -> Result<TurnRequest, ErrorReply> {
        let (system, _) = read_content(&self.system)?;
        let offered = OfferedTools::read(&self.tools, self.tool_choice.as_ref())?;
        let mut request = TurnRequest {
            model: model_or_usual(&self.model),
            tools: offered.tools,
            must_call: offered.must_call,
            user: self.metadata.take().and_then(|metadata| metadata.user_id),
            ..read_messages(std::mem::take(&mut self.messages))?
        };
        if !system.is_empty() {
            request.instructions.insert(0, system);
        }
        Ok(request)
    }
}

pub(super) async fn create(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let reply = create_message(&state, &headers, body).await;
    reply.unwrap_or_else(|error| error.into_reply(PATH))
}

async fn create_message(
    state: &Arc<GatewayState>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ErrorReply> {
    let mut ask: MessagesAsk = read_json(body, TURN_BODY).await?;
    let request = ask.read_turn()?;
    let model = request.model.clone();
    let turn = take_turn(state, headers, request).await?;
    let id = format!("msg_{}", turn.key);
    if ask.stream {
        let form = MessageStream {
            id,
            model,
            is_open: false,
            blocks: 0,
        };
        return Ok(stream_answer(state, turn, form));
    }
    let (calls, outcome, reason) = match answer(state, turn).await? {
        TurnAnswer::Ended(outcome) => (Vec::new(), outcome, "end_turn"),
        TurnAnswer::Calls(calls, said) => (calls, said, "tool_use"),
    };
    let said =
        (!outcome.reply.is_empty()).then(|| json!({ "type": "text", "text": outcome.reply }));
    let used = calls.iter().map(|call| use_json(call, &call.arguments));
    let content: Vec<Value> = said.into_iter().chain(used).collect();
    let mut reply = message(&id, &model);
    put(&mut reply, "content", content);
    put(&mut reply, "stop_reason", reason);
    put(&mut reply, "usage", usage(&outcome));
    Ok(Json(reply).into_response())
}

/// What was read from the cache, or written to it, stands apart here.
fn usage(outcome: &WorkOutcome) -> Value {
    let cached = outcome.cache_read_tokens + outcome.cache_write_tokens;
    json!({
        "input_tokens": outcome.input_tokens.saturating_sub(cached),
        "output_tokens": outcome.output_tokens,
        "cache_read_input_tokens": outcome.cache_read_tokens,
        "cache_creation_input_tokens": outcome.cache_write_tokens,
    })
}

fn use_json(call: &CallerCall, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

fn message(id: &str, model: &str) -> Value {
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 0, "output_tokens": 0 },
    })
}

struct MessageStream {
    id: String,
    model: String,
    /// A block of text is open.
    is_open: bool,
    /// So many blocks were begun.
    blocks: u64,
}

impl MessageStream {
    fn begin_block(&mut self, block: &Value) -> SseFrame {
        let index = self.blocks;
        self.blocks += 1;
        SseFrame::named(
            "content_block_start",
            &json!({ "type": "content_block_start", "index": index, "content_block": block }),
        )
    }

    fn delta(&self, delta: &Value) -> SseFrame {
        let index = self.blocks.saturating_sub(1);
        SseFrame::named(
            "content_block_delta",
            &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        )
    }

    fn end_block(&self) -> SseFrame {
        let index = self.blocks.saturating_sub(1);
        SseFrame::named(
            "content_block_stop",
            &json!({ "type": "content_block_stop", "index": index }),
        )
    }

    /// Ends the text that is open.
    fn end_text(&mut self) -> Vec<SseFrame> {
        match std::mem::take(&mut self.is_open) {
            true => vec![self.end_block()],
            false => Vec::new(),
        }
    }

    fn finish(&self, reason: &str, outcome: &WorkOutcome) -> [SseFrame; 2] {
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        let usage = usage(outcome);
        [
            SseFrame::named(
                "message_delta",
                &json!({ "type": "message_delta", "delta": delta, "usage": usage }),
            ),
            SseFrame::named("message_stop", &json!({ "type": "message_stop" })),
        ]
    }
}

impl StreamForm for MessageStream {
    fn begin(&mut self) -> Vec<SseFrame> {
        let message = message(&self.id, &self.model);
        vec![SseFrame::named(
            "message_start",
            &json!({ "type": "message_start", "message": message }),
        )]
    }

    fn text(&mut self, delta: &str) -> Vec<SseFrame> {
        let mut frames = Vec::new();
        if !std::mem::replace(&mut self.is_open, true) {
            frames.push(self.begin_block(&json!({ "type": "text", "text": "" })));
        }
        frames.push(self.delta(&json!({ "type": "text_delta", "text": delta })));
        frames
    }

    fn calls(&mut self, calls: &[CallerCall], said: &WorkOutcome) -> Vec<SseFrame> {
        let mut frames = self.end_text();
        for call in calls {
            frames.push(self.begin_block(&use_json(call, &json!({}))));
            let input = call.arguments.to_string();
            frames.push(self.delta(&json!({ "type": "input_json_delta", "partial_json": input })));
            frames.push(self.end_block());
        }
        frames.extend(self.finish("tool_use", said));
        frames
    }

    fn end(&mut self, outcome: &WorkOutcome) -> Vec<SseFrame> {
        let mut frames = self.end_text();
        frames.extend(self.finish("end_turn", outcome));
        frames
    }

    fn fail(&mut self, why: &str) -> Vec<SseFrame> {
        let error = json!({ "type": "api_error", "message": why });
        vec![SseFrame::named(
            "error",
            &json!({ "type": "error", "error": error }),
        )]
    }
}
