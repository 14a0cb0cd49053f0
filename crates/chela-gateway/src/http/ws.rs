//! The WebSocket: typed requests, and everything that happens as numbered events. A client that
//! lost its connection says which number it had last, and gets what it missed.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use chela_agent::prelude::SessionKey;
use chela_core::{ContentHash, ok_or_warn};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::turn_request::{agent_of_model, session_of, submit};
use crate::event_hub::GatewayEvent;
use crate::gateway_state::GatewayState;
use crate::json_member::put;
use crate::lanes::WorkReceipt;
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource};

/// The version of what is said here. A client that asks for another one is told so.
const VERSION: u32 = 1;
const PROTOCOL: &str = "chela.v1";
/// The largest message of a client.
const MOST_BYTES: usize = 1024 * 1024;
const PING_EVERY: Duration = Duration::from_secs(30);
/// So long a client may take to say hello, and to take what it is sent.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a client asks. `id` comes back with the reply.
#[derive(Debug, Deserialize)]
struct ClientRequest {
    id: Value,
    #[serde(flatten)]
    ask: ClientAsk,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
enum ClientAsk {
    /// First of all.
    #[serde(rename = "hello")]
    Hello { version: u32, since: Option<u64> },
    #[serde(rename = "chat.send")]
    Send {
        text: String,
        agent: Option<String>,
        session: Option<String>,
        idempotency_key: Option<String>,
    },
    #[serde(rename = "chat.stop")]
    Stop {
        agent: Option<String>,
        session: Option<String>,
    },
    #[serde(rename = "approvals.list")]
    Questions,
    #[serde(rename = "approvals.answer")]
    Answer { question: String, answer: String },
    #[serde(rename = "status")]
    Status,
}

pub(super) async fn upgrade(
    State(state): State<Arc<GatewayState>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        .on_upgrade(move |socket| async move {
            let mut client = SocketClient { socket, state };
            if client.talk().await.is_none() {
                tracing::debug!("a client on the WebSocket has gone");
            }
        })
}

struct SocketClient {
    socket: WebSocket,
    state: Arc<GatewayState>,
}

impl SocketClient {
    /// `None` when the client went.
    async fn talk(&mut self) -> Option<()> {
        let (mut live, mut last) = self.say_hello().await?;
        let mut ping = tokio::time::interval(PING_EVERY);
        loop {
            tokio::select! {
                message = self.socket.recv() => match message?.ok()? {
                    Message::Text(text) => {
                        let reply = reply_to(&self.state, &text).await;
                        self.send(&reply).await?;
                    }
                    Message::Close(_) => return None,
                    _ => {}
                },
                event = live.recv() => match event {
                    Ok(event) => {
                        if event.seq > last {
                            last = event.seq;
                            self.send_event(&event).await?;
                        }
                    }
                    // It was too slow: what is still kept comes now.
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        let (again, missed) = self.state.lanes.hub().listen(Some(last));
                        live = again;
                        if missed.has_gap {
                            self.send(&json!({ "type": "gap", "after": last })).await?;
                        }
                        for event in missed.events {
                            last = event.seq;
                            self.send_event(&event).await?;
                        }
                    }
                    Err(broadcast::error::RecvError::Closed) => return Some(()),
                },
                _ = ping.tick() => {
                    let sent = self.socket.send(Message::Ping(Vec::new().into()));
                    tokio::time::timeout(PATIENCE, sent).await.ok()?.ok()?;
                }
            }
        }
    }

