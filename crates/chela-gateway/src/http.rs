//! What is served over HTTP.

mod approvals;
mod chat_completions;
mod embeddings;
mod health;
mod hook_mapping;
mod hooks;
mod mcp;
mod messages;
mod models;
mod openapi;
mod program_messages;
mod read_body;
mod responses;
mod route_table;
mod sse;
mod tools_invoke;
mod turn_request;
pub(crate) mod ws;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Uri, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;

use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::request_guard::guard_request;
use route_table::routes;

/// A turn as a program asks for it, for the fuzz target.
#[doc(hidden)]
#[derive(Debug, PartialEq, Eq)]
pub struct FuzzedTurn {
    pub text: String,
    pub images: usize,
    pub history: usize,
    pub instructions: usize,
}

/// A body, as each of the model interfaces reads it; `None` where it is refused.
#[doc(hidden)]
pub fn read_turn_bodies(body: &[u8]) -> [Option<FuzzedTurn>; 3] {
    let read = |turn: Result<turn_request::TurnRequest, ErrorReply>| {
        let turn = turn.ok()?;
        Some(FuzzedTurn {
            text: turn.text,
            images: turn.images.len(),
            history: turn.history.len(),
            instructions: turn.instructions.len(),
        })
    };
    let completion = serde_json::from_slice::<chat_completions::CompletionAsk>(body);
    let response = serde_json::from_slice::<responses::ResponseAsk>(body);
    let message = serde_json::from_slice::<messages::MessagesAsk>(body);
    [
        completion.ok().and_then(|mut ask| read(ask.read_turn())),
        response.ok().and_then(|mut ask| read(ask.read_turn())),
        message.ok().and_then(|mut ask| read(ask.read_turn())),
    ]
}

/// Every address, behind the guard.
pub(crate) fn router(state: &Arc<GatewayState>) -> Router {
    let all = Router::new();
    let all = routes(&state.hooks)
        .into_iter()
        .fold(all, |all, row| all.route(&row.path, row.handler));
    all.fallback(|uri: Uri| async move { ErrorReply::not_found().into_reply(uri.path()) })
        // Bodies are read by `read_body`, with limits of their own.
        .layer(DefaultBodyLimit::disable())
        .layer(map_response(harden))
        .layer(from_fn_with_state(Arc::clone(state), guard_request))
        .with_state(Arc::clone(state))
}

/// Nothing served here is a page, and nothing of it is kept on the way.
async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}
