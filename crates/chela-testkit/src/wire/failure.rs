//! Errors in the words of each wire format.

use serde_json::{Value, json};

use super::Frame;
use crate::asked::Format;

/// The body of an answer with an error status.
pub fn error_body(format: Format, status: u16, message: &str) -> Value {
    let kind = kind(format, status);
    match format {
        Format::Chat | Format::Responses => json!({
            "error": { "message": message, "type": kind, "param": null, "code": null },
        }),
        Format::Anthropic => json!({
            "type": "error", "error": { "type": kind, "message": message },
        }),
        Format::Gemini => json!({
            "error": { "code": status, "message": message, "status": kind },
        }),
        Format::Ollama => json!({ "error": message }),
    }
}

/// An error in the middle of a stream.
pub fn error_frame(format: Format, kind: &str, message: &str) -> Frame {
    match format {
        Format::Chat => Frame::data(&json!({
            "error": { "message": message, "type": kind, "code": kind },
        })),
        Format::Responses => Frame::Event(
            "error".to_owned(),
            json!({ "type": "error", "code": kind, "message": message, "param": null }),
        ),
        Format::Anthropic => Frame::Event(
            "error".to_owned(),
            json!({ "type": "error", "error": { "type": kind, "message": message } }),
        ),
        Format::Gemini => Frame::data(&json!({
            "error": { "code": 503, "message": message, "status": kind },
        })),
        Format::Ollama => Frame::Line(json!({ "error": message })),
    }
}

fn kind(format: Format, status: u16) -> &'static str {
    match (format, status) {
        (Format::Gemini, 401) => "UNAUTHENTICATED",
        (Format::Gemini, 403) => "PERMISSION_DENIED",
        (Format::Gemini, 404) => "NOT_FOUND",
        (Format::Gemini, 429) => "RESOURCE_EXHAUSTED",
        (Format::Gemini, 503) => "UNAVAILABLE",
        (Format::Gemini, 400..=499) => "INVALID_ARGUMENT",
        (Format::Gemini, _) => "INTERNAL",
        (_, 401) => "authentication_error",
        (_, 402) => "billing_error",
        (_, 403) => "permission_error",
        (_, 404) => "not_found_error",
        (_, 429) => "rate_limit_error",
        (_, 529) => "overloaded_error",
        (_, 400..=499) => "invalid_request_error",
        (Format::Anthropic, _) => "api_error",
        _ => "server_error",
    }
}
