//! The other end of the WebSocket: how a program of the owner, such as the terminal chat, stays in
//! touch with the gateway of its home. When the connection breaks it is made again, and what was
//! missed comes afterwards.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chela_agent::prelude::{Host, LoadedConfig};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use crate::access_token::owner_secret;
use crate::instance::RunningGateway;
use crate::tls::{GatewayStream, connect_tls};
use crate::ws_protocol::{PROTOCOL, VERSION};

/// So long the gateway may take to answer a hello.
const PATIENCE: Duration = Duration::from_secs(5);
/// So long a lost gateway is looked for: one that restarts is back by then.
const LOOK_FOR: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Who wants to be in touch.
#[derive(Debug, Clone)]
pub struct LinkAsk {
    /// What it is called where others see it: `terminal`.
    pub surface: String,
    /// It can put a question to the owner.
    pub asks: bool,
}

/// What the gateway told.
#[derive(Debug, Clone, Deserialize)]
pub struct ClientEvent {
    pub seq: u64,
    pub event: String,
    pub work: Option<String>,
    pub session: Option<String>,
    #[serde(default)]
    pub data: Value,
}

/// What happens on the way to the gateway.
#[derive(Debug)]
pub enum LinkEvent {
    Told(ClientEvent),
    /// The connection broke; it is being made again.
    Lost,
    /// It stands again. With a gap, some of what happened was not heard of.
    Back {
        gap: bool,
    },
    /// The gateway is not found any more.
    Gone,
}

/// Why the gateway cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the gateway cannot be reached: {0}")]
    Unreachable(String),
    #[error("{message}")]
    Refused { code: String, message: String },
    #[error("the connection to the gateway broke")]
    Lost,
}

/// A connection to the gateway of a home.
#[derive(Debug)]
pub struct GatewayLink {
    asks: mpsc::UnboundedSender<PendingAsk>,
    /// The process it was made to.
    pub pid: u32,
    /// Questions that were open when it was made.
    pub open_questions: Vec<Value>,
}

#[derive(Debug)]
struct PendingAsk {
    body: Value,
    reply: oneshot::Sender<Result<Value, LinkError>>,
}

impl GatewayLink {
    /// Gets in touch with the gateway that runs.
    pub async fn connect(
        host: &Host,
        loaded: &Arc<LoadedConfig>,
        running: &RunningGateway,
        ask: LinkAsk,
    ) -> Result<(Self, mpsc::UnboundedReceiver<LinkEvent>), LinkError> {
        let (events, heard) = mpsc::unbounded_channel();
        let (asks, asked) = mpsc::unbounded_channel();
        let mut keeper = LinkKeeper {
            host: host.clone(),
            loaded: Arc::clone(loaded),
            ask,
            events,
            asked,
            waiting: HashMap::new(),
            next: 1,
            last: 0,
            started: 0,
        };
        let (socket, hello) = keeper.connect_to(running, None).await?;
        let open = hello.get("approvals").and_then(Value::as_array).cloned();
        let link = Self {
            asks,
            pid: running.pid,
            open_questions: open.unwrap_or_default(),
        };
        tokio::spawn(async move { keeper.keep(socket).await });
        Ok((link, heard))
    }

    /// Asks for something, such as `{"type": "chat.stop"}`.
    pub async fn ask(&self, body: Value) -> Result<Value, LinkError> {
        let (reply, replied) = oneshot::channel();
        let pending = PendingAsk { body, reply };
        self.asks.send(pending).map_err(|_| LinkError::Lost)?;
        replied.await.unwrap_or(Err(LinkError::Lost))
    }

    /// Whether the gateway was given up.
    pub fn is_gone(&self) -> bool {
        self.asks.is_closed()
    }
}

type Socket = WebSocketStream<GatewayStream>;

/// Holds the connection.
struct LinkKeeper {
    host: Host,
    loaded: Arc<LoadedConfig>,
    ask: LinkAsk,
    events: mpsc::UnboundedSender<LinkEvent>,
    asked: mpsc::UnboundedReceiver<PendingAsk>,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, LinkError>>>,
    next: u64,
    /// The number of the last event that was heard, and the run of the process it counts in.
    last: u64,
    started: u64,
}

impl LinkKeeper {
    async fn connect_to(
        &mut self,
        running: &RunningGateway,
        since: Option<u64>,
    ) -> Result<(Socket, Value), LinkError> {
        let connecting = self.shake_hands(running, since);
        match tokio::time::timeout(PATIENCE, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(LinkError::Unreachable("it does not answer".to_owned())),
        }
    }

