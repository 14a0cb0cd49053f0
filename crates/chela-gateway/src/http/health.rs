//! Whether the process is well, and what it has done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chela_core::ok_or_warn;
use chela_store::{DeliveryQuery, DeliveryState, InboxStore, OutboxStore as _};
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

/// A figure as Prometheus reads it.
struct Metric {
    kind: &'static str,
    name: &'static str,
    help: &'static str,
    value: u64,
}

fn counter(name: &'static str, help: &'static str, value: &AtomicU64) -> Metric {
    Metric {
        kind: "counter",
        name,
        help,
        value: value.load(Ordering::Relaxed),
    }
}

fn gauge(name: &'static str, help: &'static str, value: impl TryInto<u64>) -> Metric {
    Metric {
        kind: "gauge",
        name,
        help,
        value: value.try_into().unwrap_or(u64::MAX),
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            kind,
            name,
            help,
            value,
        } = self;
        writeln!(f, "# HELP chela_{name} {help}.")?;
        writeln!(f, "# TYPE chela_{name} {kind}")?;
        writeln!(f, "chela_{name} {value}")
    }
}

pub(super) async fn metrics(State(state): State<Arc<GatewayState>>) -> Response {
    let counts = state.lanes.counts();
    let waiting = state.lanes.store().unanswered(None).await;
    let waiting = ok_or_warn!(waiting, "what waits cannot be counted");
    let waiting = waiting.map_or(0, |all| {
        all.iter()
            .filter(|message| message.holder.is_none())
            .count()
    });
    let undelivered = state.lanes.store().deliveries(DeliveryQuery {
        state: Some(DeliveryState::Waiting),
        limit: usize::MAX,
    });
    let undelivered = ok_or_warn!(
        undelivered.await,
        "what is to be delivered cannot be counted"
    );
    let undelivered = undelivered.map_or(0, |all| all.len());
    let running = counts.running.load(Ordering::SeqCst);
    let connections = state.connections.load(Ordering::SeqCst);
    let open = state.lanes.open_count();
    let started = state.running.started / 1_000;
    #[rustfmt::skip]
    let rows = [
        counter("work_accepted_total", "Messages and jobs taken in", &counts.accepted),
        counter("work_repeated_total", "Those that had come before", &counts.repeated),
        counter("work_answered_total", "Those that ended with an answer or in silence", &counts.answered),
        counter("work_failed_total", "Those that failed", &counts.failed),
        counter("work_dropped_total", "Those that did not fit into their queue", &counts.dropped),
        counter("work_steered_total", "Those that were said into a running turn", &counts.steered),
        counter("work_resumed_total", "Turns that went on after a crash", &counts.resumed),
        counter("deliveries_delivered_total", "Answers that arrived where they were to go", &counts.delivered),
        counter("deliveries_failed_total", "Answers that were given up", &counts.undelivered),
        gauge("deliveries_waiting", "Answers that are to be delivered", undelivered),
        counter("telemetry_dropped_total", "Spans that no collector took in time", &counts.telemetry_dropped),
        gauge("work_running", "Turns that run now", running),
        gauge("work_waiting", "Messages and jobs that wait", waiting),
        gauge("conversations_open", "Conversations in memory", open),
        gauge("connections_open", "Connections now", connections),
        counter("connections_refused_total", "Connections turned away because there were too many", &state.turned_away),
        counter("http_requests_total", "Requests", &state.requests),
        counter("http_refused_total", "Requests refused before anything read them", &state.refused),
        gauge("start_time_seconds", "When the process began, in seconds since 1970", started),
    ];
    let text: String = rows.iter().map(Metric::to_string).collect();
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
