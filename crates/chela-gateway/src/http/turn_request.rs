//! What the model interfaces have in common: a request becomes work for a session, and its answer
//! is waited for or followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::http::{HeaderMap, StatusCode};
use chela_agent::prelude::{AgentId, ExternalSource, ExternalText, Sender, SessionKey};
use chela_core::ContentHash;
use chela_store::InboxStore;
use serde_json::Value;

use super::sse::EventFollower;
use crate::caller_tools::{CallerCall, CallerResult, check_tools};
use crate::error_reply::ErrorReply;
use crate::event_hub::GatewayEvent;
use crate::gateway_state::GatewayState;
use crate::lanes::{SubmitError, WorkLanes, WorkReceipt, WorkWaiter};
use crate::work_item::{
    CallerTool, DeliveryTarget, ToolAsk, WorkImage, WorkItem, WorkOptions, WorkOutcome, WorkSource,
    WorkStatus,
};

/// The channel of whoever a program names with `user`.
const CHANNEL: &str = "api";
/// How what a program tells besides stands before a message.
const WITH_INSTRUCTIONS: &str = include_str!("../../text/program-instructions.md");
/// What is said when results come for a turn that is over.
const RESULTS_ALONE: &str = include_str!("../../text/program-results.md");
const MOST_IMAGES: usize = 8;
/// What the names of those begin with who are known by a hash.
const HASHED: &str = "hash-";
/// Longer ones are known by a hash.
const LONGEST_USER: usize = 200;

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
    /// Tools of the program.
    pub tools: Vec<CallerTool>,
    /// Names of those of them, one of which has to be called first.
    pub must_call: Vec<String>,
    /// The session the program names, where it does so in the request itself.
    pub session: Option<String>,
    /// A tool that is called in place of a turn.
    pub call: Option<ToolAsk>,
    /// What came of the calls the program was asked to make.
    pub results: Vec<CallerResult>,
}

/// A request that was taken in: its turn waits, runs, or has ended.
pub(super) struct TakenTurn {
    /// The id of its work.
    pub work: String,
    /// What tells this answer from others of the same turn.
    pub key: String,
    pub follower: EventFollower,
    pub waiter: WorkWaiter,
    pub outcome: Option<WorkOutcome>,
}

/// What a request is answered with.
pub(super) enum TurnAnswer {
    Ended(WorkOutcome),
    /// The program is to run its tools; the turn waits for what comes of it.
    Calls(Vec<CallerCall>, WorkOutcome),
}

/// Takes a request in: as new work, or as the results a turn waits for.
pub(super) async fn take_turn(
    state: &Arc<GatewayState>,
    headers: &HeaderMap,
    request: TurnRequest,
) -> Result<TakenTurn, ErrorReply> {
    let calls = state.lanes.caller_calls();
    let going_on = request
        .results
        .iter()
        .find_map(|result| calls.work_of(&result.call));
    if let Some(work) = going_on {
        return go_on(state, headers, request, work).await;
    }
    let item = request.into_work(state, headers).await?;
    // Calls that wait in this session are those of a program that thought better of it.
    calls.give_up(&item.lane());
    let work = item.id.clone();
    let follower = EventFollower::of(state.lanes.hub(), &work);
    let waiter = state.lanes.waiter(&work);
    let outcome = match submit(state, item).await? {
        WorkReceipt::New => None,
        WorkReceipt::Known { outcome } => outcome,
    };
    let key = work.trim_start_matches("api:").to_owned();
    Ok(TakenTurn {
        work,
        key,
        follower,
        waiter,
        outcome,
    })
}

