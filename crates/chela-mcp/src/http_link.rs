//! Messages over HTTP: each is posted, and answered with JSON or with a stream of events.

mod exchange;
mod headers;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_core::{lock, ok_or_debug};
use chela_model::{HttpMethod, ModelHttp};
use serde_json::Value;

use crate::era::MODERN_VERSION;
use crate::link::{LinkError, LinkFuture, LinkRequest, ServerLink, ServerSignals, wait_patiently};
use crate::login::ServerLogin;
use crate::message::{RequestId, RpcMessage};

use exchange::LinkExchange;

/// A server that says nothing by itself is asked again after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A way to a server over HTTP.
pub(crate) struct HttpLink {
    wire: Arc<HttpWire>,
}

/// What every exchange needs.
struct HttpWire {
    http: ModelHttp,
    url: String,
    /// Named by the owner.
    headers: Vec<(String, String)>,
    login: Arc<ServerLogin>,
    signals: Arc<ServerSignals>,
    state: Mutex<WireState>,
}

#[derive(Default)]
struct WireState {
    /// The version spoken, and whether it is one without a handshake.
    version: Option<(String, bool)>,
    /// Of the older era.
    session: Option<String>,
    ended: Option<String>,
    listener: Option<tokio::task::AbortHandle>,
}

impl HttpLink {
    pub fn new(
        http: ModelHttp,
        url: String,
        headers: Vec<(String, String)>,
        login: Arc<ServerLogin>,
        signals: Arc<ServerSignals>,
    ) -> Arc<Self> {
        Arc::new(Self {
            wire: Arc::new(HttpWire {
                http,
                url,
                headers,
                login,
                signals,
                state: Mutex::default(),
            }),
        })
    }

    async fn ask(&self, request: LinkRequest) -> Result<Value, LinkError> {
        if let Some(why) = self.ended() {
            return Err(LinkError::Unreached(why));
        }
        let (id, patience) = (request.id, request.patience);
        let answer = async {
            let mut logged_in = false;
            loop {
                let outcome = self.ask_once(&request, id).await;
                match outcome {
                    // A login that has run out is renewed, once; a wider one is for its owner.
                    Err(LinkError::Login(challenge)) if !logged_in => {
                        logged_in = true;
                        if challenge.is_too_narrow || !self.wire.login.renew().await {
                            return Err(LinkError::Login(challenge));
                        }
                    }
                    outcome => return outcome,
                }
            }
        };
        wait_patiently(&self.wire.signals, patience, answer).await
    }

    async fn ask_once(&self, request: &LinkRequest, id: i64) -> Result<Value, LinkError> {
        let message = RpcMessage::Request {
            id: RequestId::Number(id),
            method: request.method.to_owned(),
            params: request.params.clone(),
        };
        let exchange = LinkExchange::post(&message, request.headers.clone());
        let mut stream = self.wire.open(exchange).await?;
        stream.answer_to(id).await
    }
}

impl HttpWire {
    /// Answers a request of the server, and hears what else it says.
    async fn hear(&self, message: RpcMessage) -> Result<(), LinkError> {
        match message {
            RpcMessage::Notification { method, params } => self.signals.hear(&method, &params),
            RpcMessage::Request { id, method, .. } => {
                self.signals.count()?;
                let outcome = self.signals.answer(&method);
                let answer = RpcMessage::Response {
                    id: Some(id),
                    outcome,
                };
                let sent = Box::pin(self.open(LinkExchange::post(&answer, Vec::new()))).await;
                ok_or_debug!(sent.map(drop), "a server was not answered");
                Ok(())
            }
            RpcMessage::Response { .. } => self.signals.count(),
        }
    }

    fn session(&self) -> Option<String> {
        lock(&self.state).session.clone()
    }

    /// The version to name in a header; before one was settled, the newest.
    fn version(&self) -> String {
        let state = lock(&self.state);
        let version = state.version.as_ref();
        version.map_or(MODERN_VERSION.to_owned(), |(version, _)| version.clone())
    }

    fn is_modern(&self) -> bool {
        let state = lock(&self.state);
        state.version.as_ref().is_none_or(|(_, modern)| *modern)
    }

    /// Hears what a server of the older era says by itself, for as long as it takes connections for
    /// that.
    async fn listen(self: Arc<Self>) {
        let mut pause = FIRST_PAUSE;
        let mut last_id = None;
        loop {
            let exchange = LinkExchange::listen(last_id.clone());
            match self.open(exchange).await {
                Ok(mut stream) => {
                    let heard = stream.hear_all().await;
                    ok_or_debug!(heard, "a server says nothing more by itself");
                    last_id = stream.last_id().or(last_id);
                    pause = stream.pause().unwrap_or(FIRST_PAUSE);
                }
                // It does not do that.
                Err(LinkError::Status { status, .. }) if (400..500).contains(&status) => return,
                Err(LinkError::SessionLost | LinkError::Login(_)) => return,
                Err(error) => {
                    tracing::debug!(%error, "a server cannot be listened to");
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            tokio::time::sleep(pause).await;
        }
    }
}

impl ServerLink for HttpLink {
    fn request<'a>(&'a self, request: LinkRequest) -> LinkFuture<'a, Result<Value, LinkError>> {
        Box::pin(self.ask(request))
    }

    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Value,
    ) -> LinkFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let message = RpcMessage::Notification {
                method: method.to_owned(),
                params,
            };
            let exchange = LinkExchange::post(&message, Vec::new());
            self.wire.open(exchange).await.map(drop)
        })
    }

    fn settle_version(&self, version: &str, modern: bool) {
        lock(&self.wire.state).version = Some((version.to_owned(), modern));
    }

    fn listen(self: Arc<Self>) {
        if self.wire.is_modern() {
            return;
        }
        let task = tokio::spawn(Arc::clone(&self.wire).listen());
        let before = lock(&self.wire.state).listener.replace(task.abort_handle());
        if let Some(before) = before {
            before.abort();
        }
    }

    fn ended(&self) -> Option<String> {
        lock(&self.wire.state).ended.clone()
    }

    fn close(&self) {
        let (session, listener) = {
            let mut state = lock(&self.wire.state);
            state
                .ended
                .get_or_insert_with(|| "it was closed".to_owned());
            (state.session.take(), state.listener.take())
        };
        if let Some(listener) = listener {
            listener.abort();
        }
        // A session that was begun is ended, as far as the server takes note of it.
        if let (Some(session), Ok(runtime)) = (session, tokio::runtime::Handle::try_current()) {
            let wire = Arc::clone(&self.wire);
            runtime.spawn(async move {
                let goodbye = LinkExchange::of(HttpMethod::Delete, session);
                let gone = wire.open(goodbye).await.map(drop);
                ok_or_debug!(gone, "a server keeps a session that has ended");
            });
        }
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        if let Some(listener) = lock(&self.wire.state).listener.take() {
            listener.abort();
        }
    }
}
