//! The body of a request: so large, in so much time, and JSON.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use crate::error_reply::ErrorReply;

/// The largest body of a request to a model interface: pictures travel in it.
pub(super) const TURN_BODY: usize = 20 * 1024 * 1024;
/// So long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

pub(super) async fn read_json<T: DeserializeOwned>(
    body: Body,
    most: usize,
) -> Result<T, ErrorReply> {
    let bytes = read_bytes(body, most).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ErrorReply::bad_request(format!("the request cannot be read: {error}")))
}

pub(super) async fn read_bytes(body: Body, most: usize) -> Result<Bytes, ErrorReply> {
    let read = tokio::time::timeout(BODY_TIME, to_bytes(body, most)).await;
    match read {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(unread(&error, most)),
        Err(_) => Err(ErrorReply::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            format!(
                "the request did not arrive within {} s",
                BODY_TIME.as_secs()
            ),
        )),
    }
}

fn unread(error: &axum::Error, most: usize) -> ErrorReply {
    let text = error.to_string();
    match text.contains("length limit") {
        true => ErrorReply::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the request is larger than {most} bytes"),
        ),
        false => ErrorReply::bad_request(format!("the request did not arrive whole: {text}")),
    }
}