    async fn shake_hands(
        &mut self,
        running: &RunningGateway,
        since: Option<u64>,
    ) -> Result<(Socket, Value), LinkError> {
        let failed = |error: &dyn std::fmt::Display| LinkError::Unreachable(error.to_string());
        let secret = owner_secret(&self.host, &self.loaded).await;
        let secret = secret.map_err(|error| failed(&error))?;
        let address = running.socket_address();
        let address = address.ok_or_else(|| failed(&"it is written down at no address"))?;
        let stream = TcpStream::connect(address).await;
        let stream = stream.map_err(|error| failed(&error))?;
        let stream = match running.certificate {
            None => GatewayStream::Plain(stream),
            Some(shown) => {
                let made = connect_tls(stream, address.ip(), shown).await;
                made.map_err(|error| failed(&error))?
            }
        };
        let request = format!("ws://{address}/ws").into_client_request();
        let mut request = request.map_err(|error| failed(&error))?;
        let headers = request.headers_mut();
        let mut bearer =
            HeaderValue::try_from(format!("Bearer {secret}")).map_err(|error| failed(&error))?;
        bearer.set_sensitive(true);
        headers.insert("authorization", bearer);
        headers.insert("sec-websocket-protocol", HeaderValue::from_static(PROTOCOL));
        let (mut socket, _) = match tokio_tungstenite::client_async(request, stream).await {
            Ok(made) => made,
            Err(SocketError::Http(answer)) => {
                return Err(LinkError::Unreachable(format!(
                    "it answers {}",
                    answer.status()
                )));
            }
            Err(error) => return Err(failed(&error)),
        };
        let hello = json!({
            "id": 0, "type": "hello", "version": VERSION, "surface": self.ask.surface,
            "asks": self.ask.asks, "since": since, "started": since.map(|_| self.started),
        });
        let sent = socket.send(Message::text(hello.to_string())).await;
        sent.map_err(|error| failed(&error))?;
        loop {
            let message = socket.next().await.ok_or(LinkError::Lost)?;
            let Message::Text(text) = message.map_err(|error| failed(&error))? else {
                continue;
            };
            let told: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
            let hello = result_of(told)?;
            self.started = hello.get("started").and_then(Value::as_u64).unwrap_or(0);
            if since.is_none() || hello.get("gap").is_some_and(|gap| gap == true) {
                self.last = hello.get("seq").and_then(Value::as_u64).unwrap_or(0);
            }
            return Ok((socket, hello));
        }
    }

    /// Until nobody wants to be in touch any more, or the gateway is gone.
    async fn keep(mut self, mut socket: Socket) {
        loop {
            let Some(()) = self.talk(&mut socket).await else {
                return;
            };
            for (_, waiting) in self.waiting.drain() {
                let _ = waiting.send(Err(LinkError::Lost));
            }
            let _ = self.events.send(LinkEvent::Lost);
            match self.find_again().await {
                Some((again, gap)) => {
                    socket = again;
                    let _ = self.events.send(LinkEvent::Back { gap });
                }
                None => {
                    let _ = self.events.send(LinkEvent::Gone);
                    return;
                }
            }
        }
    }

    /// Passes on what is asked and told. `None` when whoever asks has gone.
    async fn talk(&mut self, socket: &mut Socket) -> Option<()> {
        loop {
            tokio::select! {
                asked = self.asked.recv() => {
                    let Some(PendingAsk { mut body, reply }) = asked else {
                        // It may have gone already.
                        let _ = socket.close(None).await;
                        return None;
                    };
                    let id = self.next;
                    self.next += 1;
                    if let Value::Object(members) = &mut body {
                        members.insert("id".to_owned(), id.into());
                    }
                    self.waiting.insert(id, reply);
                    if socket.send(Message::text(body.to_string())).await.is_err() {
                        return Some(());
                    }
                }
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => self.hear(&text),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return Some(()),
                    Some(Ok(_)) => {}
                },
            }
        }
    }

    fn hear(&mut self, text: &str) {
        let Ok(told) = serde_json::from_str::<Value>(text) else {
            tracing::debug!("the gateway said something that is no JSON");
            return;
        };
        match told.get("type").and_then(Value::as_str) {
            Some("reply") => {
                let id = told.get("id").and_then(Value::as_u64);
                let waiting = id.and_then(|id| self.waiting.remove(&id));
                if let Some(waiting) = waiting {
                    // Whoever asked may not wait any more.
                    let _ = waiting.send(result_of(told));
                }
            }
            Some("event") => {
                if let Ok(event) = serde_json::from_value::<ClientEvent>(told) {
                    self.last = self.last.max(event.seq);
                    let _ = self.events.send(LinkEvent::Told(event));
                }
            }
            Some("gap") => {
                let _ = self.events.send(LinkEvent::Back { gap: true });
            }
            _ => {}
        }
    }

    async fn find_again(&mut self) -> Option<(Socket, bool)> {
        let deadline = tokio::time::Instant::now() + LOOK_FOR;
        while tokio::time::Instant::now() < deadline {
            if self.asked.is_closed() {
                return None;
            }
            if let Some(running) = RunningGateway::find(&self.host) {
                match self.connect_to(&running, Some(self.last)).await {
                    Ok((socket, hello)) => {
                        let gap = hello.get("gap").is_some_and(|gap| gap == true);
                        return Some((socket, gap));
                    }
                    Err(error) => tracing::debug!(%error, "the gateway does not answer yet"),
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        None
    }
}

/// What a reply holds.
fn result_of(mut told: Value) -> Result<Value, LinkError> {
    if told.get("ok").is_some_and(|ok| ok == true) {
        return Ok(told.get_mut("result").map(Value::take).unwrap_or_default());
    }
    let text = |pointer: &str| {
        let text = told.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    Err(LinkError::Refused {
        code: text("/error/code"),
        message: text("/error/message"),
    })
}
