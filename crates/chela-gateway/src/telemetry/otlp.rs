//! OTLP in its JSON form, as far as traces and metrics need it.

use serde_json::{Value, json};

use crate::json_member::put;

/// A span that has ended.
#[derive(Debug, Clone)]
pub struct EndedSpan {
    /// 16 bytes in hex.
    pub trace: String,
    /// 8 bytes in hex.
    pub span: String,
    pub parent: Option<String>,
    pub name: String,
    pub kind: SpanKind,
    /// Milliseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub attributes: Vec<Value>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub enum SpanKind {
    Internal = 1,
    Client = 3,
}

pub fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Whole numbers of 64 bits are texts in OTLP's JSON.
pub fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// Nanoseconds, from milliseconds.
fn nanos(millis: u64) -> String {
    format!("{millis}000000")
}

/// Who sends.
#[derive(Debug, Clone)]
pub struct TelemetrySource {
    pub service: String,
    pub version: String,
    /// When the process began, in milliseconds since 1970.
    pub started: u64,
}

impl TelemetrySource {
    fn resource(&self) -> Value {
        json!({ "attributes": [
            text("service.name", &self.service),
            text("service.version", &self.version),
        ] })
    }

    fn scope(&self) -> Value {
        json!({ "name": "chela", "version": self.version })
    }

    /// The body for `/v1/traces`.
    pub fn traces(&self, spans: &[EndedSpan]) -> Value {
        let spans: Vec<Value> = spans.iter().map(span_json).collect();
        json!({ "resourceSpans": [{
            "resource": self.resource(),
            "scopeSpans": [{ "scope": self.scope(), "spans": spans }],
        }] })
    }

    /// The body for `/v1/metrics`.
    pub fn metrics(&self, metrics: &[Value]) -> Value {
        json!({ "resourceMetrics": [{
            "resource": self.resource(),
            "scopeMetrics": [{ "scope": self.scope(), "metrics": metrics }],
        }] })
    }

    /// A counter since the process began.
    pub fn sum(&self, name: &str, value: u64, now: u64) -> Value {
        json!({ "name": name, "unit": "1", "sum": {
            "aggregationTemporality": 2, "isMonotonic": true,
            "dataPoints": [{
                "startTimeUnixNano": nanos(self.started), "timeUnixNano": nanos(now),
                "asInt": value.to_string(),
            }],
        } })
    }

    pub fn histogram(&self, name: &str, unit: &str, points: &[Histogram], now: u64) -> Value {
        let points: Vec<Value> = points
            .iter()
            .map(|point| point.json(self.started, now))
            .collect();
        json!({ "name": name, "unit": unit, "histogram": {
            "aggregationTemporality": 2, "dataPoints": points,
        } })
    }
}

fn span_json(span: &EndedSpan) -> Value {
    let mut json = json!({
        "traceId": span.trace, "spanId": span.span, "name": span.name, "kind": span.kind as u8,
        "startTimeUnixNano": nanos(span.start), "endTimeUnixNano": nanos(span.end.max(span.start)),
        "attributes": span.attributes,
        "status": match &span.error {
            Some(why) => json!({ "code": 2, "message": why }),
            None => json!({}),
        },
    });
    if let Some(parent) = &span.parent {
        put(&mut json, "parentSpanId", parent.as_str());
    }
    json
}

/// How often a value lay between two bounds, for one set of attributes.
#[derive(Debug, Clone)]
pub struct Histogram {
    pub attributes: Vec<Value>,
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    pub fn new(bounds: &'static [f64], attributes: Vec<Value>) -> Self {
        Self {
            attributes,
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    pub fn add(&mut self, value: f64) {
        let place = self.bounds.iter().position(|bound| value <= *bound);
        if let Some(count) = self.counts.get_mut(place.unwrap_or(self.bounds.len())) {
            *count += 1;
        }
        self.sum += value;
    }

    fn json(&self, started: u64, now: u64) -> Value {
        let counts: Vec<String> = self.counts.iter().map(ToString::to_string).collect();
        let count: u64 = self.counts.iter().sum();
        json!({
            "attributes": self.attributes, "count": count.to_string(), "sum": self.sum,
            "bucketCounts": counts, "explicitBounds": self.bounds,
            "startTimeUnixNano": nanos(started), "timeUnixNano": nanos(now),
        })
    }
}
