//! Messages as lines, to a program's input and from its output.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chela_core::{lock, ok_or_debug};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};

use crate::link::{
    LinkError, LinkFuture, LinkRequest, ServerLink, ServerSignals, own_id, shown, wait_patiently,
};
use crate::message::{MOST_MESSAGE_BYTES, RequestId, RpcMessage};
use crate::process::{ProcessAsk, ServerProcess, StartFault};

/// Messages that wait to be written.
const MOST_QUEUED: usize = 64;
/// Lines that are no message: some programs greet.
const MOST_ODD_LINES: u32 = 200;
/// Requests in a row that a program leaves without an answer before it counts as stuck.
const MOST_IGNORED: u32 = 2;

type Waiting = oneshot::Sender<Result<Value, LinkError>>;

/// A way to a program.
pub(crate) struct StdioLink {
    process: ServerProcess,
    signals: Arc<ServerSignals>,
    state: Arc<Mutex<LinkState>>,
    /// `None` once it is closed.
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
}

#[derive(Default)]
struct LinkState {
    waiting: HashMap<i64, Waiting>,
    ended: Option<String>,
    ignored: u32,
}

impl LinkState {
    /// Says to everybody who waits that nothing more comes.
    fn end(&mut self, why: &str) {
        self.ended.get_or_insert_with(|| why.to_owned());
        for (_, waiting) in self.waiting.drain() {
            let gone = waiting.send(Err(LinkError::BrokenOff(why.to_owned())));
            if gone.is_err() {
                tracing::debug!("nobody waits for an answer any more");
            }
        }
    }
}

impl StdioLink {
    /// Starts the program.
    pub async fn start(
        ask: ProcessAsk<'_>,
        signals: Arc<ServerSignals>,
    ) -> Result<Arc<Self>, StartFault> {
        let (process, pipes) = ServerProcess::start(ask).await?;
        let state: Arc<Mutex<LinkState>> = Arc::default();
        let (outgoing, queue) = mpsc::channel(MOST_QUEUED);
        tokio::spawn(write_lines(pipes.input, queue));
        tokio::spawn(log_errors(pipes.errors, Arc::clone(&signals)));
        let link = Arc::new(Self {
            process,
            signals: Arc::clone(&signals),
            state: Arc::clone(&state),
            outgoing: Mutex::new(Some(outgoing)),
        });
        let reader = LineReader {
            link: Arc::downgrade(&link),
            signals,
            state,
            odd: 0,
        };
        tokio::spawn(reader.read(pipes.output));
        Ok(link)
    }

    fn send(&self, message: &RpcMessage) -> Result<(), LinkError> {
        let outgoing = lock(&self.outgoing).clone();
        let outgoing = outgoing.ok_or_else(|| LinkError::Unreached("it was stopped".to_owned()))?;
        outgoing.try_send(message.to_line()).map_err(|error| {
            LinkError::Unreached(match error {
                mpsc::error::TrySendError::Full(_) => "it does not read what it is sent".to_owned(),
                mpsc::error::TrySendError::Closed(_) => "it has ended".to_owned(),
            })
        })
    }

    async fn ask(&self, request: LinkRequest) -> Result<Value, LinkError> {
        let (tell, told) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            if let Some(why) = &state.ended {
                return Err(LinkError::Unreached(why.clone()));
            }
            state.waiting.insert(request.id, tell);
        }
        let guard = WaitingRequest {
            link: self,
            id: request.id,
        };
        self.send(&RpcMessage::Request {
            id: RequestId::Number(request.id),
            method: request.method.to_owned(),
            params: request.params,
        })?;
        let answer = async {
            let ended = || LinkError::BrokenOff("it has ended".to_owned());
            told.await.unwrap_or_else(|_| Err(ended()))
        };
        let answer = wait_patiently(&self.signals, request.patience, answer).await;
        if matches!(answer, Err(LinkError::Timeout(_))) {
            self.note_ignored();
        }
        drop(guard);
        answer
    }

    /// A program that leaves several requests without an answer is stuck, and is ended.
    fn note_ignored(&self) {
        let mut state = lock(&self.state);
        state.ignored += 1;
        if state.ignored >= MOST_IGNORED {
            state.end("it was stopped, because it did not answer");
            self.process.stop_now();
        }
    }
}

/// A request that is waited for. When nobody waits any more, the server is told.
struct WaitingRequest<'a> {
    link: &'a StdioLink,
    id: i64,
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        let was_waiting = lock(&self.link.state).waiting.remove(&self.id).is_some();
        if was_waiting && self.link.ended().is_none() {
            let sent = self.link.send(&RpcMessage::Notification {
                method: "notifications/cancelled".to_owned(),
                params: json!({ "requestId": self.id, "reason": "no longer needed" }),
            });
            ok_or_debug!(sent, "a server was not told that nobody waits");
        }
    }
}

impl ServerLink for StdioLink {
    fn request<'a>(&'a self, request: LinkRequest) -> LinkFuture<'a, Result<Value, LinkError>> {
        Box::pin(self.ask(request))
    }

    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Value,
    ) -> LinkFuture<'a, Result<(), LinkError>> {
        let message = RpcMessage::Notification {
            method: method.to_owned(),
            params,
        };
        Box::pin(std::future::ready(self.send(&message)))
    }

    fn settle_version(&self, _: &str, _: bool) {}

    fn listen(self: Arc<Self>) {}

    fn ended(&self) -> Option<String> {
        let ended = lock(&self.state).ended.clone();
        // How it ended says more than that nothing can be read any more.
        match (self.process.ended(), ended) {
            (Some(why), Some(told)) if told == OUTPUT_CLOSED => Some(why),
            (process, told) => told.or(process),
        }
    }

    fn close(&self) {
        lock(&self.outgoing).take();
        self.process.stop_soon();
    }
}

