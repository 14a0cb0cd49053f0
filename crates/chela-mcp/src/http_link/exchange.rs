//! One exchange: a message is posted, and what comes back is read.

use std::time::Duration;

use chela_model::{HttpAnswer, HttpExchange, HttpFault, HttpMethod};
use serde_json::Value;

use super::HttpWire;
use crate::challenge::read_challenge;
use crate::link::{LinkError, own_id, shown};
use crate::message::{MOST_MESSAGE_BYTES, RpcError, RpcMessage};
use crate::offer::encode_header;
use crate::sse::EventReader;

/// An error needs no more words.
const MOST_ERROR_BYTES: usize = 64 << 10;
/// How often a stream that broke off is taken up again.
const MOST_RESUMES: u32 = 5;
const USUAL_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What is sent.
pub(super) struct LinkExchange {
    method: HttpMethod,
    body: Vec<u8>,
    /// The method and the name in the message, which go along as headers.
    mirrored: Vec<(String, String)>,
    first_of_older_era: bool,
    last_id: Option<String>,
    session: Option<String>,
}

impl LinkExchange {
    pub fn post(message: &RpcMessage, more: Vec<(String, String)>) -> Self {
        let mut mirrored = more;
        let mut first_of_older_era = false;
        if let RpcMessage::Request { method, params, .. }
        | RpcMessage::Notification { method, params } = message
        {
            first_of_older_era = method == "initialize";
            mirrored.push(("mcp-method".to_owned(), method.clone()));
            let name = match method.as_str() {
                "tools/call" | "prompts/get" => params["name"].as_str(),
                "resources/read" => params["uri"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                mirrored.push(("mcp-name".to_owned(), encode_header(name)));
            }
        }
        Self {
            body: message.to_value().to_string().into_bytes(),
            mirrored,
            first_of_older_era,
            ..Self::empty(HttpMethod::Post)
        }
    }

    /// Asks for what the server says by itself, or for what is missing of a stream.
    pub fn listen(last_id: Option<String>) -> Self {
        Self {
            last_id,
            ..Self::empty(HttpMethod::Get)
        }
    }

    /// Something about a session.
    pub fn of(method: HttpMethod, session: String) -> Self {
        Self {
            session: Some(session),
            ..Self::empty(method)
        }
    }

    fn empty(method: HttpMethod) -> Self {
        Self {
            method,
            body: Vec::new(),
            mirrored: Vec::new(),
            first_of_older_era: false,
            last_id: None,
            session: None,
        }
    }

    pub fn accepts(&self) -> &'static str {
        match self.method {
            HttpMethod::Get => "text/event-stream",
            _ => "application/json, text/event-stream",
        }
    }

    pub fn has_body(&self) -> bool {
        self.method == HttpMethod::Post
    }

    pub fn is_first_of_older_era(&self) -> bool {
        self.first_of_older_era
    }

    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub fn mirrored(&self) -> Vec<(String, String)> {
        self.mirrored.clone()
    }
}

/// What comes back.
pub(super) struct AnswerStream<'a> {
    wire: &'a HttpWire,
    answer: HttpAnswer,
    events: EventReader,
    form: AnswerForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerForm {
    Nothing,
    Json,
    Events,
}

impl HttpWire {
    /// Sends and reads the head of what comes back.
    pub(super) async fn open(&self, exchange: LinkExchange) -> Result<AnswerStream<'_>, LinkError> {
        let headers = self.headers_of(&exchange).await;
        let had_session = self.session().is_some();
        let opened = self.http.open(HttpExchange {
            method: exchange.method,
            url: &self.url,
            headers: &headers,
            body: exchange.body,
        });
        let mut answer = opened.await.map_err(|fault| match fault {
            HttpFault::Unreached(why) => LinkError::Unreached(why),
            HttpFault::BrokenOff(why) => LinkError::BrokenOff(why),
        })?;
        let form = form_of(&answer);
        match answer.status {
            200..=299 => {
                self.keep_session(answer.header("mcp-session-id"));
                Ok(AnswerStream {
                    wire: self,
                    answer,
                    events: EventReader::default(),
                    form,
                })
            }
            status @ (401 | 403) if is_challenge(&answer, status) => {
                let header = answer.header("www-authenticate").unwrap_or_default();
                Err(LinkError::Login(read_challenge(header, status == 403)))
            }
            404 if had_session => Err(LinkError::SessionLost),
            300..=399 => {
                let to = answer.header("location").map(shown).unwrap_or_default();
                Err(LinkError::Status {
                    status: answer.status,
                    words: format!("it leads on to {to}; if that is right, set the url to it"),
                })
            }
            status => {
                let body = answer
                    .read_whole(MOST_ERROR_BYTES)
                    .await
                    .unwrap_or_default();
                Err(read_error(status, &body))
            }
        }
    }
}

/// A refusal asks for a login where it says so; a server that needs none may refuse, too.
fn is_challenge(answer: &HttpAnswer, status: u16) -> bool {
    let header = answer.header("www-authenticate").unwrap_or_default();
    status == 401 || header.contains("insufficient_scope")
}

