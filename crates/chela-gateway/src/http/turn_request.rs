//! What the model interfaces have in common: a request becomes work for a session, and its answer
//! is waited for or followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::http::{HeaderMap, StatusCode};
use chela_agent::prelude::{AgentId, ExternalSource, ExternalText, SessionKey};
use chela_core::ContentHash;
use chela_store::InboxStore;

use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::lanes::{SubmitError, WorkReceipt};
use crate::work_item::{
    DeliveryTarget, WorkImage, WorkItem, WorkOptions, WorkOutcome, WorkSource, WorkStatus,
};

/// The channel of whoever a program names with `user`.
const CHANNEL: &str = "api";
/// How what a program tells besides stands before a message.
const WITH_INSTRUCTIONS: &str = include_str!("../../text/program-instructions.md");
const MOST_IMAGES: usize = 8;

/// A request of any of the interfaces, in our own words.
#[derive(Debug, Default)]
pub(super) struct TurnRequest {
    pub model: String,
    /// Whom the program speaks for.
    pub user: Option<String>,
    /// What the program tells the agent besides: system and developer messages.
    pub instructions: Vec<String>,
    /// What was said before, as the program tells it.
    pub history: Vec<(String, String)>,
    pub text: String,
    pub images: Vec<WorkImage>,
    /// Go on in the session of an earlier answer.
    pub after: Option<String>,
}

/// The agent a `model` stands for: `chela`, `chela/default` or `chela/<agent>`.
pub(super) fn agent_of_model(state: &GatewayState, model: &str) -> Result<AgentId, ErrorReply> {
    let agents = state.lanes.agents();
    let loaded = agents.loaded();
    let named = match model {
        "" | "chela" | "chela/default" => return Ok(loaded.default_agent()),
        model => model.strip_prefix("chela/"),
    };
    let known = loaded.agents();
    let found = named.and_then(|name| known.iter().find(|agent| agent.as_str() == name));
    found.cloned().ok_or_else(|| {
        let known: Vec<String> = known.iter().map(|agent| format!("chela/{agent}")).collect();
        ErrorReply::new(
            StatusCode::NOT_FOUND,
            "model_not_found",
            format!(
                "there is no model `{}`; a model here is an agent: chela, {}",
                chela_core::sanitize::literal(&model.chars().take(80).collect::<String>()),
                known.join(", ")
            ),
        )
    })
}

impl TurnRequest {
    /// The work this request asks for.
    ///
    /// Whoever shows the owner's token is the owner, unless the program says with `user` that it
    /// speaks for somebody: that one is `api:<user>`, and the owner only where
    /// `commands.ownerAllowFrom` says so. What the program tells of earlier words is nobody's: it
    /// is external.
    pub async fn into_work(
        self,
        state: &GatewayState,
        headers: &HeaderMap,
    ) -> Result<WorkItem, ErrorReply> {
        let header = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        let agent = match header("x-chela-agent-id") {
            Some(id) => agent_of_model(state, &format!("chela/{id}"))?,
            None => agent_of_model(state, &self.model)?,
        };
        if self.images.len() > MOST_IMAGES {
            return Err(ErrorReply::bad_request(format!(
                "at most {MOST_IMAGES} pictures can come with a message"
            )));
        }
        let host = state.lanes.host();
        let user = self
            .user
            .as_deref()
            .map(str::trim)
            .filter(|user| !user.is_empty());
        let source = match user {
            None => WorkSource::Owner {
                surface: CHANNEL.to_owned(),
            },
            Some(user) => WorkSource::Sender {
                channel: CHANNEL.to_owned(),
                id: user.chars().take(200).collect(),
            },
        };
        let (session, is_kept) = match (header("x-chela-session-key"), user, &self.after) {
            (Some(key), None, _) => (session_of(key, &agent)?, true),
            (Some(_), Some(_), _) => {
                return Err(ErrorReply::bad_request(
                    "`user` and x-chela-session-key are two ways to say which session: leave one out",
                ));
            }
            (None, _, Some(after)) => (session_after(state, after, &source).await?, true),
            (None, Some(user), None) => (
                session_of(&format!("{CHANNEL}:direct:{}", plain_name(user)), &agent)?,
                true,
            ),
            (None, None, None) => {
                let name = format!("explicit:{CHANNEL}-{}", host.random_hex(8));
                (session_of(&name, &agent)?, false)
            }
        };
        let mut text = self.text;
        if !self.instructions.is_empty() {
            let (before, between) = WITH_INSTRUCTIONS
                .trim()
                .split_once("{instructions}")
                .unwrap_or_default();
            let between = between.trim_end_matches("{text}");
            let instructions = self.instructions.join("\n\n");
            text = format!("{before}{instructions}{between}{text}");
        }
        // A session that is kept has its own record of what was said.
        let external = match is_kept || self.history.is_empty() {
            true => Vec::new(),
            false => vec![ExternalText {
                source: ExternalSource::Api {
                    name: "earlier messages, as the program tells them".to_owned(),
                },
                text: told_history(&self.history),
            }],
        };
        let id = match header("idempotency-key") {
            Some(key) => format!("api:{}", ContentHash::of(key)),
            None => format!("api:{}", host.random_hex(16)),
        };
        Ok(WorkItem {
            id,
            agent,
            session,
            source,
            text,
            external,
            images: self.images,
            delivery: DeliveryTarget::None,
            text_trust: None,
            options: WorkOptions {
                model: header("x-chela-model").map(str::to_owned),
                ..WorkOptions::default()
            },
        })
    }
}

