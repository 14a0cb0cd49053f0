//! What clients ask, and what is done about it.

use chela_agent::prelude::{AgentId, SessionKey};
use chela_log::LogLevel;
use chela_sandbox::check_work_folder;
use chela_session::SessionFilter;
use chela_store::InboxStore as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::turn_request::{agent_of_model, session_of, submit};
use super::SocketClient;
use super::log_tail::LogTail;
use crate::gateway_state::GatewayState;
use crate::lanes::WorkReceipt;
use crate::work_item::{
    DeliveryTarget, FolderAsk, WorkImage, WorkItem, WorkOptions, WorkOutcome, WorkSource,
};
use crate::ws_protocol::work_of_key;

/// Names of surfaces are shown to the owner.
const MOST_NAME: usize = 40;
const MOST_IMAGES: usize = 8;

/// What a client asks. `id` comes back with the reply.
#[derive(Debug, Deserialize)]
pub(super) struct ClientRequest {
    pub id: Value,
    #[serde(flatten)]
    pub ask: ClientAsk,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(super) enum ClientAsk {
    /// First of all.
    #[serde(rename = "hello")]
    Hello(HelloAsk),
    #[serde(rename = "chat.send")]
    Send(Box<SendAsk>),
    #[serde(rename = "chat.stop")]
    Stop {
        agent: Option<String>,
        session: Option<String>,
    },
    #[serde(rename = "work.get")]
    Work { work: String },
    #[serde(rename = "sessions.list")]
    Sessions { agent: Option<String> },
    #[serde(rename = "approvals.list")]
    Questions,
    #[serde(rename = "approvals.answer")]
    Answer { question: String, answer: String },
    #[serde(rename = "logs.follow")]
    FollowLog { level: Option<String> },
    #[serde(rename = "logs.stop")]
    LeaveLog,
    #[serde(rename = "config.reload")]
    Reload,
    #[serde(rename = "status")]
    Status,
}

/// Who connects, and what it has heard already.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HelloAsk {
    pub version: u32,
    /// The number of the last event it has seen.
    pub since: Option<u64>,
    /// The run of the process that number counts in, as its hello said.
    pub started: Option<u64>,
    surface: Option<String>,
    /// Whether it shows questions to the owner; it does unless it says otherwise.
    pub asks: Option<bool>,
}

impl HelloAsk {
    pub fn surface_name(&self) -> String {
        let name = self.surface.as_deref().unwrap_or("ws");
        let plain = name
            .chars()
            .filter(|c| c.is_alphanumeric() || "-_. ".contains(*c));
        plain.take(MOST_NAME).collect()
    }
}

/// A message of the owner.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendAsk {
    text: String,
    agent: Option<String>,
    session: Option<String>,
    idempotency_key: Option<String>,
    model: Option<String>,
    #[serde(default)]
    images: Vec<WorkImage>,
    #[serde(default)]
    pasted: Vec<String>,
    #[serde(default)]
    own_output: Vec<String>,
    piped: Option<String>,
    #[serde(default)]
    folders: Vec<FolderAsk>,
}

