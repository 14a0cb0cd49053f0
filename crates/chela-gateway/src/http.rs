//! What is served over HTTP.

mod approvals;
mod chat_completions;
mod embeddings;
mod health;
mod hook_mapping;
mod hooks;
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

pub(crate) use hooks::SIGNATURE;

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
