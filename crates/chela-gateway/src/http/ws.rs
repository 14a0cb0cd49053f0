//! The WebSocket: typed requests, and everything that happens as numbered events. A client that
//! lost its connection says which number it had last, and gets what it missed. Every message is in
//! docs/book/websocket.md.

mod client_ask;
mod log_tail;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use chela_core::{ContentHash, lock, ok_or_warn};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::event_hub::{AskerSeat, GatewayEvent};
use crate::gateway_state::{ClientSeat, GatewayState};
use crate::ws_protocol::{PROTOCOL, VERSION};
use client_ask::{ClientAsk, ClientRequest, HelloAsk};
use log_tail::LogTail;

/// The largest message of a client: a few pictures fit.
const MOST_BYTES: usize = 24 * 1024 * 1024;
const PING_EVERY: Duration = Duration::from_secs(30);
/// So often it is looked whether the token still counts, and whether the log has grown.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// So long a client may take to say hello, and to take what it is sent.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) async fn upgrade(
    State(state): State<Arc<GatewayState>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    // What it showed has just been judged: from here on another secret ends the connection.
    let let_in_with = state.access.current();
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        .on_upgrade(move |socket| async move {
            let mut client = SocketClient {
                id: state.next_client.fetch_add(1, Ordering::Relaxed),
                socket,
                surface: String::new(),
                asks: None,
                log: None,
                let_in_with,
                state,
            };
            if client.talk().await.is_none() {
                tracing::debug!("a client on the WebSocket has gone");
            }
            client.leave();
        })
}

/// One client, for as long as it is connected.
struct SocketClient {
    id: u64,
    socket: WebSocket,
    state: Arc<GatewayState>,
    /// What it calls itself; empty before its hello.
    surface: String,
    /// It shows questions to the owner.
    asks: Option<AskerSeat>,
    log: Option<LogTail>,
    let_in_with: ContentHash,
}

impl SocketClient {
    /// `None` when the client went.
    async fn talk(&mut self) -> Option<()> {
        let (mut live, mut last) = self.say_hello().await?;
        let mut ping = tokio::time::interval(PING_EVERY);
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                message = self.socket.recv() => match message?.ok()? {
                    Message::Text(text) => {
                        self.check_token().await?;
                        let reply = self.reply_to(&text).await;
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
                _ = look.tick() => {
                    self.check_token().await?;
                    self.send_log().await?;
                }
                _ = ping.tick() => {
                    let sent = self.socket.send(Message::Ping(Vec::new().into()));
                    tokio::time::timeout(PATIENCE, sent).await.ok()?.ok()?;
                }
            }
        }
    }

    /// Ends the connection when the token it was made with counts no more.
    async fn check_token(&mut self) -> Option<()> {
        if self.state.access.current() == self.let_in_with {
            return Some(());
        }
        tracing::info!(
            client = self.id,
            "the token has changed: a client is disconnected"
        );
        self.send(&json!({ "type": "closing", "why": "the token has changed" }))
            .await?;
        None
    }

    async fn send_log(&mut self) -> Option<()> {
        let Some(log) = &mut self.log else {
            return Some(());
        };
        for line in log.read_more() {
            self.send(&json!({ "type": "log", "line": line })).await?;
        }
        Some(())
    }

    async fn say_hello(&mut self) -> Option<(broadcast::Receiver<Arc<GatewayEvent>>, u64)> {
        let message = tokio::time::timeout(PATIENCE, self.socket.recv())
            .await
            .ok()??;
        let Message::Text(text) = message.ok()? else {
            return None;
        };
        let read = serde_json::from_str::<ClientRequest>(&text);
        let (id, ask) = match read {
            Ok(ClientRequest {
                id,
                ask: ClientAsk::Hello(ask),
            }) if ask.version == VERSION => (id, ask),
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
        self.enter(&ask);
        let hub = Arc::clone(self.state.lanes.hub());
        let (live, mut missed) = hub.listen(ask.since);
        // Numbers of another run of the process say nothing here.
        let is_other_run = |started| started != self.state.running.started;
        if ask.since.is_some() && ask.started.is_some_and(is_other_run) {
            missed.has_gap = true;
            missed.events.clear();
        }
        let last = ask.since.filter(|_| !missed.has_gap).unwrap_or_else(|| {
            let first = missed.events.first();
            first.map_or_else(|| hub.last_seq(), |event| event.seq - 1)
        });
        let hello = json!({
            "version": VERSION,
            "server": { "name": "chela", "version": self.state.running.version },
            // Numbers of events count from here: another value, another process.
            "started": self.state.running.started,
            "client": self.id,
            "seq": hub.last_seq(),
            "gap": missed.has_gap,
            "approvals": self.state.lanes.questions().list(),
            "clients": self.state.client_seats(),
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

    /// Takes its place among the clients; the others hear of it.
    fn enter(&mut self, ask: &HelloAsk) {
        self.surface = ask.surface_name();
        self.asks = ask
            .asks
            .unwrap_or(true)
            .then(|| self.state.lanes.hub().add_asker());
        let seat = ClientSeat {
            client: self.id,
            surface: self.surface.clone(),
            asks: self.asks.is_some(),
            since: self.state.lanes.host().unix_millis(),
        };
        lock(&self.state.clients).insert(self.id, seat);
        self.tell_presence();
    }

    fn leave(&mut self) {
        self.asks = None;
        let left = lock(&self.state.clients).remove(&self.id);
        if left.is_some() {
            self.tell_presence();
        }
    }

    fn tell_presence(&self) {
        let clients = self.state.client_seats();
        self.state.tell("presence", json!({ "clients": clients }));
    }

    async fn reply_to(&mut self, text: &str) -> Value {
        let request = match serde_json::from_str::<ClientRequest>(text) {
            Ok(request) => request,
            Err(error) => return refusal(&Value::Null, "unreadable", &error.to_string()),
        };
        match self.carry_out(request.ask).await {
            Ok(result) => {
                json!({ "type": "reply", "id": request.id, "ok": true, "result": result })
            }
            Err((code, why)) => refusal(&request.id, code, &why),
        }
    }

    async fn send_event(&mut self, event: &GatewayEvent) -> Option<()> {
        let told = serde_json::to_value(event);
        let mut told = ok_or_warn!(told, "an event cannot be sent", event = event.event)?;
        if let Some(told) = told.as_object_mut() {
            told.insert("type".to_owned(), "event".into());
        }
        self.send(&told).await
    }

    async fn send(&mut self, told: &Value) -> Option<()> {
        let sent = self.socket.send(Message::Text(told.to_string().into()));
        tokio::time::timeout(PATIENCE, sent).await.ok()?.ok()
    }
}

fn refusal(id: &Value, code: &str, why: &str) -> Value {
    json!({ "type": "reply", "id": id, "ok": false, "error": { "code": code, "message": why } })
}
