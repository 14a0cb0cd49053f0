//! The endpoint: a thread of its own that answers on a port of this machine.

mod choose;
mod play;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::http::HttpConnection;
use crate::prefix::PrefixCache;
use crate::script::{EndpointScript, TokenCounts};

/// A running endpoint. Dropping it closes every connection.
pub struct ScriptedEndpoint {
    address: SocketAddr,
    shared: Arc<EndpointState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The requests of an endpoint, also when it is gone.
pub struct RequestLog(Arc<EndpointState>);

impl RequestLog {
    /// Every request so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.0.played().requests.clone()
    }
}

/// Whoever watches the requests come in.
pub type RequestWatcher = Box<dyn Fn(&ReceivedRequest) + Send + Sync>;

/// How an endpoint is started.
#[derive(Default)]
pub struct EndpointOptions {
    pub script: EndpointScript,
    /// 0: any free one.
    pub port: u16,
    /// Told of each request when it is known what it will be answered.
    pub watch: Option<RequestWatcher>,
}

/// A request the endpoint got, and what came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReceivedRequest {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Number of the model call, from 1; none for other routes.
    pub call: Option<u64>,
    /// The input of a model call, and what a prefix cache had of it.
    pub tokens: TokenCounts,
    /// What it is answered, in a word or two.
    pub answer: String,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on 127.0.0.1:{port}: {source}")]
pub struct StartError {
    pub port: u16,
    pub source: io::Error,
}

/// What the thread and the tests both see.
struct EndpointState {
    watch: Option<RequestWatcher>,
    played: Mutex<ScriptProgress>,
    answered: Condvar,
}

/// How far the script has come.
#[derive(Default)]
struct ScriptProgress {
    script: Arc<EndpointScript>,
    requests: Vec<ReceivedRequest>,
    /// How often each step was played.
    steps: Vec<u32>,
    calls: u64,
    /// Model calls answered to the end, whatever the end was.
    answered: u64,
    cache: PrefixCache,
}

impl ScriptedEndpoint {
    /// On any free port of this machine.
    pub fn start(script: EndpointScript) -> Result<Self, StartError> {
        Self::start_with(EndpointOptions {
            script,
            ..EndpointOptions::default()
        })
    }

    pub fn start_with(options: EndpointOptions) -> Result<Self, StartError> {
        let port = options.port;
        let failed = |source| StartError { port, source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(EndpointState {
            played: Mutex::new(ScriptProgress::of(options.script)),
            watch: options.watch,
            answered: Condvar::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, serving) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Goes on with another script, from its beginning. What was asked before is forgotten.
    pub fn play(&self, script: EndpointScript) {
        *self.shared.played() = ScriptProgress::of(script);
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What is asked, for whoever outlives the endpoint.
    pub fn log(&self) -> RequestLog {
        RequestLog(Arc::clone(&self.shared))
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.played().requests.clone()
    }

    /// The model calls so far.
    pub fn calls(&self) -> Vec<ReceivedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.call.is_some());
        requests
    }

    /// How many those are, for whoever looks often.
    pub fn call_count(&self) -> u64 {
        self.shared.played().calls
    }

    /// Waits until every step that is played in its turn has been.
    pub fn wait_until_played(&self) {
        let mut played = self.shared.played();
        while !self.shared.is_over(&played) {
            played = self
                .shared
                .answered
                .wait(played)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for ScriptedEndpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for RequestLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestLog")
    }
}

impl fmt::Debug for ScriptedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.url())
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options(port {})", self.port)
    }
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is not.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl ScriptProgress {
    fn of(script: EndpointScript) -> Self {
        Self {
            steps: vec![0; script.steps.len()],
            script: Arc::new(script),
            ..Self::default()
        }
    }
}

impl EndpointState {
    fn played(&self) -> MutexGuard<'_, ScriptProgress> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, played: &ScriptProgress) -> bool {
        let steps = played.script.steps.iter().zip(&played.steps);
        let mut in_turn = steps.filter(|(step, _)| step.when.is_none());
        played.answered > 0
            && played.answered == played.calls
            && in_turn.all(|(step, times)| step.plays().is_some_and(|plays| *times >= plays))
    }
}

async fn accept(listener: TcpListener, shared: Arc<EndpointState>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            tokio::spawn(converse(HttpConnection::new(stream), Arc::clone(&shared)));
        }
    }
}

/// One connection, request after request. An error here is the other side going away.
async fn converse(mut connection: HttpConnection, shared: Arc<EndpointState>) {
    while let Ok(Some(request)) = connection.next().await {
        let chosen = choose::choose(&shared, &request);
        let went = play::play(&mut connection, &chosen, &request).await;
        if chosen.is_call() {
            shared.played().answered += 1;
            shared.answered.notify_all();
        }
        if !matches!(went, Ok(play::AfterAnswer::Request)) {
            return;
        }
    }
}
