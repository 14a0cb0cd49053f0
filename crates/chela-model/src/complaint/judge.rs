//! What kind of failure it was. Endpoints agree on few codes and on fewer words.

use std::time::Duration;

use super::EndpointComplaint;
use crate::CallFailure;

/// How endpoints say that a request is longer than the model's context.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "model_context_window_exceeded",
    "request_too_large",
    "maximum context length",
    "maximum model length",
    "max_model_len",
    "available context size",
    "context size has been exceeded",
    "exceeds the context",
    "exceeds the model's context",
    "exceed the context",
    "exceeds context",
    "exceed context",
    "context window exceeds",
    "context window of this model",
    "context length exceeded",
    "context length of",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "prompt contains too many tokens",
    "too large for model",
    "input token count",
    "input tokens exceed",
    "maximum number of tokens allowed",
    "maximum prompt length",
    "reduce the length",
    "truncating input prompt",
    "larger than the context",
    "longer than the context",
    "longer than the model's context",
    "greater than the context length",
];

const NO_MONEY: &[&str] = &[
    "insufficient_quota",
    "insufficient_balance",
    "insufficient balance",
    "insufficient credit",
    "insufficient funds",
    "credit balance",
    "billing_error",
    "billing hard limit",
    "billing_hard_limit",
    "payment required",
    "payment_required",
    "out of credits",
    "requires more credits",
    "spending limit",
];

const BAD_KEY: &[&str] = &[
    "invalid_api_key",
    "api_key_invalid",
    "api key not valid",
    "invalid api key",
    "incorrect api key",
    "invalid x-api-key",
    "authentication_error",
    "no auth credentials",
    "missing api key",
];

const NO_MODEL: &[&str] = &[
    "model_not_found",
    "model not found",
    "not_found_error",
    "is not a valid model",
    "no such model",
    "unknown model",
    "model does not exist",
    "try pulling it",
    "no endpoints found for",
];

const BUSY: &[&str] = &[
    "overloaded",
    "server is busy",
    "no capacity",
    "at capacity",
    "loading model",
    "is currently loading",
    "resource temporarily",
];

/// Judges by status and words; `status` is missing for a complaint inside a stream.
pub fn judge(
    status: Option<u16>,
    complaint: &EndpointComplaint,
    retry_after: Option<Duration>,
) -> CallFailure {
    let words = complaint.words();
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let status = status
        .filter(|status| *status >= 300)
        .or_else(|| complaint.code.parse().ok());
    let client_fault = status.is_none_or(|status| (400..500).contains(&status));
    let retry_after = retry_after.or(complaint.wait);
    if status != Some(429) && (has(TOO_LONG) || status == Some(413)) {
        return CallFailure::ContextOverflow;
    }
    // Google says "quota" and "billing" for an ordinary limit.
    let google_limit = words.contains("resource_exhausted");
    if status == Some(402) || (client_fault && has(NO_MONEY) && !google_limit) {
        return CallFailure::Billing;
    }
    if matches!(status, Some(401 | 403)) || (client_fault && has(BAD_KEY)) {
        return CallFailure::Unauthorized;
    }
    if status == Some(429) || words.contains("rate_limit") || google_limit {
        return CallFailure::RateLimited { retry_after };
    }
    if matches!(status, Some(503 | 529)) || has(BUSY) {
        return CallFailure::Overloaded { retry_after };
    }
    match status {
        Some(404) => CallFailure::NoModel,
        Some(400..500) if has(NO_MODEL) => CallFailure::NoModel,
        Some(408) => CallFailure::Server,
        Some(300..500) => CallFailure::Rejected,
        None if words.contains("invalid_request") => CallFailure::Rejected,
        _ => CallFailure::Server,
    }
}
