//! Requests as lines, from a client that started this program.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chela_core::{lock, ok_or_debug};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::McpService;
use super::dispatch::{AskedEra, acknowledged};
use crate::message::{MOST_MESSAGE_BYTES, RequestId, RpcError, RpcMessage};

/// Requests at once; more wait.
const MOST_AT_ONCE: usize = 16;
/// Answers that wait to be written.
const MOST_QUEUED: usize = 64;

type RunningRequests = Arc<Mutex<HashMap<RequestId, AbortHandle>>>;

/// Serves one client until it closes its end.
pub async fn serve_lines(
    service: McpService,
    mut input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (answers, queue) = mpsc::channel(MOST_QUEUED);
    let writer = tokio::spawn(write_answers(output, queue));
    let mut client = LineClient {
        service,
        answers,
        running: RunningRequests::default(),
        tasks: JoinSet::new(),
    };
    let mut line: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = input.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        let mut pieces = buffer
            .get(..length)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n');
        if let Some(first) = pieces.next() {
            line.extend_from_slice(first);
        }
        for piece in pieces {
            let whole = std::mem::replace(&mut line, piece.to_vec());
            client.hear(&whole).await;
        }
        if line.len() > MOST_MESSAGE_BYTES {
            let error = RpcError::new(RpcError::INVALID_REQUEST, "the message is too long");
            client.say(None, Err(error)).await;
            break;
        }
    }
    // What is under way is answered as long as somebody reads.
    client.finish().await;
    ok_or_debug!(writer.await, "the last answers were not written");
    Ok(())
}

async fn write_answers(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<RpcMessage>) {
    while let Some(answer) = queue.recv().await {
        let written = async {
            output.write_all(&answer.to_line()).await?;
            output.flush().await
        };
        if ok_or_debug!(written.await, "a client reads no more").is_none() {
            return;
        }
    }
}

struct LineClient {
    service: McpService,
    answers: mpsc::Sender<RpcMessage>,
    running: RunningRequests,
    tasks: JoinSet<()>,
}

impl LineClient {
    async fn hear(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(_) => {
                let error = RpcError::new(RpcError::PARSE, "it is not JSON");
                return self.say(None, Err(error)).await;
            }
        };
        let id = value.get("id").and_then(RequestId::read);
        match RpcMessage::read(value) {
            Err(error) => self.say(id, Err(error)).await,
            Ok(RpcMessage::Request { id, method, params }) => self.begin(id, method, params).await,
            Ok(RpcMessage::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId").and_then(RequestId::read)
                    && let Some(task) = lock(&self.running).remove(&id)
                {
                    task.abort();
                }
            }
            Ok(RpcMessage::Response { .. }) => {}
        }
    }

    async fn begin(&mut self, id: RequestId, method: String, params: Value) {
        while self.tasks.len() >= MOST_AT_ONCE {
            self.tasks.join_next().await;
        }
        if lock(&self.running).contains_key(&id) {
            let error = RpcError::new(RpcError::INVALID_REQUEST, "a request has this id already");
            return self.say(Some(id), Err(error)).await;
        }
        let service = self.service.clone();
        let answers = self.answers.clone();
        let running = Arc::clone(&self.running);
        let own = id.clone();
        // Nothing of it runs before it is known by its id.
        let mut table = lock(&self.running);
        let task = self.tasks.spawn(async move {
            let era = AskedEra::of(&params);
            let outcome = service.answer(&own, &method, &params, era).await;
            lock(&running).remove(&own);
            if outcome.is_ok() && method == "subscriptions/listen" {
                let told = answers.send(acknowledged(&own)).await;
                ok_or_debug!(told, "a client reads no more");
            }
            let answer = RpcMessage::Response {
                id: Some(own),
                outcome,
            };
            ok_or_debug!(answers.send(answer).await, "a client reads no more");
        });
        table.insert(id, task);
    }

    async fn say(&self, id: Option<RequestId>, outcome: Result<Value, RpcError>) {
        let answer = RpcMessage::Response { id, outcome };
        ok_or_debug!(self.answers.send(answer).await, "a client reads no more");
    }

    async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
