//! A model and what to try after it.
//!
//! What is tried again, what is passed over and when to give up is all here: one place for the
//! rules, one place for the clock.

mod cooldown;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use cooldown::ChainPace;

use crate::call::call_encoded;
use crate::{
    CallFailure, EncodedRequest, ModelError, ModelHttp, ModelRequest, ModelResponse, ModelTarget,
    ResolveError, ResponseEvent, wire,
};

/// The models that answer for an agent, in the order they are tried. One per turn: within a turn
/// it stays with the model that answered, the next turn starts at the first one again.
#[derive(Debug, Clone)]
pub struct FallbackChain {
    primary: ModelTarget,
    fallbacks: Vec<ModelTarget>,
    skipped: Vec<ResolveError>,
    pace: ChainPace,
    at: Arc<AtomicUsize>,
}

/// What has happened in this turn before the call. Only a turn that has done nothing yet may wait
/// for an overloaded endpoint for minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStage {
    Fresh,
    /// Tools have run, or text has reached the person.
    Underway,
}

/// Rounds over a chain in which every model is overloaded.
const MOST_ROUNDS: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(2_500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// An endpoint that asks to wait longer than this is not waited for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Before the one retry at the same endpoint.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// With another model at hand, nobody waits longer than this for the first.
const PATIENCE_WITH_FALLBACK: Duration = Duration::from_secs(5);

impl FallbackChain {
    /// Only one model, whatever happens.
    pub(crate) fn of(primary: ModelTarget, pace: ChainPace) -> Self {
        Self {
            primary,
            fallbacks: Vec::new(),
            skipped: Vec::new(),
            pace,
            at: Arc::default(),
        }
    }

    pub(crate) fn with_fallbacks(
        self,
        fallbacks: Vec<ModelTarget>,
        skipped: Vec<ResolveError>,
    ) -> Self {
        Self {
            fallbacks,
            skipped,
            ..self
        }
    }

    /// The model that is tried first.
    pub fn primary(&self) -> &ModelTarget {
        &self.primary
    }

    /// The model that answered last in this turn, or the first one.
    pub fn current(&self) -> &ModelTarget {
        let at = self.at.load(Ordering::Relaxed);
        self.targets().nth(at).unwrap_or(&self.primary)
    }

    pub fn targets(&self) -> impl Iterator<Item = &ModelTarget> {
        std::iter::once(&self.primary).chain(&self.fallbacks)
    }

    /// Fallbacks that mean no model that can be called.
    pub fn skipped(&self) -> &[ResolveError] {
        &self.skipped
    }

    /// The request as the current model gets it, to be put on record before it is sent.
    pub fn encode(&self, request: &ModelRequest) -> EncodedRequest {
        encode(self.current(), request)
    }

    /// Asks the models until one answers. A request that is too long is not taken elsewhere.
    /// `encoded` is sent to the model it was made for; for another one it is made from `request`,
    /// and the response says what was sent.
    pub async fn answer(
        &self,
        http: &ModelHttp,
        request: &ModelRequest,
        encoded: &EncodedRequest,
        stage: TurnStage,
        sink: &mut (dyn FnMut(ResponseEvent) + Send),
    ) -> Result<ModelResponse, ModelError> {
        let mut call = Call {
            chain: self,
            http,
            request,
            encoded: vec![encoded.clone()],
            heard: false,
        };
        let mut wait = FIRST_WAIT;
        let mut rounds = 0;
        loop {
            let failed = match call.round(sink).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            let may_wait = stage == TurnStage::Fresh && !call.heard && rounds < MOST_ROUNDS;
            if !(failed.all_busy && may_wait) {
                return Err(failed.error);
            }
            tracing::info!(
                round = rounds + 1,
                ?wait,
                why = failed.error.message,
                "every model is busy: waiting"
            );
            sink(ResponseEvent::Waiting {
                why: failed.error.message,
                wait,
            });
            self.pace.timer.sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            rounds += 1;
        }
    }

    /// The order of this call: the model that answered last, then what follows it, then the rest;
    /// without those that pause.
    fn order(&self) -> Vec<(usize, &ModelTarget)> {
        let mut order: Vec<(usize, &ModelTarget)> = self.targets().enumerate().collect();
        let start = self.at.load(Ordering::Relaxed);
        order.rotate_left(start.min(self.fallbacks.len()));
        let (pausing, ready): (Vec<_>, Vec<_>) = order
            .into_iter()
            .partition(|(_, target)| self.pace.pauses(target));
        for (_, target) in &pausing {
            tracing::debug!(
                model = target.reference(),
                "passed over: it pauses after a failure"
            );
        }
        match ready.is_empty() {
            false => ready,
            // The first is asked all the same: better a clear error than silence.
            true => pausing.into_iter().take(1).collect(),
        }
    }
}

struct Call<'a> {
    chain: &'a FallbackChain,
    http: &'a ModelHttp,
    request: &'a ModelRequest,
    /// For each model that was asked, or is to be asked first: one that is asked again gets the
    /// same bytes.
    encoded: Vec<EncodedRequest>,
    /// Something was streamed.
    heard: bool,
}

struct RoundError {
    error: ModelError,
    /// Every model said it was overloaded.
    all_busy: bool,
}

