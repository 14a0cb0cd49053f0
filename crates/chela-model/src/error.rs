//! Why no answer came, in words a person understands.

use std::time::Duration;

/// A call that failed. The message names the endpoint, what it said and what to do; it never
/// contains a key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub failure: Failure,
    pub message: String,
    /// What to do next, where there is something.
    pub hint: Option<String>,
    /// `provider/model`.
    pub model: String,
}

/// What kind of failure it was: it decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
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
