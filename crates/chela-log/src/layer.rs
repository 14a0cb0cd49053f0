//! From a `tracing` statement to a line.

use std::sync::Arc;

use chela_core::Host;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::handle::{LogHandle, LogSettings, LogState};
use crate::line::LogLine;
use crate::log_silence::LogSilence;
use crate::redaction::LogRedaction;

impl LogHandle {
    /// Begins to listen, for the whole process. Lines wait until [`LogHandle::configure`] says
    /// where they go, or [`LogHandle::finish`] that nobody will.
    pub fn install(
        host: &Host,
        standard: LogSettings,
        redaction: LogRedaction,
    ) -> Result<Self, SetGlobalDefaultError> {
        let log = Self::new(host, standard, redaction);
        tracing::subscriber::set_global_default(log.subscriber())?;
        Ok(log)
    }

    pub(crate) fn subscriber(&self) -> impl tracing::Subscriber + Send + Sync + 'static {
        tracing_subscriber::registry().with(LogLayer(Arc::clone(self.shared())))
    }
}

/// Gathers what is said, with the spans it is said in.
pub(crate) struct LogLayer(pub Arc<LogState>);

/// The fields of a span, kept with it.
struct SpanFields(Map<String, Value>);

impl<S> Layer<S> for LogLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.0.allows(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0.most())
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanFields(fields.named));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(kept) = span.extensions_mut().get_mut::<SpanFields>()
        {
            kept.0.extend(fields.named);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(_hush) = LogSilence::begin() else {
            return;
        };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut spans = Vec::new();
        let mut ids = Map::new();
        for span in context
            .event_scope(event)
            .into_iter()
            .flat_map(|scope| scope.from_root())
        {
            spans.push(span.name().to_owned());
            if let Some(fields) = span.extensions().get::<SpanFields>() {
                ids.extend(fields.0.clone());
            }
        }
        let metadata = event.metadata();
        self.0.deliver(
            Some(metadata),
            LogLine {
                time: self.0.now(),
                level: (*metadata.level()).into(),
                target: metadata.target().to_owned(),
                pid: std::process::id(),
                spans,
                ids,
                message: fields.message,
                fields: fields.named,
            },
        );
    }
}

/// The spans this thread is in, for a report: their names and ids.
pub(crate) fn spans_here() -> (Vec<String>, Map<String, Value>) {
    let mut spans = Vec::new();
    let mut ids = Map::new();
    tracing::dispatcher::get_default(|dispatch| {
        let Some(registry) = dispatch.downcast_ref::<tracing_subscriber::Registry>() else {
            return;
        };
        let Some(current) = dispatch.current_span().id().cloned() else {
            return;
        };
        let scope = registry.span(&current);
        for span in scope.into_iter().flat_map(|span| span.scope().from_root()) {
            spans.push(span.name().to_owned());
            if let Some(fields) = span.extensions().get::<SpanFields>() {
                ids.extend(fields.0.clone());
            }
        }
    });
    (spans, ids)
}

/// What a statement carries.
#[derive(Default)]
struct Fields {
    message: String,
    named: Map<String, Value>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.named.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}
