//! `/v1/messages`: Anthropic's interface.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_completions::{AskedMessage, read_content, read_messages, refuse_tools};
use super::read_body::{TURN_BODY, read_json};
use super::sse::{SseFrame, StreamForm, stream_answer};
use super::turn_request::{TurnRequest, answer, model_or_usual};
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::json_member::put;
use crate::work_item::WorkOutcome;

const PATH: &str = "/v1/messages";

#[derive(Debug, Deserialize)]
pub(super) struct MessagesAsk {
    #[serde(default)]
    model: String,
    messages: Vec<AskedMessage>,
    #[serde(default)]
    system: Value,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    metadata: Option<AskMetadata>,
}

#[derive(Debug, Deserialize)]
struct AskMetadata {
    #[serde(default)]
    user_id: Option<String>,
}

impl MessagesAsk {
    pub(super) fn take_turn(&mut self) -> Result<TurnRequest, ErrorReply> {
        refuse_tools(&self.tools)?;
        let (system, _) = read_content(&self.system)?;
        let mut request = TurnRequest {
            model: model_or_usual(&self.model),
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
    let request = ask.take_turn()?;
    let model = request.model.clone();
    let item = request.into_work(state, headers).await?;
    let id = format!("msg_{}", item.id.trim_start_matches("api:"));
    if ask.stream {
        let form = MessageStream { id, model };
        return stream_answer(state, item, form).await;
    }
    let outcome = answer(state, item).await?;
    let content = match outcome.reply.is_empty() {
        true => json!([]),
        false => json!([{ "type": "text", "text": outcome.reply }]),
    };
    let mut reply = message(&id, &model);
    put(&mut reply, "content", content);
    put(&mut reply, "stop_reason", "end_turn");
    put(
        &mut reply,
        "usage",
        json!({
            "input_tokens": outcome.input_tokens, "output_tokens": outcome.output_tokens,
        }),
    );
    Ok(Json(reply).into_response())
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
}

impl StreamForm for MessageStream {
    fn begin(&mut self) -> Vec<SseFrame> {
        let message = message(&self.id, &self.model);
        vec![
            SseFrame::named(
                "message_start",
                &json!({ "type": "message_start", "message": message }),
            ),
            SseFrame::named(
                "content_block_start",
                &json!({ "type": "content_block_start", "index": 0,
                    "content_block": { "type": "text", "text": "" } }),
            ),
        ]
    }

    fn text(&mut self, delta: &str) -> Vec<SseFrame> {
        let delta = json!({ "type": "text_delta", "text": delta });
        vec![SseFrame::named(
            "content_block_delta",
            &json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        )]
    }

    fn end(&mut self, outcome: &WorkOutcome) -> Vec<SseFrame> {
        let usage = json!({
            "input_tokens": outcome.input_tokens, "output_tokens": outcome.output_tokens,
        });
        let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
        vec![
            SseFrame::named(
                "content_block_stop",
                &json!({ "type": "content_block_stop", "index": 0 }),
            ),
            SseFrame::named(
                "message_delta",
                &json!({ "type": "message_delta", "delta": delta, "usage": usage }),
            ),
            SseFrame::named("message_stop", &json!({ "type": "message_stop" })),
        ]
    }

    fn fail(&mut self, why: &str) -> Vec<SseFrame> {
        let error = json!({ "type": "api_error", "message": why });
        vec![SseFrame::named(
            "error",
            &json!({ "type": "error", "error": error }),
        )]
    }
}
