//! A model and what to try after it.
//!
//! What is tried again, what is passed over and when to give up is all here: one place for the
//! rules, one place for the clock.

mod cooldown;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use cooldown::Pace;

use crate::call::stream;
use crate::models::ResolveError;
use crate::{EncodedRequest, Event, Failure, Http, ModelError, Request, Response, Target};

/// The models that answer for an agent, in the order they are tried. One per turn: within a turn
/// it stays with the model that answered, the next turn starts at the first one again.
#[derive(Debug, Clone)]
pub struct Chain {
    targets: Vec<Target>,
    skipped: Vec<ResolveError>,
    pace: Pace,
    at: Arc<AtomicUsize>,
}

/// What has happened in this turn before the call. Only a turn that has done nothing yet may wait
/// for an overloaded endpoint for minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Fresh,
    /// Tools have run, or text has reached the person.
    Underway,
}

/// Rounds over a chain in which every model is overloaded.
const MOST_ROUNDS: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(2_500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// However long an endpoint asks to wait.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Before the one retry at the same endpoint.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// With another model at hand, nobody waits longer than this for the first.
const PATIENCE_WITH_FALLBACK: Duration = Duration::from_secs(5);

impl Chain {
    pub(crate) fn new(targets: Vec<Target>, skipped: Vec<ResolveError>, pace: Pace) -> Self {
        Self {
            targets,
            skipped,
            pace,
            at: Arc::default(),
        }
    }

    /// The model that is tried first.
    pub fn primary(&self) -> &Target {
        &self.targets[0]
    }

    /// The model that answered last in this turn, or the first one.
    pub fn current(&self) -> &Target {
        &self.targets[self.at.load(Ordering::Relaxed).min(self.targets.len() - 1)]
    }

    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Fallbacks that mean no model that can be called.
    pub fn skipped(&self) -> &[ResolveError] {
        &self.skipped
    }

    /// The request as the current model gets it, to be put on record before it is sent.
    pub fn encode(&self, request: &Request) -> EncodedRequest {
        self.current().encode(request)
    }

    /// Asks the models until one answers. A request that is too long is not taken elsewhere.
    /// `encoded` is sent to the model it was made for; for another one it is made from `request`,
    /// and the response says what was sent.
    pub async fn answer(
        &self,
        http: &Http,
        request: &Request,
        encoded: &EncodedRequest,
        stage: Stage,
        sink: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Response, ModelError> {
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
            let may_wait = stage == Stage::Fresh && !call.heard && rounds < MOST_ROUNDS;
            if !(failed.all_busy && may_wait) {
                return Err(failed.error);
            }
            tracing::info!(
                round = rounds + 1,
                ?wait,
                why = failed.error.message,
                "every model is busy: waiting"
            );
            sink(Event::Waiting {
                why: failed.error.message,
                wait,
            });
            self.pace.timer.sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            rounds += 1;
        }
    }

    /// The order of this call: the model that answered last, then what follows it, then the rest;
    /// those that pause come last.
    fn order(&self) -> Vec<usize> {
        let count = self.targets.len();
        let start = self.at.load(Ordering::Relaxed).min(count - 1);
        let mut order: Vec<usize> = (0..count).map(|step| (start + step) % count).collect();
        order.sort_by_key(|index| self.pace.pauses(&self.targets[*index]));
        let ready = order
            .iter()
            .filter(|index| !self.pace.pauses(&self.targets[**index]))
            .count();
        // With none ready the first is asked all the same: better a clear error than silence.
        order.truncate(ready.max(1));
        order
    }
}

struct Call<'a> {
    chain: &'a Chain,
    http: &'a Http,
    request: &'a Request,
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
        sink: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Response, RoundError> {
        let order = self.chain.order();
        let mut first_error: Option<ModelError> = None;
        let mut all_busy = true;
        for (step, index) in order.iter().enumerate() {
            let target = &self.chain.targets[*index];
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
                        failure = ?error.failure,
                        %error,
                        "a model did not answer"
                    );
                    all_busy &= is_busy(&error.failure);
                    let stop = error.failure == Failure::ContextOverflow;
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
            failure: Failure::NoModel,
            message: "no model is configured".to_owned(),
            hint: None,
            model: String::new(),
        });
        if order.len() > 1 && error.failure != Failure::ContextOverflow {
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
        target: &Target,
        is_last: bool,
        sink: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Response, ModelError> {
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
            sink(Event::Waiting {
                why: error.message,
                wait,
            });
        }
        self.chain.pace.timer.sleep(wait).await;
        self.once(target, sink).await
    }

    async fn once(
        &mut self,
        target: &Target,
        sink: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Response, ModelError> {
        let encoded = self.encoded_for(target);
        let mut heard = false;
        let mut listen = |event: Event| {
            heard = true;
            sink(event);
        };
        let result = stream(target, self.http, self.request, &encoded, &mut listen).await;
        if let Err(error) = &result
            && heard
        {
            self.heard = true;
            sink(Event::Restarted {
                why: error.message.clone(),
            });
        }
        result
    }

    fn encoded_for(&mut self, target: &Target) -> EncodedRequest {
        let known = |encoded: &&EncodedRequest| encoded.model == target.info.reference;
        if let Some(encoded) = self.encoded.iter().find(known) {
            return encoded.clone();
        }
        let encoded = target.encode(self.request);
        self.encoded.push(encoded.clone());
        encoded
    }
}

fn is_busy(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::RateLimited { .. } | Failure::Overloaded { .. }
    )
}

/// How long to wait before the same model is asked once more; `None`: it would not help.
fn retry_wait(failure: &Failure) -> Option<Duration> {
    match failure {
        Failure::RateLimited { retry_after } | Failure::Overloaded { retry_after } => {
            Some(retry_after.unwrap_or(SHORT_WAIT).min(LONGEST_RETRY_AFTER))
        }
        Failure::Server | Failure::Cut | Failure::Malformed => Some(SHORT_WAIT),
        Failure::Unreachable
        | Failure::Unauthorized
        | Failure::Billing
        | Failure::ContextOverflow
        | Failure::NoModel
        | Failure::Rejected
        | Failure::Stalled => None,
    }
}

#[cfg(test)]
mod tests;
