//! Webhooks: what a service says is external, and begins a turn or is told in the main session.
//!
//! Whoever calls shows `hooks.token`, or signs the request with `hooks.secret`: a signature covers
//! the body and a timestamp, counts for `hooks.signatureWindowSeconds`, and once. What was signed
//! is known in the inbox under its signature, so that a repetition changes nothing, not even after
//! a restart.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use chela_agent::prelude::{AgentId, ExternalSource, ExternalText, SessionKey};
use chela_config::model::HookAction;
use chela_core::{ContentHash, SessionForm};
use serde::Deserialize;
use serde_json::{Value, json};

use super::hook_mapping::{
    HookRequest, mapping_name, matching, read_payload, read_query, takes_values,
};
use super::read_body::read_bytes;
use super::turn_request::{plain_name, session_of, submit};
use crate::delivery::{SIGNATURE, check_signature, target_of_hook};
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::lanes::WorkReceipt;
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource};

/// What the agent is told; what the webhook says stands below it, wrapped.
const CAME_IN: &str = include_str!("../../text/webhook.md");
/// The same where the operator said what is to be done.
const MAPPED: &str = include_str!("../../text/webhook-mapped.md");
/// Nobody needs more words for one event.
const MOST_CHARS: usize = 64 * 1024;
const TIMESTAMP: &str = "x-chela-timestamp";

/// What `/hooks/wake` and `/hooks/agent` take.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookCall {
    /// `/hooks/agent`.
    message: Option<String>,
    /// `/hooks/wake`.
    text: Option<String>,
    mode: Option<String>,
    name: Option<String>,
    agent_id: Option<String>,
    session_key: Option<String>,
    model: Option<String>,
    timeout_seconds: Option<u64>,
    deliver: Option<bool>,
    channel: Option<String>,
    to: Option<String>,
}

/// An event that is to be taken in.
struct HookEvent {
    agent: AgentId,
    session: SessionKey,
    name: String,
    /// The runtime's and the operator's words.
    told: String,
    /// The service's.
    external: String,
    delivery: DeliveryTarget,
    model: Option<String>,
    timeout_seconds: Option<u64>,
}

type HookReply = Result<(StatusCode, Json<Value>), ErrorReply>;

