//! Why no answer came, or why nobody could be asked, in words a person understands.

use std::time::Duration;

/// A call that failed. The message names the endpoint, what it said and what to do; it never
/// contains a key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub failure: CallFailure,
    pub message: String,
    /// What to do next, where there is something.
    pub hint: Option<String>,
    /// `provider/model`.
    pub model: String,
}

/// What kind of failure it was: it decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFailure {
    /// Nobody listens there, or the connection broke before anything was said.
    Unreachable,
    /// 401, 403: the key is missing or wrong.
    Unauthorized,
    /// 402, or words to that effect.
    Billing,
    /// 429.
    RateLimited { retry_after: Option<Duration> },
    /// 503, 529.
    Overloaded { retry_after: Option<Duration> },
    /// Any other 5xx.
    Server,
    /// The request is longer than the model's context.
    ContextOverflow,
    /// 404: no such model.
    NoModel,
    /// Any other 4xx: the request itself is at fault.
    Rejected,
    /// The stream ended or broke in the middle of an answer.
    Cut,
    /// The answer is not what the protocol promises.
    Malformed,
    /// Nothing came for too long.
    Stalled,
}

/// Why a name means no model that can be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("no model is configured")]
    Nothing,
    #[error("there is no model `{name}`{}", did_you_mean(.near))]
    Unknown { name: String, near: Option<String> },
    #[error("there is no provider `{provider}` (in `{name}`){}", did_you_mean(.near))]
    UnknownProvider {
        name: String,
        provider: String,
        near: Option<String>,
    },
    #[error("models.providers.{provider} has no baseUrl")]
    NoAddress { provider: String },
    #[error("provider `{provider}` uses `{api}`, which Chela does not support")]
    UnknownApi { provider: String, api: String },
    #[error("this agent may not use `{name}` (modelPolicy.allow)")]
    NotAllowed { name: String },
}

fn did_you_mean(near: &Option<String>) -> String {
    near.as_ref()
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default()
}

impl CallFailure {
    /// One word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Unauthorized => "unauthorized",
            Self::Billing => "billing",
            Self::RateLimited { .. } => "rate-limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Server => "server-error",
            Self::ContextOverflow => "context-overflow",
            Self::NoModel => "no-model",
            Self::Rejected => "rejected",
            Self::Cut => "cut",
            Self::Malformed => "malformed",
            Self::Stalled => "stalled",
        }
    }
}