/// Hands results to the turn that waits for them.
async fn go_on(
    state: &Arc<GatewayState>,
    headers: &HeaderMap,
    request: TurnRequest,
    work: String,
) -> Result<TakenTurn, ErrorReply> {
    let waiter = state.lanes.waiter(&work);
    let found = state.lanes.store().by_id(&work).await;
    let found = found.map_err(|error| store_error(&error))?;
    let outcome = found.as_ref().and_then(|found| found.outcome.as_ref());
    let outcome = outcome.map(|outcome| WorkOutcome::read(&outcome.text));
    let item = found.and_then(|found| serde_json::from_str::<WorkItem>(&found.body).ok());
    let source = request.source()?;
    // Only whoever asked may answer for the program.
    if item.is_none_or(|item| item.source != source) {
        return Err(ErrorReply::bad_request(
            "these results belong to a turn that someone else asked for",
        ));
    }
    let suffix = state.lanes.host().random_hex(4);
    let follower = EventFollower::of(state.lanes.hub(), &work);
    if !request.text.trim().is_empty() {
        state.lanes.steer_work(&work, &request.text);
    }
    let calls = state.lanes.caller_calls();
    let of_this = |result: &CallerResult| calls.work_of(&result.call).as_ref() == Some(&work);
    let results = request.results.into_iter().filter(of_this).collect();
    calls.answer(results);
    if let Some(key) = header_text(headers, "idempotency-key") {
        tracing::debug!(work, key, "results came in");
    }
    Ok(TakenTurn {
        key: format!("{}.{suffix}", work.trim_start_matches("api:")),
        work,
        follower,
        waiter,
        outcome,
    })
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.map(str::trim).filter(|value| !value.is_empty())
}

/// The model a request names; none is the default agent.
pub(super) fn model_or_usual(named: &str) -> String {
    match named {
        "" => "chela".to_owned(),
        model => model.to_owned(),
    }
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
    /// Who speaks: see [`TurnRequest::into_work`].
    fn source(&self) -> Result<WorkSource, ErrorReply> {
        match self.user.as_deref().map(str::trim) {
            None => Ok(WorkSource::Owner {
                surface: CHANNEL.to_owned(),
            }),
            // A program that names nobody does not thereby become the owner.
            Some("") => Err(ErrorReply::bad_request(
                "`user` is empty: name whom the program speaks for, or leave it out where that is you",
            )),
            Some(user) => Ok(WorkSource::Sender {
                channel: CHANNEL.to_owned(),
                // No two that begin alike are one.
                id: match user.chars().count() <= LONGEST_USER {
                    true => user.to_owned(),
                    false => plain_name(user),
                },
            }),
        }
    }

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
        let header = |name: &str| header_text(headers, name);
        check_tools(&self.tools).map_err(ErrorReply::bad_request)?;
        let source = self.source()?;
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
        let user = self.user.as_deref().map(str::trim);
        let named = self
            .session
            .as_deref()
            .map(str::trim)
            .filter(|key| !key.is_empty());
        let named = named.or(header("x-chela-session-key"));
        let (session, is_kept) = match (named, user, &self.after) {
            (Some(key), None, _) => (session_of(key, &agent)?, true),
            (Some(_), Some(_), _) => {
                return Err(ErrorReply::bad_request(
                    "`user` and x-chela-session-key are two ways to say which session: leave one out",
                ));
            }
            (None, _, Some(after)) => (session_after(state, after, &source).await?, true),
            (None, Some(user), None) => (
                session_of(
                    &format!(
                        "{CHANNEL}:{}:{}",
                        place_of(&state.lanes, &source),
                        plain_name(user)
                    ),
                    &agent,
                )?,
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
        // Results of a turn that is over, such as one before a restart.
        if text.trim().is_empty() && !self.results.is_empty() {
            text = RESULTS_ALONE.trim().to_owned();
        }
        let mut told: Vec<(&str, String)> = Vec::new();
        // A session that is kept has its own record of what was said.
        if !is_kept && !self.history.is_empty() {
            told.push((
                "earlier messages, as the program tells them",
                told_history(&self.history),
            ));
        }
        if !self.results.is_empty() {
            let results = self.results.iter().map(|result| result.text.as_str());
            let results = results.collect::<Vec<_>>().join("\n\n");
            told.push(("results of the program's tools", results));
        }
        let external = told.into_iter().map(|(name, text)| ExternalText {
            source: ExternalSource::Api {
                name: name.to_owned(),
            },
            text,
        });
        let external = external.collect();
        let id = match header("idempotency-key") {
            Some(key) => format!("api:{}", work_hash(key, &source)),
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
                tools: self.tools,
                must_call: self.must_call,
                call: self.call,
                ..WorkOptions::default()
            },
        })
    }
}

