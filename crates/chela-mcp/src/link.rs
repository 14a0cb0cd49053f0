//! A way to a server: requests go out, answers come back, and what else the server says is heard.

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chela_core::lock;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::challenge::LoginChallenge;
use crate::era::SUBSCRIPTION_KEY;
use crate::message::{RequestId, RpcError};
use crate::server_log::ServerLog;

pub(crate) type LinkFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// More a server need not say between two answers.
const MOST_UNASKED: u64 = 20_000;

/// A way to a server.
pub(crate) trait ServerLink: Send + Sync {
    /// Sends a request and waits for its answer. Dropping the future gives the answer up.
    fn request<'a>(&'a self, request: LinkRequest) -> LinkFuture<'a, Result<Value, LinkError>>;

    /// Says something that has no answer.
    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Value,
    ) -> LinkFuture<'a, Result<(), LinkError>>;

    /// Says which version of the protocol is spoken from now on.
    fn settle_version(&self, version: &str, modern: bool);

    /// Listens to what the server says by itself, where that takes a connection of its own.
    fn listen(self: std::sync::Arc<Self>);

    /// Why it is of no use any more; `None` while it is.
    fn ended(&self) -> Option<String>;

    /// Ends it, and a program that was started for it.
    fn close(&self);
}

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct LinkRequest {
    pub id: i64,
    pub method: &'static str,
    pub params: Value,
    /// Over HTTP: headers besides the usual ones.
    pub headers: Vec<(String, String)>,
    /// Given up after this long without a sign of life.
    pub patience: Duration,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("it answered with an error: {0}")]
    Rpc(RpcError),
    #[error("no answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// Nothing was sent.
    #[error("it cannot be reached: {0}")]
    Unreached(String),
    /// The request may have been read.
    #[error("{0}")]
    BrokenOff(String),
    #[error("HTTP status {status}{}", in_brackets(.words))]
    Status { status: u16, words: String },
    /// It wants a login, or a wider one.
    #[error("it wants a login")]
    Login(LoginChallenge),
    #[error("it forgot the session")]
    SessionLost,
    /// It says things nobody who speaks the protocol says.
    #[error("{0}")]
    Misbehaved(String),
}

fn in_brackets(words: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!(" ({words})"),
    }
}

/// What a server says besides answers.
#[derive(Debug)]
pub(crate) struct ServerSignals {
    pub log: ServerLog,
    tools_changed: AtomicBool,
    tools_news: tokio::sync::Notify,
    /// When there was last a sign that a request is worked on.
    progress: Mutex<Option<Instant>>,
    unasked: Mutex<u64>,
}

impl ServerSignals {
    pub fn new(log: ServerLog) -> Self {
        Self {
            log,
            tools_changed: AtomicBool::new(false),
            tools_news: tokio::sync::Notify::new(),
            progress: Mutex::new(None),
            unasked: Mutex::new(0),
        }
    }

    /// Hears a notification. The error says that it is enough.
    pub fn hear(&self, method: &str, params: &Value) -> Result<(), LinkError> {
        self.count()?;
        match method {
            "notifications/tools/list_changed" => {
                self.tools_changed.store(true, Ordering::SeqCst);
                self.tools_news.notify_one();
            }
            "notifications/progress" => *lock(&self.progress) = Some(Instant::now()),
            "notifications/message" => self.log.note(&message_line(params)),
            "notifications/subscriptions/acknowledged" => {
                let meta = &params["_meta"];
                let id = meta.get(SUBSCRIPTION_KEY);
                tracing::debug!(?id, "the server tells of changes");
            }
            other => tracing::debug!(method = %shown(other), "a notification nobody needs"),
        }
        Ok(())
    }

    /// Answers a request of the server. It may ask whether we live, and nothing else.
    pub fn answer(&self, method: &str) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            other => {
                tracing::info!(method = %shown(other), "the server asks for what it is not given");
                Err(RpcError::unknown_method(other))
            }
        }
    }

    /// Something came that was asked for.
    pub fn note_answer(&self) {
        *lock(&self.unasked) = 0;
    }

    /// Something came that nobody asked for.
    pub fn count(&self) -> Result<(), LinkError> {
        let mut unasked = lock(&self.unasked);
        *unasked += 1;
        match *unasked > MOST_UNASKED {
            true => Err(LinkError::Misbehaved(
                "it sends messages without end that nobody asked for".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Whether the tools are said to be others since this was last asked.
    pub fn take_tools_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::SeqCst)
    }

    /// Waits until the tools are said to be others.
    pub async fn tools_changed(&self) {
        self.tools_news.notified().await;
    }

    /// When there was last a sign of life, where there was one.
    pub fn last_progress(&self) -> Option<Instant> {
        *lock(&self.progress)
    }
}

/// Waits for an answer as long as the patience lasts, and again as long with each sign of life, up to
/// a limit.
pub(crate) async fn wait_patiently<T>(
    signals: &ServerSignals,
    patience: Duration,
    answer: impl Future<Output = Result<T, LinkError>>,
) -> Result<T, LinkError> {
    /// So many times the patience, whatever signs of life there are.
    const MOST_TIMES: u32 = 10;
    let begun = Instant::now();
    let last = begun + patience.saturating_mul(MOST_TIMES);
    let mut until = begun + patience;
    tokio::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = tokio::time::sleep_until(until) => {
                let sign = signals.last_progress().filter(|sign| *sign > begun);
                let next = sign.map(|sign| sign + patience).filter(|next| *next > until);
                match next {
                    Some(next) if until < last => until = next.min(last),
                    _ => return Err(LinkError::Timeout(patience)),
                }
            }
        }
    }
}

/// A name of a stranger, for the log.
pub(crate) fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    chela_core::sanitize::literal(&short).into_owned()
}

/// What a server wants in the log.
fn message_line(params: &Value) -> String {
    let level = params["level"].as_str().unwrap_or("info");
    let data = match &params["data"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("[{}] {data}", shown(level))
}

/// The id of a request of ours, where an answer names one.
pub(crate) fn own_id(id: Option<&RequestId>) -> Option<i64> {
    match id {
        Some(RequestId::Number(number)) => Some(*number),
        _ => None,
    }
}
