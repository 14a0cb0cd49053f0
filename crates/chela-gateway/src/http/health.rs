//! Whether the process is well, and what it has done.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chela_store::InboxStore;
use serde_json::{Value, json};

use crate::gateway_state::GatewayState;

/// It answers, so it lives. Says nothing that is worth hiding.
pub(super) async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Whether it takes work: the inbox can be read, and it is not shutting down.
pub(super) async fn readyz(State(state): State<Arc<GatewayState>>) -> Response {
    let not_ready = |why: &str| {
        let body = Json(json!({ "status": "not ready", "why": why }));
        (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
    };
    if state.draining.load(Ordering::SeqCst) {
        return not_ready("shutting down");
    }
    match state.lanes.store().unanswered(Some("-")).await {
        Ok(_) => Json(json!({ "status": "ok" })).into_response(),
        Err(error) => {
            tracing::error!(%error, "the inbox cannot be read");
            not_ready("the inbox cannot be read")
        }
    }
}

/// Counters as Prometheus reads them.
pub(super) async fn metrics(State(state): State<Arc<GatewayState>>) -> Response {
    let counts = state.lanes.counts();
    let waiting = state.lanes.store().unanswered(None).await;
    let waiting = waiting.map_or(0, |all| {
        all.iter()
            .filter(|message| message.holder.is_none())
            .count()
    });
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let size = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let rows = [
        (
            "counter",
            "chela_work_accepted_total",
            "Messages and jobs taken in",
            load(&counts.accepted),
        ),
        (
            "counter",
            "chela_work_repeated_total",
            "Those that had come before",
            load(&counts.repeated),
        ),
        (
            "counter",
            "chela_work_answered_total",
            "Those that ended with an answer or in silence",
            load(&counts.answered),
        ),
        (
            "counter",
            "chela_work_failed_total",
            "Those that failed",
            load(&counts.failed),
        ),
        (
            "counter",
            "chela_work_dropped_total",
            "Those that did not fit into their queue",
            load(&counts.dropped),
        ),
        (
            "counter",
            "chela_work_steered_total",
            "Those that were said into a running turn",
            load(&counts.steered),
        ),
        (
            "counter",
            "chela_work_resumed_total",
            "Turns that went on after a crash",
            load(&counts.resumed),
        ),
        (
            "counter",
            "chela_telemetry_dropped_total",
            "Spans that no collector took in time",
            load(&counts.telemetry_dropped),
        ),
        (
            "gauge",
            "chela_work_running",
            "Turns that run now",
            size(counts.running.load(Ordering::SeqCst)),
        ),
        (
            "gauge",
            "chela_work_waiting",
            "Messages and jobs that wait",
            size(waiting),
        ),
        (
            "gauge",
            "chela_conversations_open",
            "Conversations in memory",
            size(state.lanes.open_count()),
        ),
        (
            "gauge",
            "chela_connections_open",
            "Connections now",
            size(state.connections.load(Ordering::SeqCst)),
        ),
        (
            "counter",
            "chela_connections_refused_total",
            "Connections turned away because there were too many",
            load(&state.turned_away),
        ),
        (
            "counter",
            "chela_http_requests_total",
            "Requests",
            load(&state.requests),
        ),
        (
            "counter",
            "chela_http_refused_total",
            "Requests refused before anything read them",
            load(&state.refused),
        ),
        (
            "gauge",
            "chela_start_time_seconds",
            "When the process began, in seconds since 1970",
            state.running.started / 1_000,
        ),
    ];
    let mut text = String::new();
    for (kind, name, help, value) in rows {
        let _ = write!(
            text,
            "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name} {value}\n"
        );
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
