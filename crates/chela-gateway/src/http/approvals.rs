//! Questions for the owner that are open in turns of this process.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::read_body::read_json;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::question_board::AnswerRefused;

#[derive(Debug, Deserialize)]
struct GivenAnswer {
    /// A word the question offers: `once`, `always`, `deny` …
    answer: String,
    /// Where it was given, for whoever else was asked.
    by: Option<String>,
}

pub(super) async fn list(State(state): State<Arc<GatewayState>>) -> Json<Value> {
    Json(json!({ "open": state.lanes.questions().list() }))
}

pub(super) async fn answer(
    State(state): State<Arc<GatewayState>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Value>, ErrorReply> {
    let given: GivenAnswer = read_json(body, 4_096).await?;
    let by = given.by.as_deref().unwrap_or("HTTP");
    let by: String = by.chars().take(60).collect();
    let taken = state.lanes.questions().answer(&id, &given.answer, &by);
    taken.map_err(|refused| {
        let (status, code) = match &refused {
            AnswerRefused::NotOpen(_) => (StatusCode::NOT_FOUND, "not_open"),
            AnswerRefused::NotOffered { .. } => (StatusCode::BAD_REQUEST, "not_offered"),
        };
        ErrorReply::new(status, code, refused.to_string())
    })?;
    tracing::info!(question = id, answer = given.answer, "answered over HTTP");
    Ok(Json(json!({ "answered": id })))
}