/// What a server says that does not do what was asked.
fn read_error(status: u16, body: &[u8]) -> LinkError {
    let message = serde_json::from_slice(body)
        .ok()
        .and_then(|value: Value| RpcMessage::read(value).ok());
    if let Some(RpcMessage::Response {
        outcome: Err(error),
        ..
    }) = message
    {
        return LinkError::Rpc(error);
    }
    let words: String = String::from_utf8_lossy(body).chars().take(200).collect();
    LinkError::Status {
        status,
        words: shown(words.trim()),
    }
}

fn form_of(answer: &HttpAnswer) -> AnswerForm {
    let kind = answer.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        _ if matches!(answer.status, 202 | 204) => AnswerForm::Nothing,
        "application/json" => AnswerForm::Json,
        "text/event-stream" => AnswerForm::Events,
        _ => AnswerForm::Nothing,
    }
}

impl AnswerStream<'_> {
    /// The answer to a request. What else comes on the way is heard.
    pub async fn answer_to(&mut self, id: i64) -> Result<Value, LinkError> {
        match self.form {
            AnswerForm::Nothing => Err(LinkError::Misbehaved(
                "it answered without saying anything".to_owned(),
            )),
            AnswerForm::Json => {
                let body = self.answer.read_whole(MOST_MESSAGE_BYTES).await;
                let body = body.map_err(LinkError::BrokenOff)?;
                let message = read_message(&body)?;
                match self.take(message, id).await? {
                    Some(answer) => answer.map_err(LinkError::Rpc),
                    None => Err(LinkError::Misbehaved(
                        "it answered something that was not asked".to_owned(),
                    )),
                }
            }
            AnswerForm::Events => self.answer_in_events(id).await,
        }
    }

    /// Of the older era: a stream may break off and be taken up again where it was left.
    async fn answer_in_events(&mut self, id: i64) -> Result<Value, LinkError> {
        let mut resumes = 0;
        loop {
            let broken = match self.next_answer(id).await {
                Ok(Some(answer)) => return answer.map_err(LinkError::Rpc),
                Ok(None) => "the stream ended without an answer".to_owned(),
                Err(LinkError::BrokenOff(why)) => why,
                Err(error) => return Err(error),
            };
            let last = self.events.last_id.clone();
            let (Some(last), false) = (last, self.wire.is_modern()) else {
                return Err(LinkError::BrokenOff(broken));
            };
            if resumes == MOST_RESUMES {
                return Err(LinkError::BrokenOff(broken));
            }
            resumes += 1;
            tokio::time::sleep(self.pause().unwrap_or(USUAL_PAUSE)).await;
            tracing::debug!("a stream is taken up again");
            let resumed = Box::pin(self.wire.open(LinkExchange::listen(Some(last)))).await;
            match resumed {
                Ok(stream) => self.answer = stream.answer,
                Err(error @ (LinkError::Unreached(_) | LinkError::BrokenOff(_))) => {
                    tracing::debug!(%error, "a stream cannot be taken up again yet");
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn next_answer(&mut self, id: i64) -> Result<Option<Result<Value, RpcError>>, LinkError> {
        loop {
            let piece = self.answer.next_piece().await;
            let Some(piece) = piece.map_err(LinkError::BrokenOff)? else {
                return Ok(None);
            };
            for event in self.events.push(&piece)? {
                if event.data.trim().is_empty() {
                    continue;
                }
                let message = read_message(event.data.as_bytes())?;
                if let Some(answer) = self.take(message, id).await? {
                    return Ok(Some(answer));
                }
            }
        }
    }

    /// The answer, if this is it.
    async fn take(
        &self,
        message: RpcMessage,
        wanted: i64,
    ) -> Result<Option<Result<Value, RpcError>>, LinkError> {
        match message {
            RpcMessage::Response { id, outcome } if own_id(id.as_ref()) == Some(wanted) => {
                self.wire.signals.note_answer();
                Ok(Some(outcome))
            }
            // Where a request could not be read at all, its answer cannot name it.
            RpcMessage::Response {
                id: None,
                outcome: Err(error),
            } => Ok(Some(Err(error))),
            other => {
                self.wire.hear(other).await?;
                Ok(None)
            }
        }
    }

    /// Hears everything until it ends.
    pub async fn hear_all(&mut self) -> Result<(), LinkError> {
        if self.form != AnswerForm::Events {
            return Ok(());
        }
        while let Some(piece) = self
            .answer
            .next_piece()
            .await
            .map_err(LinkError::BrokenOff)?
        {
            for event in self.events.push(&piece)? {
                if !event.data.trim().is_empty() {
                    self.wire.hear(read_message(event.data.as_bytes())?).await?;
                }
            }
        }
        Ok(())
    }

    pub fn last_id(&self) -> Option<String> {
        self.events.last_id.clone()
    }

    /// How long the server wants to be left alone.
    pub fn pause(&self) -> Option<Duration> {
        let pause = self.events.retry.map(Duration::from_millis);
        pause.map(|pause| pause.min(LONGEST_PAUSE))
    }
}

fn read_message(bytes: &[u8]) -> Result<RpcMessage, LinkError> {
    let odd = || LinkError::Misbehaved("it answers with something that is no message".to_owned());
    let value = serde_json::from_slice(bytes).map_err(|_| odd())?;
    RpcMessage::read(value).map_err(|_| odd())
}
