//! What is served over HTTP.

mod approvals;
mod chat_completions;
mod embeddings;
mod health;
mod hooks;
mod messages;
mod models;
mod openapi;
mod program_messages;
mod read_body;
mod responses;
mod sse;
mod turn_request;
pub(crate) mod ws;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Uri, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{get, post};

use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::request_guard::guard_request;

/// Every address, behind the guard.
pub(crate) fn router(state: &Arc<GatewayState>) -> Router {
    let hooks = Router::new()
        .route("/wake", post(hooks::wake))
        .route("/agent", post(hooks::agent));
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/v1/chat/completions", post(chat_completions::create))
        .route("/v1/responses", post(responses::create))
        .route("/v1/messages", post(messages::create))
        .route("/v1/embeddings", post(embeddings::create))
        .route("/approvals", get(approvals::list))
        .route("/approvals/{id}", post(approvals::answer))
        .route("/ws", get(ws::upgrade))
        .nest(&state.hooks.path, hooks)
        .fallback(|uri: Uri| async move { ErrorReply::not_found().into_reply(uri.path()) })
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