/// What makes the same request the same work. The keys of one who speaks are nothing to another,
/// who would be given what the first was told.
fn work_hash(key: &str, source: &WorkSource) -> ContentHash {
    match source {
        WorkSource::Sender { channel, id } => {
            ContentHash::of(format!("{channel}\n{}\n{id}\n{key}", id.len()))
        }
        _ => ContentHash::of(key),
    }
}

fn told_history(history: &[(String, String)]) -> String {
    let lines: Vec<String> = history
        .iter()
        .map(|(role, text)| format!("{role}: {text}"))
        .collect();
    lines.join("\n\n")
}

/// What the key says of a place: a chat of the owner's is theirs alone; what is said to anybody else
/// is not, so it is no chat in private.
fn place_of(lanes: &WorkLanes, source: &WorkSource) -> &'static str {
    let agents = lanes.agents();
    let owners = &agents.loaded().config.commands.owner_allow_from;
    match source {
        WorkSource::Sender { channel, id } => {
            let sender = Sender {
                channel: Some(channel.clone()),
                id: Some(id.clone()),
                ..Sender::default()
            };
            let owners: Vec<String> = owners.iter().map(|owner| owner.0.clone()).collect();
            match sender.is_one_of(&owners) {
                true => "direct",
                false => "user",
            }
        }
        _ => "direct",
    }
}

/// A name that can stand in a key; others are known by their hash, so that no two are one.
pub(super) fn plain_name(user: &str) -> String {
    let is_plain = user.len() <= 64
        && !user.starts_with(HASHED)
        && user
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+'));
    match is_plain {
        true => user.to_owned(),
        false => format!("{HASHED}{}", ContentHash::of(user).short()),
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
    // Several answers of one turn differ in what follows the dot.
    let id = id.split('.').next().unwrap_or_default();
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

/// Waits for what comes of a request.
pub(super) async fn answer(
    state: &Arc<GatewayState>,
    mut turn: TakenTurn,
) -> Result<TurnAnswer, ErrorReply> {
    if let Some(outcome) = turn.outcome {
        return check(outcome).map(TurnAnswer::Ended);
    }
    tokio::select! {
        biased;
        outcome = turn.waiter.outcome() => check(outcome).map(TurnAnswer::Ended),
        calls = state.lanes.caller_calls().until_asked(&turn.work) => {
            let mut said = WorkOutcome::default();
            while let Ok(event) = turn.follower.events.try_recv() {
                note_event(&mut said, &event);
            }
            Ok(TurnAnswer::Calls(calls, said))
        }
    }
}

/// What was said and spent in a turn that goes on.
pub(super) fn note_event(said: &mut WorkOutcome, event: &GatewayEvent) {
    let number = |name: &str| event.data.get(name).and_then(Value::as_u64).unwrap_or(0);
    match event.event {
        "turn.text" => {
            let delta = event.data.get("delta").and_then(Value::as_str);
            said.reply.push_str(delta.unwrap_or_default());
        }
        "turn.called" => {
            said.input_tokens += number("inputTokens");
            said.output_tokens += number("outputTokens");
            said.cache_read_tokens += number("cacheReadTokens");
            said.cache_write_tokens += number("cacheWriteTokens");
        }
        "turn.retracted" | "turn.restarted" => said.reply.clear(),
        _ => {}
    }
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
