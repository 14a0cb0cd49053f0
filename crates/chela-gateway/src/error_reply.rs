//! How the gateway says no: as the interface at hand writes errors.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What went wrong, for the program at the other end and for whoever reads its log.
#[derive(Debug)]
pub(crate) struct ErrorReply {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
    /// Seconds until it is worth another try, where that is known.
    pub retry_after: Option<u64>,
}

impl ErrorReply {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "nothing is served at this address; /openapi.json lists what is",
        )
    }

    /// The error in the form of whoever speaks at `path`: Anthropic's for its own endpoint,
    /// OpenAI's elsewhere.
    pub fn into_reply(self, path: &str) -> Response {
        let kind = match self.status.as_u16() {
            401 => "authentication_error",
            403 | 421 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let body = match path.starts_with("/v1/messages") {
            true => json!({ "type": "error", "error": { "type": kind, "message": self.message } }),
            false => json!({ "error": {
                "message": self.message, "type": kind, "code": self.code, "param": null,
            } }),
        };
        let mut reply = (self.status, Json(body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let headers = reply.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            let headers = reply.headers_mut();
            headers.insert(header::RETRY_AFTER, self.retry_after.unwrap_or(60).into());
        }
        reply
    }
}

impl IntoResponse for ErrorReply {
    fn into_response(self) -> Response {
        self.into_reply("")
    }
}
