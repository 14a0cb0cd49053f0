//! The oldest way over HTTP: one stream of events for all that the server says, and an address it
//! names to post to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_core::{lock, ok_or_debug};
use chela_model::{HttpAnswer, HttpExchange, HttpFault, HttpMethod, ModelHttp, resolve_address};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::challenge::LoginChallenge;
use crate::link::{
    LinkError, LinkFuture, LinkRequest, ServerLink, ServerSignals, own_id, shown, wait_patiently,
};
use crate::login::ServerLogin;
use crate::message::{RequestId, RpcMessage};
use crate::spec::without_query;
use crate::sse::EventReader;

type Waiting = oneshot::Sender<Result<Value, LinkError>>;

/// A way to a server that speaks through one stream.
pub(crate) struct EventsLink {
    wire: Arc<EventsWire>,
    reader: AbortHandle,
}

struct EventsWire {
    http: ModelHttp,
    /// Where messages are posted.
    endpoint: String,
    headers: Vec<(String, String)>,
    login: Arc<ServerLogin>,
    signals: Arc<ServerSignals>,
    state: Mutex<EventsState>,
}

#[derive(Default)]
struct EventsState {
    waiting: HashMap<i64, Waiting>,
    ended: Option<String>,
}

/// What is needed to connect.
pub(crate) struct EventsAsk {
    pub http: ModelHttp,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub login: Arc<ServerLogin>,
    pub signals: Arc<ServerSignals>,
    pub patience: Duration,
}

impl EventsLink {
    /// Opens the stream and waits for the address it names.
    pub async fn connect(ask: EventsAsk) -> Result<Arc<Self>, LinkError> {
        let patience = ask.patience;
        let opened = tokio::time::timeout(patience, Self::open(ask)).await;
        opened.unwrap_or(Err(LinkError::Timeout(patience)))
    }

    async fn open(ask: EventsAsk) -> Result<Arc<Self>, LinkError> {
        let mut headers = ask.headers;
        if let Some(token) = ask.login.token().await {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        let mut listening = headers.clone();
        listening.push(("accept".to_owned(), "text/event-stream".to_owned()));
        let mut answer = send(&ask.http, HttpMethod::Get, &ask.url, &listening, Vec::new()).await?;
        let mut events = EventReader::default();
        let endpoint = loop {
            let piece = answer.next_piece().await.map_err(LinkError::BrokenOff)?;
            let Some(piece) = piece else {
                return Err(LinkError::BrokenOff("the stream ended at once".to_owned()));
            };
            let named = events.push(&piece)?;
            if let Some(event) = named.iter().find(|event| event.kind == "endpoint") {
                break endpoint_of(&ask.url, &event.data)?;
            }
        };
        let wire = Arc::new(EventsWire {
            http: ask.http,
            endpoint,
            headers,
            login: ask.login,
            signals: ask.signals,
            state: Mutex::default(),
        });
        let reader = tokio::spawn(Arc::clone(&wire).read(answer, events)).abort_handle();
        Ok(Arc::new(Self { wire, reader }))
    }
}

/// The address to post to. It must be of the very server that was asked.
fn endpoint_of(url: &str, named: &str) -> Result<String, LinkError> {
    let odd = |why: &str| LinkError::Misbehaved(format!("it names an address to post to {why}"));
    let endpoint = resolve_address(url, named.trim()).map_err(|_| odd("that is none"))?;
    let origin = |url: &str| {
        let plain = without_query(url);
        let (scheme, rest) = plain.split_once("://")?;
        let authority = rest.split('/').next()?.to_ascii_lowercase();
        Some(format!("{scheme}://{authority}"))
    };
    match origin(&endpoint).is_some() && origin(&endpoint) == origin(url) {
        true => Ok(endpoint),
        false => Err(odd("on another server")),
    }
}

async fn send(
    http: &ModelHttp,
    method: HttpMethod,
    url: &str,
    headers: &[(String, String)],
    body: Vec<u8>,
) -> Result<HttpAnswer, LinkError> {
    let exchange = HttpExchange {
        method,
        url,
        headers,
        body,
    };
    let mut answer = http.open(exchange).await.map_err(|fault| match fault {
        HttpFault::Unreached(why) => LinkError::Unreached(why),
        HttpFault::BrokenOff(why) => LinkError::BrokenOff(why),
    })?;
    match answer.status {
        200..=299 => Ok(answer),
        401 => Err(LinkError::Login(LoginChallenge::default())),
        status => {
            let body = answer.read_whole(4_096).await.unwrap_or_default();
            let words: String = String::from_utf8_lossy(&body).chars().take(200).collect();
            Err(LinkError::Status {
                status,
                words: shown(words.trim()),
            })
        }
    }
}

impl EventsWire {
    async fn read(self: Arc<Self>, mut answer: HttpAnswer, mut events: EventReader) {
        let why = loop {
            let piece = match answer.next_piece().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break "it closed the stream".to_owned(),
                Err(why) => break why,
            };
            let heard = events.push(&piece).and_then(|found| {
                let mut questions = Vec::new();
                for event in found.iter().filter(|event| event.kind == "message") {
                    questions.extend(self.hear(&event.data)?);
                }
                Ok(questions)
            });
            match heard {
                Ok(questions) => {
                    for answer in questions {
                        ok_or_debug!(self.post(&answer).await, "a server was not answered");
                    }
                }
                Err(fault) => break fault.to_string(),
            }
        };
        let mut state = lock(&self.state);
        state.ended.get_or_insert_with(|| why.clone());
        for (_, waiting) in state.waiting.drain() {
            if waiting
                .send(Err(LinkError::BrokenOff(why.clone())))
                .is_err()
            {
                tracing::debug!("nobody waits for an answer any more");
            }
        }
    }

