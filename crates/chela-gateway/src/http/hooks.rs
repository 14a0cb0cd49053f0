//! Webhooks: what a service says is external, and begins a turn or waits for the next.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use chela_agent::prelude::{AgentId, ExternalSource, ExternalText, SessionKey};
use chela_core::ContentHash;
use serde::Deserialize;
use serde_json::{Value, json};

use super::read_body::read_json;
use super::turn_request::{session_of, submit};
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::lanes::WorkReceipt;
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource};

/// What the agent is told; what the webhook says stands below it, wrapped.
const CAME_IN: &str = include_str!("../../text/webhook.md");
/// Nobody needs more words for one event.
const MOST_CHARS: usize = 64 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookCall {
    /// `/hooks/agent`.
    message: Option<String>,
    /// `/hooks/wake`.
    text: Option<String>,
    name: Option<String>,
    agent_id: Option<String>,
    session_key: Option<String>,
    idempotency_key: Option<String>,
    model: Option<String>,
    timeout_seconds: Option<u64>,
}

/// An event for the agent's main session.
pub(super) async fn wake(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ErrorReply> {
    let call = read_call(&state, body).await?;
    let agent = agent_of(&state, &call)?;
    let session = match &call.session_key {
        Some(_) => asked_session(&state, &call, &agent)?,
        None => SessionKey::main(&agent),
    };
    let text = call.text.clone();
    take_in(&state, &headers, call, (agent, session), text).await
}

/// A turn of its own, in a session of its own.
pub(super) async fn agent(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ErrorReply> {
    let call = read_call(&state, body).await?;
    let agent = agent_of(&state, &call)?;
    let loaded = state.lanes.agents();
    let default = &loaded.loaded().config.hooks.default_session_key;
    let session = match (&call.session_key, default) {
        (Some(_), _) => asked_session(&state, &call, &agent)?,
        (None, Some(key)) => session_of(key, &agent)?,
        (None, None) => {
            let id = state.lanes.host().random_hex(8);
            session_of(&format!("hook:{id}"), &agent)?
        }
    };
    let text = call.message.clone();
    take_in(&state, &headers, call, (agent, session), text).await
}

async fn read_call(state: &GatewayState, body: Body) -> Result<HookCall, ErrorReply> {
    let most = state.lanes.agents().loaded().config.hooks.max_body_bytes;
    read_json(body, usize::try_from(most).unwrap_or(usize::MAX)).await
}

fn agent_of(state: &GatewayState, call: &HookCall) -> Result<AgentId, ErrorReply> {
    let agents = state.lanes.agents();
    let loaded = agents.loaded();
    let Some(named) = &call.agent_id else {
        return Ok(loaded.default_agent());
    };
    let allowed = &loaded.config.hooks.allowed_agent_ids;
    let is_allowed = allowed
        .as_ref()
        .is_none_or(|ids| ids.iter().any(|id| id == named || id == "*"));
    let found = loaded.agents().into_iter().find(|id| id.as_str() == named);
    found.filter(|_| is_allowed).ok_or_else(|| {
        ErrorReply::bad_request(
            "there is no such agent for webhooks; hooks.allowedAgentIds says which there are",
        )
    })
}

/// The session a caller names, where the owner lets callers name one.
fn asked_session(
    state: &GatewayState,
    call: &HookCall,
    agent: &AgentId,
) -> Result<SessionKey, ErrorReply> {
    let agents = state.lanes.agents();
    let hooks = &agents.loaded().config.hooks;
    let key = call.session_key.as_deref().unwrap_or_default();
    let starts = &hooks.allowed_session_key_prefixes;
    let is_allowed = hooks.allow_request_session_key
        && (starts.is_empty() || starts.iter().any(|start| key.starts_with(start.as_str())));
    match is_allowed {
        true => session_of(key, agent),
        false => Err(ErrorReply::bad_request(
            "callers may not name this session: hooks.allowRequestSessionKey and hooks.allowedSessionKeyPrefixes",
        )),
    }
}

async fn take_in(
    state: &Arc<GatewayState>,
    headers: &HeaderMap,
    call: HookCall,
    (agent, session): (AgentId, SessionKey),
    text: Option<String>,
) -> Result<(StatusCode, Json<Value>), ErrorReply> {
    let text = text.filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| {
        ErrorReply::bad_request("there is nothing in it: `message` for /agent, `text` for /wake")
    })?;
    let name = call.name.as_deref().unwrap_or("webhook");
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    let key = call.idempotency_key.clone().or_else(|| {
        let given = headers.get("idempotency-key")?.to_str().ok()?;
        Some(given.to_owned())
    });
    let id = match key {
        Some(key) => format!("hook:{}", ContentHash::of(key)),
        None => format!("hook:{}", state.lanes.host().random_hex(16)),
    };
    let item = WorkItem {
        id: id.clone(),
        agent,
        session: session.clone(),
        source: WorkSource::Hook {
            name: "webhook".to_owned(),
        },
        text: CAME_IN.trim().to_owned(),
        external: vec![ExternalText {
            source: ExternalSource::Webhook { name },
            text: text.chars().take(MOST_CHARS).collect(),
        }],
        images: Vec::new(),
        delivery: DeliveryTarget::None,
        text_trust: None,
        options: WorkOptions {
            model: call.model,
            timeout_seconds: call.timeout_seconds,
            begin_anew: false,
            ..WorkOptions::default()
        },
    };
    let receipt = submit(state, item).await?;
    let body = json!({
        "ok": true, "id": id, "sessionKey": session,
        "repeated": matches!(receipt, WorkReceipt::Known { .. }),
    });
    Ok((StatusCode::OK, Json(body)))
}
