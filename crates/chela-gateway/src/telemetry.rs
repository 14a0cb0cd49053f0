//! OpenTelemetry: turns as traces, tokens and times as metrics, sent by OTLP over HTTP.
//!
//! What is sent is read from the ledger, beside the turns: a collector that is slow or gone holds
//! nobody up. What cannot be sent waits, up to a bound. No content is sent, only names, times,
//! tokens and how calls ended.

mod names;
mod otlp;
mod turn_spans;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chela_agent::prelude::LoadedConfig;
use chela_config::model::OtelProtocol;
use chela_core::ok_or_warn;
use chela_ledger::{AuditFilter, Ledger, RequestSummary};
use chela_model::ModelHttp;
use serde_json::Value;
use tokio::sync::watch;

use crate::access_token::{AccessError, read_secret};
use crate::lanes::WorkLanes;
use otlp::{EndedSpan, TelemetrySource};
use turn_spans::TurnGatherer;

/// More spans than this do not wait for a collector: the oldest go.
const MOST_WAITING: usize = 8_192;
/// So many are sent at once.
const BATCH: usize = 512;
const PATIENCE: Duration = Duration::from_secs(10);
const USUAL_PAUSE: u64 = 5_000;
/// The longest pause after a collector failed, in pauses.
const LONGEST_BACK_OFF: u32 = 12;

/// Where telemetry goes.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    traces: Option<String>,
    metrics: Option<String>,
    headers: Vec<(String, String)>,
    service: String,
    sample_rate: f64,
    pause: Duration,
}

/// Why telemetry cannot be sent as the config says.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error(
        "diagnostics.otel.enabled needs diagnostics.otel.endpoint, such as http://127.0.0.1:4318"
    )]
    NoEndpoint,
    #[error("diagnostics.otel.protocol `{0}` is not offered: use `http/json`")]
    Protocol(&'static str),
    #[error(transparent)]
    Header(#[from] AccessError),
}

impl TelemetrySettings {
    /// What the config says; `None` where telemetry is off.
    pub async fn of(
        lanes: &WorkLanes,
        loaded: &LoadedConfig,
    ) -> Result<Option<Self>, TelemetryError> {
        let diagnostics = &loaded.config.diagnostics;
        let otel = &diagnostics.otel;
        if !otel.enabled || diagnostics.enabled == Some(false) {
            return Ok(None);
        }
        match otel.protocol {
            OtelProtocol::HttpJson => {}
            OtelProtocol::HttpProtobuf => return Err(TelemetryError::Protocol("http/protobuf")),
            OtelProtocol::Grpc => return Err(TelemetryError::Protocol("grpc")),
        }
        let address = |own: &Option<String>, path: &str| match (own, &otel.endpoint) {
            (Some(own), _) => Ok(own.clone()),
            (None, Some(base)) => Ok(format!("{}{path}", base.trim_end_matches('/'))),
            (None, None) => Err(TelemetryError::NoEndpoint),
        };
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        for (name, secret) in &otel.headers {
            let at = format!("diagnostics.otel.headers.{name}");
            let value = read_secret(lanes.host(), loaded, secret, &at).await?;
            headers.push((name.clone(), value));
        }
        let wanted = |setting: Option<bool>| setting.unwrap_or(true);
        Ok(Some(Self {
            traces: match wanted(otel.traces) {
                true => Some(address(&otel.traces_endpoint, "/v1/traces")?),
                false => None,
            },
            metrics: match wanted(otel.metrics) {
                true => Some(address(&otel.metrics_endpoint, "/v1/metrics")?),
                false => None,
            },
            headers,
            service: otel
                .service_name
                .clone()
                .unwrap_or_else(|| "chela".to_owned()),
            sample_rate: otel.sample_rate.unwrap_or(1.0),
            pause: Duration::from_millis(otel.flush_interval_ms.unwrap_or(USUAL_PAUSE).max(100)),
        }))
    }
}

/// Sends until the process ends, and what is left then.
pub(crate) async fn run_telemetry(
    lanes: WorkLanes,
    version: String,
    mut stopping: watch::Receiver<bool>,
) {
    let agents = lanes.agents();
    let settings = match TelemetrySettings::of(&lanes, agents.loaded()).await {
        Ok(Some(settings)) => settings,
        Ok(None) => return,
        Err(error) => return tracing::warn!(%error, "no telemetry is sent"),
    };
    let Some(ledger) = agents.ledger() else {
        return tracing::warn!("no telemetry is sent: the ledger cannot be read");
    };
    let started = lanes.host().unix_millis();
    let newest = AuditFilter {
        limit: Some(1),
        ..AuditFilter::default()
    };
    let newest = ok_or_warn!(
        ledger.audit(&newest).await,
        "the audit chain cannot be read"
    );
    let entry = newest.and_then(|entries| entries.last().map(|entry| entry.seq));
    let mut sender = TelemetrySender {
        source: TelemetrySource {
            service: settings.service.clone(),
            version,
            started,
        },
        http: ModelHttp::new(lanes.host(), agents.loaded()),
        gatherer: TurnGatherer::new(started, entry.unwrap_or(0)),
        waiting: VecDeque::new(),
        failures: 0,
        settings,
        lanes,
    };
    loop {
        let pause = sender.settings.pause * (sender.failures + 1).min(LONGEST_BACK_OFF);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.changed() => {}
        }
        sender.look(&ledger).await;
        if *stopping.borrow() {
            return;
        }
    }
}