    /// Hears a message; gives what is to be answered.
    fn hear(&self, data: &str) -> Result<Option<RpcMessage>, LinkError> {
        let message = serde_json::from_str(data)
            .ok()
            .and_then(|value| RpcMessage::read(value).ok());
        match message {
            None => self.signals.count().map(|()| None),
            Some(RpcMessage::Notification { method, params }) => {
                self.signals.hear(&method, &params).map(|()| None)
            }
            Some(RpcMessage::Request { id, method, .. }) => {
                self.signals.count()?;
                Ok(Some(RpcMessage::Response {
                    id: Some(id),
                    outcome: self.signals.answer(&method),
                }))
            }
            Some(RpcMessage::Response { id, outcome }) => {
                let id = own_id(id.as_ref());
                let waiting = id.and_then(|id| lock(&self.state).waiting.remove(&id));
                let Some(waiting) = waiting else {
                    return self.signals.count().map(|()| None);
                };
                self.signals.note_answer();
                if waiting.send(outcome.map_err(LinkError::Rpc)).is_err() {
                    tracing::debug!("nobody waits for an answer any more");
                }
                Ok(None)
            }
        }
    }

    async fn post(&self, message: &RpcMessage) -> Result<(), LinkError> {
        let mut headers = self.headers.clone();
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        let body = message.to_value().to_string().into_bytes();
        send(&self.http, HttpMethod::Post, &self.endpoint, &headers, body)
            .await
            .map(drop)
    }
}

impl ServerLink for EventsLink {
    fn request<'a>(&'a self, request: LinkRequest) -> LinkFuture<'a, Result<Value, LinkError>> {
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            {
                let mut state = lock(&self.wire.state);
                if let Some(why) = &state.ended {
                    return Err(LinkError::Unreached(why.clone()));
                }
                state.waiting.insert(request.id, tell);
            }
            let answer = async {
                self.wire
                    .post(&RpcMessage::Request {
                        id: RequestId::Number(request.id),
                        method: request.method.to_owned(),
                        params: request.params,
                    })
                    .await?;
                let ended = || LinkError::BrokenOff("it closed the stream".to_owned());
                told.await.unwrap_or_else(|_| Err(ended()))
            };
            let answer = wait_patiently(&self.wire.signals, request.patience, answer).await;
            lock(&self.wire.state).waiting.remove(&request.id);
            if let Err(LinkError::Login(_)) = &answer
                && self.wire.login.renew().await
            {
                // The stream was opened with the login that has run out.
                return Err(LinkError::SessionLost);
            }
            answer
        })
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
            self.wire.post(&message).await
        })
    }

    fn settle_version(&self, _: &str, _: bool) {}

    fn listen(self: Arc<Self>) {}

    fn ended(&self) -> Option<String> {
        lock(&self.wire.state).ended.clone()
    }

    fn close(&self) {
        self.reader.abort();
        let mut state = lock(&self.wire.state);
        state
            .ended
            .get_or_insert_with(|| "it was closed".to_owned());
    }
}

impl Drop for EventsLink {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::endpoint_of;

    #[test]
    fn messages_are_posted_to_the_server_that_was_asked() {
        let of = |named| endpoint_of("https://a.example/sse", named).ok();
        assert_eq!(
            of("/messages?session=1").as_deref(),
            Some("https://a.example/messages?session=1")
        );
        for other in [
            "https://b.example/messages",
            "http://a.example/messages",
            "//b.example/x",
            "https://a.example@b.example/",
            "file:///etc/passwd",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
