//! `/mcp`: this gateway as an MCP server. Who calls is told by the token; nobody is the owner here.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chela_agent::prelude::AgentId;
use chela_agent::served_agent::ServedAgent;
use chela_mcp::serve::{HttpAsk, McpService, answer_post};
use serde_json::Value;

use super::read_body::read_bytes;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::mcp_callers::McpCaller;

/// The largest request.
const BODY: usize = 2 * 1024 * 1024;

/// One message of a client.
pub(super) async fn post(
    State(state): State<Arc<GatewayState>>,
    Extension(caller): Extension<McpCaller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ErrorReply> {
    let body = read_bytes(body, BODY).await?;
    let agents = state.lanes.agents();
    let agent = match &caller.agent {
        Some(agent) => AgentId::parse(agent)
            .ok()
            .filter(|agent| agents.loaded().agents().contains(agent))
            .ok_or_else(|| ErrorReply::bad_request("the agent of this token is gone"))?,
        None => agents.loaded().default_agent(),
    };
    let service = McpService::new(Arc::new(ServedAgent {
        board: Arc::clone(&state.mcp),
        agents,
        agent,
        caller: caller.name,
        scopes: caller.scopes,
    }));
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let ask = HttpAsk {
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
        body: &body,
    };
    let reply = answer_post(&service, ask).await;
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok(match reply.body {
        Some(Value::Array(messages)) if reply.is_stream => {
            let events = messages.iter();
            let events: String = events
                .map(|message| format!("data: {message}\n\n"))
                .collect();
            let kind = [(header::CONTENT_TYPE, "text/event-stream")];
            (status, kind, events).into_response()
        }
        Some(body) => (status, Json(body)).into_response(),
        None => status.into_response(),
    })
}

/// Nothing is said by itself, and no session is kept.
pub(super) async fn not_kept() -> Response {
    let allow = [(header::ALLOW, "POST")];
    (StatusCode::METHOD_NOT_ALLOWED, allow).into_response()
}