impl Call<'_> {
    /// Each model once.
    async fn round(
        &mut self,
        sink: &mut (dyn FnMut(ResponseEvent) + Send),
    ) -> Result<ModelResponse, RoundError> {
        let order = self.chain.order();
        let mut first_error: Option<ModelError> = None;
        let mut all_busy = true;
        for (step, (index, target)) in order.iter().enumerate() {
            let is_last = step + 1 == order.len();
            match self.twice(target, is_last, sink).await {
                Ok(response) => {
                    if first_error.is_some() {
                        tracing::info!(model = target.info.reference, "a fallback answered");
                    }
                    self.chain.pace.answered(target);
                    self.chain.at.store(*index, Ordering::Relaxed);
                    return Ok(response);
                }
                Err(error) => {
                    tracing::warn!(
                        model = target.info.reference,
                        failure = error.failure.as_str(),
                        %error,
                        "a model did not answer"
                    );
                    all_busy &= is_busy(&error.failure) && !asks_too_much(&error.failure);
                    let stop = error.failure == CallFailure::ContextOverflow;
                    self.chain.pace.failed(target, &error.failure);
                    // The first model is the one that was meant: its trouble is told.
                    first_error.get_or_insert(error);
                    if stop {
                        break;
                    }
                }
            }
        }
        let mut error = first_error.unwrap_or_else(|| ModelError {
            failure: CallFailure::NoModel,
            message: "no model is configured".to_owned(),
            hint: None,
            model: String::new(),
        });
        if order.len() > 1 && error.failure != CallFailure::ContextOverflow {
            error.message = format!(
                "{} (and {} could not answer either)",
                error.message,
                match order.len() - 1 {
                    1 => "its fallback".to_owned(),
                    more => format!("its {more} fallbacks"),
                }
            );
        }
        Err(RoundError { error, all_busy })
    }

    /// One model, with one retry where that may help.
    async fn twice(
        &mut self,
        target: &ModelTarget,
        is_last: bool,
        sink: &mut (dyn FnMut(ResponseEvent) + Send),
    ) -> Result<ModelResponse, ModelError> {
        let error = match self.once(target, sink).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let Some(wait) = retry_wait(&error.failure) else {
            return Err(error);
        };
        if !is_last && wait > PATIENCE_WITH_FALLBACK {
            tracing::debug!(
                model = target.info.reference,
                ?wait,
                "not waited for: there is a fallback"
            );
            return Err(error);
        }
        tracing::info!(model = target.info.reference, ?wait, %error, "a model is asked once more");
        if wait > SHORT_WAIT {
            sink(ResponseEvent::Waiting {
                why: error.message,
                wait,
            });
        }
        self.chain.pace.timer.sleep(wait).await;
        self.once(target, sink).await
    }

    async fn once(
        &mut self,
        target: &ModelTarget,
        sink: &mut (dyn FnMut(ResponseEvent) + Send),
    ) -> Result<ModelResponse, ModelError> {
        let encoded = self.encoded_for(target);
        let mut heard = false;
        let mut listen = |event: ResponseEvent| {
            heard = true;
            sink(event);
        };
        let result = call_encoded(target, self.http, self.request, &encoded, &mut listen).await;
        if let Err(error) = &result
            && heard
        {
            self.heard = true;
            sink(ResponseEvent::Restarted {
                why: error.message.clone(),
            });
        }
        result
    }

    fn encoded_for(&mut self, target: &ModelTarget) -> EncodedRequest {
        let known = |encoded: &&EncodedRequest| encoded.model == target.info.reference;
        if let Some(encoded) = self.encoded.iter().find(known) {
            return encoded.clone();
        }
        let encoded = encode(target, self.request);
        self.encoded.push(encoded.clone());
        encoded
    }
}

/// The request as this model gets it, told to call tools in the way that suits it.
fn encode(target: &ModelTarget, request: &ModelRequest) -> EncodedRequest {
    let tool_mode = target.tool_mode();
    if request.tool_mode == tool_mode {
        return wire::encode(target, request);
    }
    let adapted = ModelRequest {
        tool_mode,
        ..request.clone()
    };
    wire::encode(target, &adapted)
}

fn is_busy(failure: &CallFailure) -> bool {
    matches!(
        failure,
        CallFailure::RateLimited { .. } | CallFailure::Overloaded { .. }
    )
}

/// Whether an endpoint asks to wait for longer than anybody sits there.
fn asks_too_much(failure: &CallFailure) -> bool {
    match failure {
        CallFailure::RateLimited { retry_after } | CallFailure::Overloaded { retry_after } => {
            retry_after.is_some_and(|wait| wait > LONGEST_RETRY_AFTER)
        }
        _ => false,
    }
}

/// How long to wait before the same model is asked once more; `None`: it would not help.
fn retry_wait(failure: &CallFailure) -> Option<Duration> {
    match failure {
        CallFailure::RateLimited { retry_after } | CallFailure::Overloaded { retry_after } => {
            let wait = retry_after.unwrap_or(SHORT_WAIT);
            (wait <= LONGEST_RETRY_AFTER).then_some(wait)
        }
        CallFailure::Server | CallFailure::Cut | CallFailure::Malformed => Some(SHORT_WAIT),
        CallFailure::Unreachable
        | CallFailure::Unauthorized
        | CallFailure::Billing
        | CallFailure::ContextOverflow
        | CallFailure::NoModel
        | CallFailure::Rejected
        | CallFailure::Stalled => None,
    }
}

#[cfg(test)]
mod tests;
