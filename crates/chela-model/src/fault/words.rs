//! Failures in words a person understands: what happened, at which model, what to do.

use std::time::Duration;

use super::Complaint;
use crate::api::Family;
use crate::key::KeyError;
use crate::provider::Provider;
use crate::wire::StreamFault;
use crate::{Failure, ModelError, Target};

/// What went wrong in one call.
#[derive(Debug)]
pub enum Fault {
    /// The client could not be set up.
    Setup(String),
    Key(KeyError),
    /// The endpoint wants a key and there is none.
    NoKey,
    /// No connection; says why.
    NoConnection(String),
    /// The connection broke before an answer began.
    Broken(String),
    /// It answered with an error.
    Status {
        status: u16,
        complaint: Complaint,
        failure: Failure,
    },
    /// A web page came.
    Page(String),
    Stream {
        fault: StreamFault,
        failure: Failure,
    },
    /// Nothing came for this long.
    Stalled(Duration),
    /// The whole call took longer than it may.
    TooSlow(Duration),
}

impl Fault {
    pub fn failure(&self) -> Failure {
        match self {
            Self::Setup(_) | Self::NoConnection(_) | Self::Broken(_) => Failure::Unreachable,
            Self::Key(_) | Self::NoKey => Failure::Unauthorized,
            Self::Status { failure, .. } | Self::Stream { failure, .. } => *failure,
            Self::Page(_) => Failure::Malformed,
            Self::Stalled(_) | Self::TooSlow(_) => Failure::Stalled,
        }
    }

    /// The error for people. `scrub` takes every key out of what the endpoint said.
    pub fn explain(&self, target: &Target, scrub: impl Fn(&str) -> String) -> ModelError {
        let failure = self.failure();
        let provider = &target.provider;
        ModelError {
            failure,
            message: scrub(&format!("{}: {}", target.reference(), self.told(provider))),
            hint: hint(self, failure, target).map(|hint| scrub(&hint)),
            model: target.reference().to_owned(),
        }
    }

    fn told(&self, provider: &Provider) -> String {
        let at = &provider.base_url;
        match self {
            Self::Setup(why) => why.clone(),
            Self::Key(error) => error.to_string(),
            Self::NoKey => format!("{} wants a key, and there is none", provider.id),
            Self::NoConnection(why) => format!("nobody answers at {at} ({why})"),
            Self::Broken(why) => format!("the connection to {at} broke ({why})"),
            Self::Status {
                status,
                complaint,
                failure,
            } => {
                let what = headline(*failure);
                match complaint.shown() {
                    said if said.is_empty() => format!("{what} ({status})"),
                    said => format!("{what} ({status}): {said}"),
                }
            }
            Self::Page(title) => format!("{at} answered with a web page: {title}"),
            Self::Stream { fault, failure } => match fault {
                StreamFault::Cut => "the answer broke off in the middle".to_owned(),
                StreamFault::Malformed(why) => format!("the answer cannot be read; {why}"),
                StreamFault::Said(complaint) => {
                    format!(
                        "{} in the middle of the answer: {}",
                        headline(*failure),
                        complaint.shown()
                    )
                }
            },
            Self::Stalled(time) => format!("nothing came for {} s", time.as_secs_f64()),
            Self::TooSlow(time) => format!("the call took longer than {} s", time.as_secs_f64()),
        }
    }
}

fn headline(failure: Failure) -> &'static str {
    match failure {
        Failure::Unauthorized => "the key was refused",
        Failure::Billing => "the account has no credit left",
        Failure::RateLimited { .. } => "too many requests",
        Failure::Overloaded { .. } => "the endpoint is overloaded",
        Failure::ContextOverflow => "the conversation is longer than the model's context",
        Failure::NoModel => "there is no such model",
        Failure::Rejected => "the request was refused",
        Failure::Server
        | Failure::Unreachable
        | Failure::Cut
        | Failure::Malformed
        | Failure::Stalled => "the endpoint failed",
    }
}

fn hint(fault: &Fault, failure: Failure, target: &Target) -> Option<String> {
    let provider = &target.provider;
    let id = &provider.id;
    match (fault, failure) {
        (Fault::NoConnection(_), _) if provider.is_local() => Some(format!(
            "is the server running? {}",
            match target.family() {
                Family::Ollama => "`ollama serve` starts it",
                Family::LlamaCpp => "`llama-server -m MODEL.gguf` starts it",
                Family::LmStudio => "`lms server start` starts it",
                Family::Vllm => "`vllm serve MODEL` starts it",
                _ => "models.providers names its address",
            }
        )),
        (Fault::NoConnection(_) | Fault::Broken(_), _) => Some(format!(
            "check the network, or the address in models.providers.{id}.baseUrl"
        )),
        (Fault::NoKey, _) => Some(match provider.key_variables {
            [] => format!("set models.providers.{id}.apiKey"),
            [first, ..] => format!("set {first}, or models.providers.{id}.apiKey"),
        }),
        (Fault::Page(_), _) => Some(format!(
            "the address in models.providers.{id}.baseUrl is not the one of the API; most end in /v1"
        )),
        (Fault::Stalled(_), _) => Some(format!(
            "models.providers.{id}.stallSeconds and firstByteSeconds say how long to wait"
        )),
        (_, Failure::Unauthorized) => Some(match provider.key.describe() {
            Some(from) => format!("the key comes from {from}; make a new one if it was revoked"),
            None => format!("set models.providers.{id}.apiKey"),
        }),
        (_, Failure::Billing) => Some("add credit there, or choose another model".to_owned()),
        (_, Failure::RateLimited { retry_after } | Failure::Overloaded { retry_after }) => {
            Some(match retry_after {
                Some(wait) => format!("it asks to wait {} s", wait.as_secs_f64().ceil()),
                None => "wait a little, or choose another model".to_owned(),
            })
        }
        (_, Failure::ContextOverflow) => {
            Some("/compact shortens the conversation, /new begins another".to_owned())
        }
        (_, Failure::NoModel) => Some(match target.family() {
            Family::Ollama => format!("`ollama pull {}` fetches it", target.info.id),
            _ => format!(
                "`chela models list` shows what is known; is `{}` spelled right?",
                target.info.id
            ),
        }),
        _ => None,
    }
}