struct TelemetrySender {
    settings: TelemetrySettings,
    source: TelemetrySource,
    http: ModelHttp,
    lanes: WorkLanes,
    gatherer: TurnGatherer,
    waiting: VecDeque<EndedSpan>,
    /// In a row.
    failures: u32,
}

/// What a collector said.
enum SendVerdict {
    Taken,
    /// It may take it later.
    Later,
    /// It will never take it.
    Refused,
}

impl TelemetrySender {
    async fn look(&mut self, ledger: &Arc<Ledger>) {
        let now = self.lanes.host().unix_millis();
        let lanes = self.lanes.clone();
        let runs = |request: &RequestSummary| {
            lanes.is_running(&format!("{}/{}", request.agent, request.session_key))
        };
        let gathered = self.gatherer.gather(ledger, now, runs).await;
        let spans = ok_or_warn!(gathered, "what is to be told of turns cannot be read");
        let kept = spans.into_iter().flatten();
        let rate = self.settings.sample_rate;
        self.waiting
            .extend(kept.filter(|span| is_sampled(&span.trace, rate)));
        let surplus = self.waiting.len().saturating_sub(MOST_WAITING);
        if surplus > 0 {
            self.waiting.drain(..surplus);
            let dropped = &self.lanes.counts().telemetry_dropped;
            dropped.fetch_add(u64::try_from(surplus).unwrap_or(0), Ordering::Relaxed);
            tracing::warn!(surplus, "no collector took these spans: they are dropped");
        }
        self.send_spans().await;
        self.send_metrics(now).await;
    }

    async fn send_spans(&mut self) {
        let Some(url) = self.settings.traces.clone() else {
            return self.waiting.clear();
        };
        while !self.waiting.is_empty() {
            let batch: Vec<EndedSpan> = self.waiting.iter().take(BATCH).cloned().collect();
            match self.send(&url, &self.source.traces(&batch)).await {
                SendVerdict::Later => {
                    self.failures += 1;
                    return;
                }
                SendVerdict::Taken | SendVerdict::Refused => {
                    self.waiting.drain(..batch.len());
                    self.failures = 0;
                }
            }
        }
    }

    async fn send_metrics(&mut self, now: u64) {
        let Some(url) = self.settings.metrics.clone() else {
            return;
        };
        let source = &self.source;
        let counts = self.lanes.counts();
        let sum = |name: &str, counter: &std::sync::atomic::AtomicU64| {
            source.sum(name, counter.load(Ordering::Relaxed), now)
        };
        let mut metrics = vec![
            sum("chela.work.accepted", &counts.accepted),
            sum("chela.work.answered", &counts.answered),
            sum("chela.work.failed", &counts.failed),
        ];
        let points = |all: Vec<otlp::Histogram>, name, unit| {
            (!all.is_empty()).then(|| source.histogram(name, unit, &all, now))
        };
        let usage: Vec<_> = self.gatherer.usage.values().cloned().collect();
        let durations: Vec<_> = self.gatherer.durations.values().cloned().collect();
        metrics.extend(points(usage, names::TOKEN_USAGE, "{token}"));
        metrics.extend(points(durations, names::CALL_DURATION, "s"));
        // Counted from the start of the process: one that is lost is made up for by the next.
        self.send(&url, &source.metrics(&metrics)).await;
    }

    async fn send(&self, url: &str, body: &Value) -> SendVerdict {
        let body = body.to_string().into_bytes();
        let sent = self
            .http
            .post(url, &self.settings.headers, body, PATIENCE)
            .await;
        match sent {
            Ok(reply) if (200..300).contains(&reply.status) => SendVerdict::Taken,
            Ok(reply) if matches!(reply.status, 408 | 429 | 502..=504) => {
                tracing::debug!(status = reply.status, "the collector takes nothing now");
                SendVerdict::Later
            }
            Ok(reply) => {
                tracing::warn!(status = reply.status, "the collector refuses telemetry");
                SendVerdict::Refused
            }
            Err(error) => {
                tracing::debug!(error, "the collector cannot be reached");
                SendVerdict::Later
            }
        }
    }
}

/// The same share of traces everywhere, each whole or not at all.
fn is_sampled(trace: &str, rate: f64) -> bool {
    let first = trace.get(..8).unwrap_or_default();
    let place = u32::from_str_radix(first, 16).unwrap_or(0);
    f64::from(place) < rate * (f64::from(u32::MAX) + 1.0)
}