/// An event for the agent's main session.
pub(super) async fn wake(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> HookReply {
    let (bytes, id) = read_hook(&state, &headers, body).await?;
    let call = read_call(&bytes)?;
    let agent = agent_of(&state, call.agent_id.as_deref())?;
    let session = match &call.session_key {
        Some(key) => asked_session(&state, key, &agent)?,
        None => SessionKey::main(&agent),
    };
    let text = call.text.clone();
    let event = event_of(&state, call, (agent, session), text)?;
    take_in(&state, event, id).await
}

/// A turn of its own, in a session of its own.
pub(super) async fn agent(
    State(state): State<Arc<GatewayState>>,
    headers: HeaderMap,
    body: Body,
) -> HookReply {
    let (bytes, id) = read_hook(&state, &headers, body).await?;
    let call = read_call(&bytes)?;
    let agent = agent_of(&state, call.agent_id.as_deref())?;
    let loaded = state.lanes.agents();
    let default = &loaded.loaded().config.hooks.default_session_key;
    let session = match (&call.session_key, default) {
        (Some(key), _) => asked_session(&state, key, &agent)?,
        (None, Some(key)) => session_of(key, &agent)?,
        (None, None) => fresh_session(&state, &agent)?,
    };
    let text = call.message.clone();
    let event = event_of(&state, call, (agent, session), text)?;
    take_in(&state, event, id).await
}

/// Whatever the operator set up for a path.
pub(super) async fn mapped(
    State(state): State<Arc<GatewayState>>,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> HookReply {
    let (bytes, id) = read_hook(&state, &headers, body).await?;
    let payload = read_payload(&bytes)
        .map_err(|error| ErrorReply::bad_request(format!("the request is not JSON: {error}")))?;
    let named = |name: &axum::http::HeaderName| !is_secret(name.as_str());
    let told = headers.iter().filter(|(name, _)| named(name));
    let request = HookRequest {
        path: path.trim_matches('/').to_owned(),
        payload,
        headers: told
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect(),
        query: read_query(query.as_deref().unwrap_or_default()),
    };
    let event = mapped_event(&state, &request)?;
    take_in(&state, event, id).await
}

/// Whether a session may be one that a request names.
fn is_of_requests(key: &SessionKey) -> bool {
    matches!(
        key.form,
        SessionForm::Hook { .. } | SessionForm::Explicit { .. } | SessionForm::Other { .. }
    )
}

/// What templates cannot tell an agent.
fn is_secret(header: &str) -> bool {
    matches!(
        header,
        "authorization" | "cookie" | "x-api-key" | "x-chela-token" | "x-openclaw-token" | SIGNATURE
    )
}

fn mapped_event(state: &GatewayState, request: &HookRequest) -> Result<HookEvent, ErrorReply> {
    let agents = state.lanes.agents();
    let hooks = &agents.loaded().config.hooks;
    let mapping = matching(&hooks.mappings, request).ok_or_else(|| {
        ErrorReply::new(
            StatusCode::NOT_FOUND,
            "no_mapping",
            "hooks.mappings has nothing for this path",
        )
    })?;
    let name = mapping_name(mapping, request);
    // The operator's own mapping may name any agent of theirs.
    let broken = |why: String| {
        let why = format!("the mapping `{name}` cannot be carried out: {why}");
        ErrorReply::new(StatusCode::INTERNAL_SERVER_ERROR, "bad_mapping", why)
    };
    let agent = match &mapping.agent_id {
        None => agents.loaded().default_agent(),
        Some(named) => {
            let known = agents.loaded().agents();
            let found = known.into_iter().find(|id| id.as_str() == named);
            found.ok_or_else(|| broken(format!("there is no agent `{named}`")))?
        }
    };
    let action = mapping.action.unwrap_or(HookAction::Agent);
    let session = match (&mapping.session_key, action) {
        (Some(key), _) => {
            let filled = session_of(&request.fill_key(key), &agent);
            let filled = filled.map_err(|error| broken(error.message))?;
            // What a request names may be a session of its own, not one of the owner's.
            if takes_values(key) && !is_of_requests(&filled) {
                let why = "a sessionKey with values of the request has to start with `hook:`";
                return Err(broken(why.to_owned()));
            }
            filled
        }
        (None, HookAction::Wake) => SessionKey::main(&agent),
        (None, HookAction::Agent) => fresh_session(state, &agent)?,
    };
    let template = match action {
        HookAction::Wake => mapping
            .text_template
            .as_ref()
            .or(mapping.message_template.as_ref()),
        HookAction::Agent => mapping
            .message_template
            .as_ref()
            .or(mapping.text_template.as_ref()),
    };
    let (told, external) = match template {
        Some(template) => {
            let filled = request.fill(template);
            let told = MAPPED.trim().replace("{name}", &name);
            (told.replace("{words}", &filled.own), filled.values)
        }
        None => (CAME_IN.trim().to_owned(), request.whole()),
    };
    let to = mapping.to.as_ref().map(|to| to.0.clone());
    let delivery = match mapping.deliver {
        Some(true) => target_of_hook(&agent, mapping.channel.as_deref(), to.as_deref()),
        _ => Ok(DeliveryTarget::None),
    };
    Ok(HookEvent {
        agent,
        session,
        told,
        external,
        delivery: delivery.map_err(|refused| broken(refused.to_string()))?,
        model: mapping.model.clone(),
        timeout_seconds: mapping.timeout_seconds,
        name,
    })
}

/// The body, and the id the event has: that of its signature, of the key its sender gave it, or
/// one of its own.
async fn read_hook(
    state: &GatewayState,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, String), ErrorReply> {
    let agents = state.lanes.agents();
    let hooks = &agents.loaded().config.hooks;
    let most = usize::try_from(hooks.max_body_bytes).unwrap_or(usize::MAX);
    let bytes = read_bytes(body, most).await?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let given = |key: &str| format!("hook:{}", ContentHash::of(key));
    let key_of_body = || {
        let body: Value = serde_json::from_slice(&bytes).ok()?;
        body.get("idempotencyKey")?.as_str().map(str::to_owned)
    };
    let id = match (header(SIGNATURE), &state.hooks.secret) {
        (Some(signature), Some(secret)) => {
            let timestamp = header(TIMESTAMP).unwrap_or_default();
            let now = (
                state.lanes.host().unix_time(),
                hooks.signature_window_seconds,
            );
            let checked = check_signature(secret, (timestamp, signature), &bytes, now);
            checked.map_err(|fault| {
                tracing::warn!(%fault, "a signed webhook was refused");
                ErrorReply::new(StatusCode::UNAUTHORIZED, "bad_signature", fault.to_string())
            })?;
            // Headers besides are not signed: they decide nothing here.
            match key_of_body() {
                Some(key) => given(&key),
                // As it was compared: the same one can be spelled in more than one way.
                None => given(&signature.to_ascii_lowercase()),
            }
        }
        _ => match key_of_body().or_else(|| header("idempotency-key").map(str::to_owned)) {
            Some(key) => given(&key),
            None => format!("hook:{}", state.lanes.host().random_hex(16)),
        },
    };
    Ok((bytes, id))
}

fn read_call(bytes: &[u8]) -> Result<HookCall, ErrorReply> {
    let call: HookCall = serde_json::from_slice(bytes)
        .map_err(|error| ErrorReply::bad_request(format!("the request cannot be read: {error}")))?;
    match call.mode.as_deref() {
        None | Some("now") => Ok(call),
        Some(_) => Err(ErrorReply::bad_request(
            "`mode` can be `now`: an event does not wait for the next heartbeat",
        )),
    }
}

fn event_of(
    state: &GatewayState,
    call: HookCall,
    (agent, session): (AgentId, SessionKey),
    text: Option<String>,
) -> Result<HookEvent, ErrorReply> {
    let text = text.filter(|text| !text.trim().is_empty());
    let external = text.ok_or_else(|| {
        ErrorReply::bad_request("there is nothing in it: `message` for /agent, `text` for /wake")
    })?;
    let delivery = match call.deliver {
        Some(true) => target_of_hook(&agent, call.channel.as_deref(), call.to.as_deref()),
        _ => Ok(DeliveryTarget::None),
    };
    let delivery = delivery.map_err(|refused| {
        ErrorReply::new(StatusCode::BAD_REQUEST, "bad_delivery", refused.to_string())
    })?;
    if let DeliveryTarget::Session { key } = &delivery {
        // Where an answer is said is a session that the caller names, too.
        may_be_named(state, &key.to_string(), &agent)?;
    }
    Ok(HookEvent {
        agent,
        session,
        // It stands where the runtime speaks: a name, and no prose.
        name: call
            .name
            .map_or_else(|| "webhook".to_owned(), |name| plain_name(name.trim())),
        told: CAME_IN.trim().to_owned(),
        external,
        delivery,
        model: call.model,
        timeout_seconds: call.timeout_seconds,
    })
}

fn fresh_session(state: &GatewayState, agent: &AgentId) -> Result<SessionKey, ErrorReply> {
    let id = state.lanes.host().random_hex(8);
    session_of(&format!("hook:{id}"), agent)
}

fn agent_of(state: &GatewayState, named: Option<&str>) -> Result<AgentId, ErrorReply> {
    let agents = state.lanes.agents();
    let loaded = agents.loaded();
    let Some(named) = named else {
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
    key: &str,
    agent: &AgentId,
) -> Result<SessionKey, ErrorReply> {
    may_be_named(state, key, agent)?;
    let session = session_of(key, agent)?;
    match session.is_reserved() {
        true => Err(ErrorReply::bad_request(
            "only the runtime opens such sessions",
        )),
        false => Ok(session),
    }
}

fn may_be_named(state: &GatewayState, key: &str, agent: &AgentId) -> Result<(), ErrorReply> {
    let agents = state.lanes.agents();
    let hooks = &agents.loaded().config.hooks;
    let starts = &hooks.allowed_session_key_prefixes;
    let own = key.strip_prefix(&format!("agent:{agent}:"));
    let begins = |start: &String| {
        key.starts_with(start.as_str()) || own.is_some_and(|own| own.starts_with(start.as_str()))
    };
    let is_allowed =
        hooks.allow_request_session_key && (starts.is_empty() || starts.iter().any(begins));
    match is_allowed {
        true => Ok(()),
        false => Err(ErrorReply::bad_request(
            "callers may not name this session: hooks.allowRequestSessionKey and hooks.allowedSessionKeyPrefixes",
        )),
    }
}

async fn take_in(state: &Arc<GatewayState>, event: HookEvent, id: String) -> HookReply {
    let name: String = event
        .name
        .chars()
        .filter(|c| !c.is_control())
        .take(80)
        .collect();
    let external = (!event.external.trim().is_empty()).then(|| ExternalText {
        source: ExternalSource::Webhook { name: name.clone() },
        text: event.external.chars().take(MOST_CHARS).collect(),
    });
    let item = WorkItem {
        id: id.clone(),
        agent: event.agent,
        session: event.session.clone(),
        source: WorkSource::Hook { name },
        text: event.told,
        external: external.into_iter().collect(),
        images: Vec::new(),
        delivery: event.delivery,
        text_trust: None,
        options: WorkOptions {
            model: event.model,
            timeout_seconds: event.timeout_seconds,
            ..WorkOptions::default()
        },
    };
    let receipt = submit(state, item).await?;
    let body = json!({
        "ok": true, "id": id, "sessionKey": event.session,
        "repeated": matches!(receipt, WorkReceipt::Known { .. }),
    });
    Ok((StatusCode::OK, Json(body)))
}