type AskResult = Result<Value, (&'static str, String)>;

impl SocketClient {
    pub(super) async fn carry_out(&mut self, ask: ClientAsk) -> AskResult {
        let state = &self.state;
        match ask {
            ClientAsk::Hello(_) => Err(("hello", "once is enough".to_owned())),
            ClientAsk::Send(ask) => take_message(state, &self.surface, *ask).await,
            ClientAsk::Stop { agent, session } => {
                let (agent, session) = place_of(state, agent.as_deref(), session.as_deref())?;
                let stopped = state.lanes.stop_turn(&format!("{agent}/{session}"));
                Ok(json!({ "stopped": stopped }))
            }
            ClientAsk::Work { work } => work_standing(state, &work).await,
            ClientAsk::Sessions { agent } => list_sessions(state, agent.as_deref()).await,
            ClientAsk::Questions => Ok(json!({ "open": state.lanes.questions().list() })),
            ClientAsk::Answer { question, answer } => {
                let questions = state.lanes.questions();
                let taken = questions.answer(&question, &answer, &self.surface);
                taken.map_err(|refused| ("not_taken", refused.to_string()))?;
                tracing::info!(question, answer, "answered over the WebSocket");
                Ok(json!({ "answered": question }))
            }
            ClientAsk::FollowLog { level } => {
                let level = read_level(level.as_deref())?;
                let file = state.log_file.as_ref();
                let file = file.ok_or(("no_log", "this gateway keeps no log".to_owned()))?;
                let tail = LogTail::from_now(file, level);
                self.log = Some(tail.map_err(|error| ("no_log", error.to_string()))?);
                Ok(json!({ "follows": true }))
            }
            ClientAsk::LeaveLog => {
                self.log = None;
                Ok(json!({ "follows": false }))
            }
            ClientAsk::Reload => {
                state.reload.ask().notify_one();
                Ok(json!({ "asked": true }))
            }
            ClientAsk::Status => Ok(json!({
                "pid": state.running.pid,
                "version": state.running.version,
                "started": state.running.started,
                "openConversations": state.lanes.open_count(),
                "config": state.reload.standing(),
                "clients": state.client_seats(),
            })),
        }
    }
}

async fn take_message(state: &GatewayState, surface: &str, ask: SendAsk) -> AskResult {
    let (agent, session) = place_of(state, ask.agent.as_deref(), ask.session.as_deref())?;
    let host = state.lanes.host();
    for folder in &ask.folders {
        let checked = check_work_folder(host, &folder.path);
        checked.map_err(|why| ("folder", why))?;
    }
    if ask.images.len() > MOST_IMAGES {
        let why = format!("at most {MOST_IMAGES} images can come with a message");
        return Err(("invalid", why));
    }
    let key = ask.idempotency_key.unwrap_or_else(|| host.random_hex(16));
    let id = work_of_key(&key);
    let item = WorkItem {
        id: id.clone(),
        agent,
        session: session.clone(),
        source: WorkSource::Owner {
            surface: surface.to_owned(),
        },
        text: ask.text,
        external: Vec::new(),
        images: ask.images,
        delivery: DeliveryTarget::None,
        text_trust: None,
        options: WorkOptions {
            model: ask.model,
            pasted: ask.pasted,
            own_output: ask.own_output,
            piped: ask.piped,
            folders: ask.folders,
            ..WorkOptions::default()
        },
    };
    let receipt = submit(state, item).await;
    let receipt = receipt.map_err(|error| (error.code, error.message))?;
    let (repeated, outcome) = match receipt {
        WorkReceipt::New => (false, None),
        WorkReceipt::Known { outcome } => (true, outcome),
    };
    Ok(json!({
        "work": id, "session": session, "repeated": repeated, "outcome": outcome,
    }))
}

/// What came of a piece of work, for a client that missed its end.
async fn work_standing(state: &GatewayState, work: &str) -> AskResult {
    let found = state.lanes.store().by_id(work).await;
    let found = found.map_err(|error| ("store_error", error.to_string()))?;
    let Some(found) = found else {
        return Err(("not_found", format!("no work `{work}` is on record")));
    };
    let outcome = found
        .outcome
        .map(|outcome| WorkOutcome::read(&outcome.text));
    Ok(json!({ "work": work, "outcome": outcome }))
}

async fn list_sessions(state: &GatewayState, agent: Option<&str>) -> AskResult {
    let (agent, _) = place_of(state, agent, None)?;
    let failed = |error: &dyn std::fmt::Display| ("store_error", error.to_string());
    let agents = state.lanes.agents();
    let sessions = agents.sessions(&agent).map_err(|error| failed(&error))?;
    let listed = sessions.list(&SessionFilter::default()).await;
    let listed = listed.map_err(|error| failed(&error))?;
    Ok(json!({ "agent": agent, "sessions": listed }))
}

fn read_level(level: Option<&str>) -> Result<LogLevel, (&'static str, String)> {
    match level {
        None | Some("info") => Ok(LogLevel::Info),
        Some("error") => Ok(LogLevel::Error),
        Some("warn") => Ok(LogLevel::Warn),
        Some("debug") => Ok(LogLevel::Debug),
        Some("trace") => Ok(LogLevel::Trace),
        Some(_) => Err((
            "invalid",
            "level is error, warn, info, debug or trace".to_owned(),
        )),
    }
}

/// The agent and the session a client means: the default agent, its main session.
fn place_of(
    state: &GatewayState,
    agent: Option<&str>,
    session: Option<&str>,
) -> Result<(AgentId, SessionKey), (&'static str, String)> {
    let model = agent.map_or_else(|| "chela".to_owned(), |agent| format!("chela/{agent}"));
    let agent = agent_of_model(state, &model);
    let agent = agent.map_err(|error| (error.code, error.message))?;
    let session = match session {
        Some(key) => {
            let session = session_of(key, &agent);
            session.map_err(|error| (error.code, error.message))?
        }
        None => SessionKey::main(&agent),
    };
    Ok((agent, session))
}
