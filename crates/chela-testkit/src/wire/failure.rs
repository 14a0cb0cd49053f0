//! Errors in the words of each wire format.

use serde_json::{Value, json};

use super::StreamFrame;
use crate::model_call::CallFormat;

/// The body of an answer with an error status.
pub fn error_body(format: CallFormat, status: u16, message: &str) -> Value {
    let kind = kind(format, status);
    match format {
        CallFormat::Chat | CallFormat::Responses => json!({
            "error": { "message": message, "type": kind, "param": null, "code": null },
        }),
        CallFormat::Anthropic => json!({
            "type": "error", "error": { "type": kind, "message": message },
        }),
        CallFormat::Gemini => json!({
            "error": { "code": status, "message": message, "status": kind },
        }),
        CallFormat::Ollama => json!({ "error": message }),
    }
}

/// An error in the middle of a stream.
pub fn error_frame(format: CallFormat, kind: &str, message: &str) -> StreamFrame {
    match format {
        CallFormat::Chat => StreamFrame::data(&json!({
            "error": { "message": message, "type": kind, "code": kind },
        })),
        CallFormat::Responses => StreamFrame::Event(
            "error".to_owned(),
            json!({ "type": "error", "code": kind, "message": message, "param": null }),
        ),
        CallFormat::Anthropic => StreamFrame::Event(
            "error".to_owned(),
            json!({ "type": "error", "error": { "type": kind, "message": message } }),
        ),
        CallFormat::Gemini => StreamFrame::data(&json!({
            "error": { "code": 503, "message": message, "status": kind },
        })),
        CallFormat::Ollama => StreamFrame::Line(json!({ "error": message })),
    }
}

fn kind(format: CallFormat, status: u16) -> &'static str {
    match (format, status) {
        (CallFormat::Gemini, 401) => "UNAUTHENTICATED",
        (CallFormat::Gemini, 403) => "PERMISSION_DENIED",
        (CallFormat::Gemini, 404) => "NOT_FOUND",
        (CallFormat::Gemini, 429) => "RESOURCE_EXHAUSTED",
        (CallFormat::Gemini, 503) => "UNAVAILABLE",
        (CallFormat::Gemini, 400..=499) => "INVALID_ARGUMENT",
        (CallFormat::Gemini, _) => "INTERNAL",
        (_, 401) => "authentication_error",
        (_, 402) => "billing_error",
        (_, 403) => "permission_error",
        (_, 404) => "not_found_error",
        (_, 429) => "rate_limit_error",
        (_, 529) => "overloaded_error",
        (_, 400..=499) => "invalid_request_error",
        (CallFormat::Anthropic, _) => "api_error",
        _ => "server_error",
    }
}
