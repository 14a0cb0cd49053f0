//! `/v1/models`: the agents, as a client that looks for models finds them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::turn_request::agent_of_model;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;

pub(super) async fn list(State(state): State<Arc<GatewayState>>) -> Json<Value> {
    let agents = state.lanes.agents().loaded().agents();
    let ids = std::iter::once("chela".to_owned())
        .chain(agents.iter().map(|agent| format!("chela/{agent}")));
    let rows: Vec<Value> = ids.map(|id| row(&state, &id)).collect();
    let id = |row: Option<&Value>| row.and_then(|row| row.get("id")).cloned();
    // OpenAI's list and Anthropic's at once: their clients read different fields of it.
    Json(json!({
        "object": "list", "has_more": false,
        "first_id": id(rows.first()), "last_id": id(rows.last()), "data": rows,
    }))
}

pub(super) async fn one(
    State(state): State<Arc<GatewayState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ErrorReply> {
    agent_of_model(&state, &id)?;
    Ok(Json(row(&state, &id)))
}

fn row(state: &GatewayState, id: &str) -> Value {
    json!({
        "id": id, "object": "model", "created": state.running.started / 1_000, "owned_by": "chela",
        "type": "model", "display_name": id, "created_at": chela_session::iso(state.running.started),
    })
}