fn told_history(history: &[(String, String)]) -> String {
    let lines: Vec<String> = history
        .iter()
        .map(|(role, text)| format!("{role}: {text}"))
        .collect();
    lines.join("\n\n")
}

/// A name that can stand in a key; others are known by their hash, so that no two are one.
fn plain_name(user: &str) -> String {
    let is_plain = user.len() <= 64
        && user
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+'));
    match is_plain {
        true => user.to_owned(),
        false => format!("hash-{}", ContentHash::of(user).short()),
    }
}

pub(super) fn session_of(key: &str, agent: &AgentId) -> Result<SessionKey, ErrorReply> {
    let key = match key.starts_with("agent:") {
        true => key.to_owned(),
        false => format!("agent:{agent}:{key}"),
    };
    let parsed = SessionKey::parse(&key);
    let key = parsed.map_err(|error| ErrorReply::bad_request(error.to_string()))?;
    match key.agent.as_deref() == Some(agent.as_str()) {
        true => Ok(key),
        false => Err(ErrorReply::bad_request(format!(
            "session {key} belongs to another agent than {agent}"
        ))),
    }
}

/// The session an earlier answer was given in, for the one who got it.
async fn session_after(
    state: &GatewayState,
    after: &str,
    source: &WorkSource,
) -> Result<SessionKey, ErrorReply> {
    let unknown = || {
        ErrorReply::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "previous_response_id is not the id of an answer that is still on record",
        )
    };
    let id = after.strip_prefix("resp_").ok_or_else(unknown)?;
    let found = state.lanes.store().by_id(&format!("api:{id}")).await;
    let found = found
        .map_err(|error| store_error(&error))?
        .ok_or_else(unknown)?;
    let item: WorkItem = serde_json::from_str(&found.body).map_err(|_| unknown())?;
    match item.source == *source {
        true => Ok(item.session),
        false => Err(unknown()),
    }
}

fn store_error(error: &chela_store::StoreError) -> ErrorReply {
    tracing::error!(%error, "the inbox failed");
    ErrorReply::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "store_error",
        "the inbox cannot be used now; `chela doctor` looks at it",
    )
}

/// Hands work in.
pub(super) async fn submit(
    state: &GatewayState,
    item: WorkItem,
) -> Result<WorkReceipt, ErrorReply> {
    if state.draining.load(Ordering::SeqCst) {
        return Err(refused(&SubmitError::ShuttingDown));
    }
    let submitted = state.lanes.submit(item).await;
    submitted.map_err(|error| refused(&error))
}

pub(super) fn refused(error: &SubmitError) -> ErrorReply {
    let (status, code) = match error {
        SubmitError::Store(error) => return store_error(error),
        SubmitError::Encode(_) => (StatusCode::BAD_REQUEST, "invalid_request_error"),
        SubmitError::Quota(_) => (StatusCode::TOO_MANY_REQUESTS, "quota_reached"),
        SubmitError::QueueFull { .. } => (StatusCode::TOO_MANY_REQUESTS, "queue_full"),
        SubmitError::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
        SubmitError::NoAgent(_) => (StatusCode::NOT_FOUND, "model_not_found"),
    };
    let retry_after = match error {
        SubmitError::Quota(full) => Some(full.retry_after),
        _ => None,
    };
    ErrorReply {
        retry_after,
        ..ErrorReply::new(status, code, error.to_string())
    }
}

/// Hands work in and waits for what comes of it.
pub(super) async fn answer(
    state: &Arc<GatewayState>,
    item: WorkItem,
) -> Result<WorkOutcome, ErrorReply> {
    let id = item.id.clone();
    let outcome = match submit(state, item).await? {
        WorkReceipt::Known {
            outcome: Some(outcome),
        } => outcome,
        _ => {
            let waited = state.lanes.wait_for(&id).await;
            waited.map_err(|error| store_error(&error))?
        }
    };
    check(outcome)
}

/// An answer, or why there is none.
pub(super) fn check(outcome: WorkOutcome) -> Result<WorkOutcome, ErrorReply> {
    let why = || outcome.error.clone().unwrap_or_default();
    match outcome.status {
        WorkStatus::Answered | WorkStatus::Silent | WorkStatus::Stopped => Ok(outcome),
        WorkStatus::Failed => Err(ErrorReply::new(
            StatusCode::BAD_GATEWAY,
            "turn_failed",
            why(),
        )),
        WorkStatus::Dropped => Err(ErrorReply::new(
            StatusCode::TOO_MANY_REQUESTS,
            "queue_full",
            why(),
        )),
    }
}