    async fn say_hello(&mut self) -> Option<(broadcast::Receiver<Arc<GatewayEvent>>, u64)> {
        let message = tokio::time::timeout(PATIENCE, self.socket.recv())
            .await
            .ok()??;
        let Message::Text(text) = message.ok()? else {
            return None;
        };
        let read = serde_json::from_str::<ClientRequest>(&text);
        let (id, since) = match read {
            Ok(ClientRequest {
                id,
                ask:
                    ClientAsk::Hello {
                        version: VERSION,
                        since,
                    },
            }) => (id, since),
            Ok(ClientRequest { id, .. }) => {
                let why = format!("say hello first, with version {VERSION}");
                self.send(&refusal(&id, "hello", &why)).await?;
                return None;
            }
            Err(error) => {
                self.send(&refusal(&Value::Null, "unreadable", &error.to_string()))
                    .await?;
                return None;
            }
        };
        let hub = Arc::clone(self.state.lanes.hub());
        let (live, missed) = hub.listen(since);
        let last = since.filter(|_| !missed.has_gap).unwrap_or_else(|| {
            let first = missed.events.first();
            first.map_or_else(|| hub.last_seq(), |event| event.seq - 1)
        });
        let hello = json!({
            "version": VERSION,
            "server": { "name": "chela", "version": self.state.running.version },
            // Numbers of events count from here: another value, another process.
            "started": self.state.running.started,
            "seq": hub.last_seq(),
            "gap": missed.has_gap,
            "approvals": self.state.lanes.questions().list(),
        });
        self.send(&json!({ "type": "reply", "id": id, "ok": true, "result": hello }))
            .await?;
        let mut newest = last;
        for event in missed.events {
            newest = event.seq;
            self.send_event(&event).await?;
        }
        Some((live, newest))
    }

    async fn send_event(&mut self, event: &GatewayEvent) -> Option<()> {
        let told = serde_json::to_value(event);
        let mut told = ok_or_warn!(told, "an event cannot be sent", event = event.event)?;
        put(&mut told, "type", "event");
        self.send(&told).await
    }

    async fn send(&mut self, told: &Value) -> Option<()> {
        let sent = self.socket.send(Message::Text(told.to_string().into()));
        tokio::time::timeout(PATIENCE, sent).await.ok()?.ok()
    }
}

async fn reply_to(state: &Arc<GatewayState>, text: &str) -> Value {
    let request = match serde_json::from_str::<ClientRequest>(text) {
        Ok(request) => request,
        Err(error) => return refusal(&Value::Null, "unreadable", &error.to_string()),
    };
    match carry_out(state, request.ask).await {
        Ok(result) => {
            json!({ "type": "reply", "id": request.id, "ok": true, "result": result })
        }
        Err((code, why)) => refusal(&request.id, code, &why),
    }
}

async fn carry_out(
    state: &Arc<GatewayState>,
    ask: ClientAsk,
) -> Result<Value, (&'static str, String)> {
    match ask {
        ClientAsk::Hello { .. } => Err(("hello", "once is enough".to_owned())),
        ClientAsk::Send {
            text,
            agent,
            session,
            idempotency_key,
        } => {
            let (agent, session) = place_of(state, agent.as_deref(), session.as_deref())?;
            let id = match idempotency_key {
                Some(key) => format!("ws:{}", ContentHash::of(key)),
                None => format!("ws:{}", state.lanes.host().random_hex(16)),
            };
            let item = WorkItem {
                id: id.clone(),
                agent,
                session: session.clone(),
                source: WorkSource::Owner {
                    surface: "ws".to_owned(),
                },
                text,
                external: Vec::new(),
                images: Vec::new(),
                delivery: DeliveryTarget::None,
                text_trust: None,
                options: WorkOptions::default(),
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
        ClientAsk::Stop { agent, session } => {
            let (agent, session) = place_of(state, agent.as_deref(), session.as_deref())?;
            let stopped = state.lanes.stop_turn(&format!("{agent}/{session}"));
            Ok(json!({ "stopped": stopped }))
        }
        ClientAsk::Questions => Ok(json!({ "open": state.lanes.questions().list() })),
        ClientAsk::Answer { question, answer } => {
            let taken = state.lanes.questions().answer(&question, &answer);
            taken.map_err(|refused| ("not_taken", refused.to_string()))?;
            tracing::info!(question, answer, "answered over the WebSocket");
            Ok(json!({ "answered": question }))
        }
        ClientAsk::Status => Ok(json!({
            "pid": state.running.pid,
            "version": state.running.version,
            "started": state.running.started,
            "openConversations": state.lanes.open_count(),
        })),
    }
}

/// The agent and the session a client means: the default agent, its main session.
fn place_of(
    state: &GatewayState,
    agent: Option<&str>,
    session: Option<&str>,
) -> Result<(chela_agent::prelude::AgentId, SessionKey), (&'static str, String)> {
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

fn refusal(id: &Value, code: &str, why: &str) -> Value {
    json!({ "type": "reply", "id": id, "ok": false, "error": { "code": code, "message": why } })
}