const OUTPUT_CLOSED: &str = "it closed its output";

async fn write_lines(mut input: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        let written = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        if ok_or_debug!(written.await, "a server reads no more").is_none() {
            return;
        }
    }
}

/// What it prints beside its messages goes to its log.
async fn log_errors(errors: impl AsyncRead + Unpin, signals: Arc<ServerSignals>) {
    const LONGEST: usize = 8 << 10;
    let mut errors = errors;
    let mut line: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 4 << 10];
    loop {
        let read = errors.read(&mut buffer).await;
        let length = match ok_or_debug!(read, "what a server prints cannot be read") {
            None | Some(0) => break,
            Some(length) => length,
        };
        for byte in buffer.get(..length).unwrap_or_default() {
            match byte {
                b'\n' => {
                    signals.log.note(&String::from_utf8_lossy(&line));
                    line.clear();
                }
                _ if line.len() < LONGEST => line.push(*byte),
                _ => {}
            }
        }
    }
    signals.log.note(&String::from_utf8_lossy(&line));
}

/// Reads what it answers.
struct LineReader {
    link: std::sync::Weak<StdioLink>,
    signals: Arc<ServerSignals>,
    state: Arc<Mutex<LinkState>>,
    odd: u32,
}

impl LineReader {
    async fn read(mut self, mut output: impl AsyncRead + Unpin) {
        let mut line: Vec<u8> = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        let why = loop {
            let length = match output.read(&mut buffer).await {
                Ok(0) => break OUTPUT_CLOSED.to_owned(),
                Ok(length) => length,
                Err(error) => break format!("it cannot be read: {error}"),
            };
            if let Err(fault) = self.take(&mut line, buffer.get(..length).unwrap_or_default()) {
                break format!("it was stopped: {fault}");
            }
        };
        let why = match why == OUTPUT_CLOSED {
            true => self.wait_for_end().await.unwrap_or(why),
            false => why,
        };
        self.signals.log.note(&format!("[chela] {why}"));
        lock(&self.state).end(&why);
        if let Some(link) = self.link.upgrade() {
            link.process.stop_now();
        }
    }

    /// How a program ended that closed its output.
    async fn wait_for_end(&self) -> Option<String> {
        const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);
        let mut end = self.link.upgrade()?.process.watch_end();
        let ended = end.wait_for(Option::is_some);
        let ended = tokio::time::timeout(PATIENCE, ended).await.ok()?.ok()?;
        ended.as_ref().map(|end| end.why.clone())
    }

    /// Takes what was read apart into lines.
    fn take(&mut self, line: &mut Vec<u8>, bytes: &[u8]) -> Result<(), LinkError> {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if line.len() + piece.len() > MOST_MESSAGE_BYTES {
                return Err(LinkError::Misbehaved(format!(
                    "it sent a message longer than {} MiB",
                    MOST_MESSAGE_BYTES >> 20
                )));
            }
            line.extend_from_slice(piece);
            if pieces.peek().is_some() {
                let whole = std::mem::take(line);
                self.hear_line(&whole)?;
            }
        }
        Ok(())
    }

    fn hear_line(&mut self, line: &[u8]) -> Result<(), LinkError> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return self.signals.count();
        }
        let message = serde_json::from_slice(line)
            .ok()
            .and_then(|value| RpcMessage::read(value).ok());
        match message {
            Some(message) => self.hear(message),
            None => {
                self.odd += 1;
                let words = String::from_utf8_lossy(line);
                self.signals.log.note(&format!("[not a message] {words}"));
                match self.odd > MOST_ODD_LINES {
                    true => Err(LinkError::Misbehaved(
                        "it prints other things than messages".to_owned(),
                    )),
                    false => self.signals.count(),
                }
            }
        }
    }

    fn hear(&mut self, message: RpcMessage) -> Result<(), LinkError> {
        match message {
            RpcMessage::Notification { method, params } => self.signals.hear(&method, &params),
            RpcMessage::Request { id, method, .. } => {
                self.signals.count()?;
                let outcome = self.signals.answer(&method);
                if let Some(link) = self.link.upgrade() {
                    let id = Some(id);
                    let sent = link.send(&RpcMessage::Response { id, outcome });
                    ok_or_debug!(sent, "a server was not answered");
                }
                Ok(())
            }
            RpcMessage::Response { id, outcome } => {
                let waiting = own_id(id.as_ref()).and_then(|own| {
                    let mut state = lock(&self.state);
                    state.ignored = 0;
                    state.waiting.remove(&own)
                });
                match waiting {
                    Some(waiting) => {
                        self.signals.note_answer();
                        if waiting.send(outcome.map_err(LinkError::Rpc)).is_err() {
                            tracing::debug!("nobody waits for an answer any more");
                        }
                        Ok(())
                    }
                    // Of a request that was given up, or of none.
                    None => {
                        tracing::debug!(id = %shown(&format!("{id:?}")), "an answer to nothing");
                        self.signals.count()
                    }
                }
            }
        }
    }
}
