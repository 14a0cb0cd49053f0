//! `/tools/invoke`: one call of a tool, by a program of the owner. Policy, guard and approvals are
//! those of a turn: what needs an answer asks whoever watches, or waits for `chela approvals`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::read_body::read_json;
use super::turn_request::{TurnAnswer, TurnRequest, answer, take_turn};
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::work_item::{ToolAsk, WorkStatus};

/// The largest request.
const BODY: usize = 2 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InvokeAsk {
    tool: String,
    /// For tools with several actions: the same as `args.action`.
    action: Option<String>,
    #[serde(default)]
    args: Map<String, Value>,
    session_key: Option<String>,
    agent_id: Option<String>,
}

pub(super) async fn invoke(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ErrorReply> {
    let ask: InvokeAsk = read_json(body, BODY).await?;
    let mut arguments = ask.args;
    if let Some(action) = ask.action {
        arguments.entry("action").or_insert_with(|| action.into());
    }
    let tool = ask.tool.trim().to_owned();
    if tool.is_empty() {
        return Err(ErrorReply::bad_request("`tool` is empty"));
    }
    let told = Value::Object(arguments.clone());
    let request = TurnRequest {
        model: ask
            .agent_id
            .map(|agent| format!("chela/{agent}"))
            .unwrap_or_default(),
        session: ask.session_key,
        // What the owner's program asks for is the owner's word.
        text: format!("Call the tool {tool} with {told}"),
        call: Some(ToolAsk {
            tool: tool.clone(),
            arguments,
        }),
        ..TurnRequest::default()
    };
    let turn = take_turn(&state, &headers, request).await?;
    let TurnAnswer::Ended(outcome) = answer(&state, turn).await? else {
        return Err(ErrorReply::new(
            StatusCode::BAD_GATEWAY,
            "turn_failed",
            "the call asks for a tool of a program",
        ));
    };
    if outcome.status == WorkStatus::Stopped || outcome.error.is_some() {
        let why = outcome.error.unwrap_or_else(|| "it was stopped".to_owned());
        let error = json!({ "ok": false, "tool": tool, "error": {
            "type": "tool_error", "message": why,
        } });
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Json(error)).into_response());
    }
    let content = [json!({ "type": "text", "text": outcome.reply })];
    let reply = json!({ "ok": true, "tool": tool, "result": { "content": content } });
    Ok(Json(reply).into_response())
}
