//! Failures in words a person understands: what happened, at which model, what to do.

use std::time::Duration;

use crate::api::EndpointFamily;
use crate::complaint::EndpointComplaint;
use crate::key::KeyError;
use crate::provider::ModelProvider;
use crate::tls_fault::TlsFault;
use crate::wire::StreamFault;
use crate::{CallFailure, ModelError, ModelTarget};

/// What went wrong in one call.
#[derive(Debug)]
pub enum CallFault {
    /// The client could not be set up.
    Setup(String),
    Key(KeyError),
    /// The endpoint wants a key and there is none.
    NoKey,
    /// No connection; says why.
    NoConnection(String),
    /// Somebody answers, and no secure connection comes of it.
    Tls(TlsFault),
    /// The connection broke before an answer began.
    Broken(String),
    /// It answered with an error.
    Status {
        status: u16,
        complaint: EndpointComplaint,
        failure: CallFailure,
    },
    /// A web page came.
    Page(String),
    Stream {
        fault: StreamFault,
        failure: CallFailure,
    },
    /// Nothing came for this long.
    Stalled(Duration),
    /// The whole call took longer than it may.
    TooSlow(Duration),
}

impl CallFault {
    pub fn failure(&self) -> CallFailure {
        match self {
            Self::Setup(_) | Self::NoConnection(_) | Self::Tls(_) | Self::Broken(_) => {
                CallFailure::Unreachable
            }
            Self::Key(_) | Self::NoKey => CallFailure::Unauthorized,
            Self::Status { failure, .. } | Self::Stream { failure, .. } => *failure,
            Self::Page(_) => CallFailure::Malformed,
            Self::Stalled(_) | Self::TooSlow(_) => CallFailure::Stalled,
        }
    }

    /// The error for people. `scrub` takes every key out of what the endpoint said.
    pub fn explain(&self, target: &ModelTarget, scrub: impl Fn(&str) -> String) -> ModelError {
        let failure = self.failure();
        let provider = &target.provider;
        ModelError {
            failure,
            message: scrub(&format!("{}: {}", target.reference(), self.told(provider))),
            hint: hint(self, failure, target).map(|hint| scrub(&hint)),
            model: target.reference().to_owned(),
        }
    }

    fn told(&self, provider: &ModelProvider) -> String {
        let at = &provider.base_url;
        match self {
            Self::Setup(why) => why.clone(),
            Self::Key(error) => error.to_string(),
            Self::NoKey => format!("{} needs an API key, and none is set", provider.id),
            Self::NoConnection(why) => format!("no server at {at} ({why})"),
            Self::Tls(fault) => fault.told(at),
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
                StreamFault::Cut => "the answer broke off".to_owned(),
                StreamFault::Malformed(why) => format!("the answer cannot be read: {why}"),
                StreamFault::Said(complaint) => {
                    format!(
                        "{} during the answer: {}",
                        headline(*failure),
                        complaint.shown()
                    )
                }
            },
            Self::Stalled(time) => format!("no data for {} s", time.as_secs_f64()),
            Self::TooSlow(time) => format!("the call took longer than {} s", time.as_secs_f64()),
        }
    }
}

fn headline(failure: CallFailure) -> &'static str {
    match failure {
        CallFailure::Unauthorized => "the API key was rejected",
        CallFailure::Billing => "the account has no credit left",
        CallFailure::RateLimited { .. } => "too many requests",
        CallFailure::Overloaded { .. } => "the endpoint is overloaded",
        CallFailure::ContextOverflow => "the conversation is longer than the model's context",
        CallFailure::NoModel => "there is no such model",
        CallFailure::Rejected => "the request was refused",
        CallFailure::Server
        | CallFailure::Unreachable
        | CallFailure::Cut
        | CallFailure::Malformed
        | CallFailure::Stalled => "the endpoint failed",
    }
}

fn hint(fault: &CallFault, failure: CallFailure, target: &ModelTarget) -> Option<String> {
    let provider = &target.provider;
    let id = &provider.id;
    match (fault, failure) {
        (CallFault::NoConnection(_), _) if provider.is_local() => Some(format!(
            "is the server running? {}",
            match target.family() {
                EndpointFamily::Ollama => "`ollama serve` starts it",
                EndpointFamily::LlamaCpp => "`llama-server -m MODEL.gguf` starts it",
                EndpointFamily::LmStudio => "`lms server start` starts it",
                EndpointFamily::Vllm => "`vllm serve MODEL` starts it",
                _ => "models.providers names its address",
            }
        )),
        (CallFault::Tls(fault), _) => Some(fault.advice(id)),
        (CallFault::NoConnection(_) | CallFault::Broken(_), _) => Some(format!(
            "check the network, or the URL in models.providers.{id}.baseUrl"
        )),
        (CallFault::NoKey, _) => Some(match provider.key_variables {
            [] => format!("set models.providers.{id}.apiKey"),
            [first, ..] => format!("set {first}, or models.providers.{id}.apiKey"),
        }),
        (CallFault::Page(_), _) => Some(format!(
            "models.providers.{id}.baseUrl is not the URL of the API; most end in /v1"
        )),
        (CallFault::Stalled(_), _) => Some(format!(
            "models.providers.{id}.stallSeconds and firstByteSeconds set how long to wait"
        )),
        (_, CallFailure::Unauthorized) => Some(match provider.key.describe() {
            Some(from) => format!("the key comes from {from}; create a new one if it was revoked"),
            None => format!("set models.providers.{id}.apiKey"),
        }),
        (_, CallFailure::Cut) => {
            Some("your message is kept: send it again, or just `continue`".to_owned())
        }
        (_, CallFailure::Billing) => Some("add credit there, or choose another model".to_owned()),
        (_, CallFailure::RateLimited { retry_after } | CallFailure::Overloaded { retry_after }) => {
            Some(match retry_after {
                Some(wait) => format!("it asks you to wait {} s", wait.as_secs_f64().ceil()),
                None => "wait a little, or choose another model".to_owned(),
            })
        }
        (_, CallFailure::ContextOverflow) => {
            Some("/compact shortens the conversation, /new starts another".to_owned())
        }
        (_, CallFailure::NoModel) => Some(match target.family() {
            EndpointFamily::Ollama => format!("download it with `ollama pull {}`", target.info.id),
            _ => format!(
                "is `{}` spelled right? `chela models list` shows known models",
                target.info.id
            ),
        }),
        _ => None,
    }
}
