//! A streamed answer: the pieces of a turn as server-sent events, in the form of an interface.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::turn_request::{TakenTurn, note_event};
use crate::caller_tools::CallerCall;
use crate::event_hub::{EventHub, GatewayEvent};
use crate::gateway_state::GatewayState;
use crate::work_item::WorkOutcome;

/// So often a word is said while nothing happens, so that nobody on the way hangs up.
const PING_EVERY: Duration = Duration::from_secs(15);

/// How an interface writes the pieces of an answer.
pub(super) trait StreamForm: Send + 'static {
    /// Before the first word.
    fn begin(&mut self) -> Vec<SseFrame>;
    fn text(&mut self, delta: &str) -> Vec<SseFrame>;
    /// The program is to run its tools: the answer ends with that.
    fn calls(&mut self, calls: &[CallerCall], said: &WorkOutcome) -> Vec<SseFrame>;
    fn end(&mut self, outcome: &WorkOutcome) -> Vec<SseFrame>;
    fn fail(&mut self, why: &str) -> Vec<SseFrame>;
}

/// One event.
#[derive(Debug)]
pub(super) struct SseFrame {
    /// The name of the event, where the interface has names.
    pub event: Option<&'static str>,
    pub data: String,
}

impl SseFrame {
    pub fn data(data: &Value) -> Self {
        Self {
            event: None,
            data: data.to_string(),
        }
    }

    pub fn named(event: &'static str, data: &Value) -> Self {
        Self {
            event: Some(event),
            data: data.to_string(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if let Some(event) = self.event {
            out.extend_from_slice(format!("event: {event}\n").as_bytes());
        }
        out.extend_from_slice(format!("data: {}\n\n", self.data).as_bytes());
    }
}

/// The events of one piece of work, until nobody wants them any more.
pub(super) struct EventFollower {
    pub events: mpsc::UnboundedReceiver<Arc<GatewayEvent>>,
    work: String,
    hub: Arc<EventHub>,
}

impl EventFollower {
    pub fn of(hub: &Arc<EventHub>, work: &str) -> Self {
        Self {
            events: hub.follow(work),
            work: work.to_owned(),
            hub: Arc::clone(hub),
        }
    }

    fn is_over(&self) -> bool {
        self.events.is_closed() && self.events.is_empty()
    }
}

impl Drop for EventFollower {
    fn drop(&mut self) {
        self.events.close();
        self.hub.forget_gone(&self.work);
    }
}

/// An answer under way.
struct StreamedAnswer<F> {
    form: F,
    follower: EventFollower,
    outcome: JoinHandle<StreamEnd>,
    /// What was spent so far.
    spent: WorkOutcome,
    /// What was shown of the reply.
    shown: String,
    /// A step after this one begins a paragraph of its own.
    is_paragraph_open: bool,
    ready: VecDeque<Vec<SseFrame>>,
    is_over: bool,
}

/// How an answer that is streamed ends.
enum StreamEnd {
    Ended(WorkOutcome),
    Calls(Vec<CallerCall>),
    Lost,
}

/// Streams the answer to a request that was taken in.
pub(super) fn stream_answer<F: StreamForm>(
    state: &Arc<GatewayState>,
    turn: TakenTurn,
    mut form: F,
) -> Response {
    let TakenTurn {
        work,
        follower,
        mut waiter,
        outcome,
        ..
    } = turn;
    let lanes = state.lanes.clone();
    let outcome = tokio::spawn(async move {
        if let Some(outcome) = outcome {
            return StreamEnd::Ended(outcome);
        }
        tokio::select! {
            biased;
            outcome = waiter.outcome() => StreamEnd::Ended(outcome),
            calls = lanes.caller_calls().until_asked(&work) => StreamEnd::Calls(calls),
        }
    });
    let first = form.begin();
    let answer = StreamedAnswer {
        form,
        follower,
        outcome,
        spent: WorkOutcome::default(),
        shown: String::new(),
        is_paragraph_open: false,
        ready: VecDeque::from([first]),
        is_over: false,
    };
    let body = stream::unfold(answer, |mut answer| async move {
        let bytes = answer.next_bytes().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), answer))
    });
    let head = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // Proxies must not hold it back.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (head, Body::from_stream(body)).into_response()
}

impl<F: StreamForm> StreamedAnswer<F> {
    async fn next_bytes(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frames) = self.ready.pop_front() {
                let mut out = Vec::new();
                frames.iter().for_each(|frame| frame.write(&mut out));
                if out.is_empty() {
                    continue;
                }
                return Some(Bytes::from(out));
            }
            if self.is_over {
                return None;
            }
            tokio::select! {
                biased;
                event = self.follower.events.recv(), if !self.follower.is_over() => {
                    if let Some(event) = event {
                        self.take(&event);
                    }
                }
                ended = &mut self.outcome => self.finish(ended.unwrap_or(StreamEnd::Lost)),
                () = tokio::time::sleep(PING_EVERY) => {
                    return Some(Bytes::from_static(b": still at it\n\n"));
                }
            }
        }
    }

    fn take(&mut self, event: &GatewayEvent) {
        match event.event {
            "turn.calling" => self.is_paragraph_open = !self.shown.is_empty(),
            "turn.text" => {
                let delta = event.data.get("delta").and_then(Value::as_str);
                self.say(delta.unwrap_or_default());
            }
            // What was sent cannot be taken back.
            "turn.restarted" | "turn.retracted" if !self.shown.is_empty() => {
                self.say("\n\n[The answer broke off here and starts again.]\n\n");
            }
            "turn.called" => note_event(&mut self.spent, event),
            _ => {}
        }
    }

    fn say(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_paragraph_open) {
            self.shown.push_str("\n\n");
            self.ready.push_back(self.form.text("\n\n"));
        }
        self.shown.push_str(delta);
        self.ready.push_back(self.form.text(delta));
    }

    fn finish(&mut self, end: StreamEnd) {
        self.is_over = true;
        // What was said before the end has come in by now.
        while let Ok(event) = self.follower.events.try_recv() {
            self.take(&event);
        }
        let failed = "the gateway is shutting down; ask again with the same Idempotency-Key";
        let outcome = match end {
            StreamEnd::Ended(outcome) => outcome,
            StreamEnd::Lost => return self.ready.push_back(self.form.fail(failed)),
            StreamEnd::Calls(calls) => {
                let frames = self.form.calls(&calls, &self.spent);
                return self.ready.push_back(frames);
            }
        };
        let outcome = match super::turn_request::check(outcome) {
            Ok(outcome) => outcome,
            Err(refused) => return self.ready.push_back(self.form.fail(&refused.message)),
        };
        // Said in a turn before this request, or read in another turn: nothing was streamed.
        if self.shown.trim().is_empty() && !outcome.reply.is_empty() {
            let reply = outcome.reply.clone();
            self.say(&reply);
        }
        let last = self.form.end(&outcome);
        self.ready.push_back(last);
    }
}
