//! Programs that answer questions and are no MCP servers: hooks of plugins.
//!
//! They are started, walled in, watched and ended as servers are. One is kept warm and asked in lines of
//! JSON-RPC; another is started for one question, reads it and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::{Host, ok_or_debug};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use crate::link::{LinkError, LinkRequest, ServerLink, ServerSignals};
use crate::process::{ProcessAsk, ServerProcess};
use crate::secret_desk::SecretDesk;
use crate::server_log::ServerLog;
use crate::spec::McpServerSpec;
use crate::stdio_link::StdioLink;

/// What a program is started with.
#[derive(Clone, Copy)]
pub struct ProgramAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub spec: &'a McpServerSpec,
    pub desk: &'a Arc<SecretDesk>,
}

impl std::fmt::Debug for ProgramAsk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramAsk")
            .field("spec", &self.spec.name)
            .finish_non_exhaustive()
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramFault {
    #[error("it cannot be started: {0}")]
    NotStarted(String),
    #[error("no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("{0}")]
    Broken(String),
    /// It runs, and said that it cannot answer.
    #[error("it answered with an error: {0}")]
    Refused(String),
    /// It does not know the question.
    #[error("it does not know this question")]
    Unknown,
}

/// A program that is kept, and asked again and again.
pub struct WarmProgram {
    link: Arc<StdioLink>,
    next: AtomicI64,
}

impl std::fmt::Debug for WarmProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WarmProgram")
    }
}

impl WarmProgram {
    pub async fn start(ask: ProgramAsk<'_>) -> Result<Self, ProgramFault> {
        let log = ServerLog::of(ask.host, &ask.spec.prefix, Arc::clone(ask.desk));
        let signals = Arc::new(ServerSignals::new(log));
        let started = StdioLink::start(process_ask(&ask), signals).await;
        let link = started.map_err(|fault| ProgramFault::NotStarted(fault.0))?;
        Ok(Self {
            link,
            next: AtomicI64::new(1),
        })
    }

    /// Asks it. Dropping the future gives the question up.
    pub async fn ask(
        &self,
        method: &'static str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, ProgramFault> {
        let request = LinkRequest {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            method,
            params,
            headers: Vec::new(),
            patience,
        };
        // Signs of life are for servers: a hook has the time it has.
        let answer = tokio::time::timeout(patience, self.link.request(request)).await;
        match answer {
            Err(_) | Ok(Err(LinkError::Timeout(_))) => Err(ProgramFault::TimedOut(patience)),
            Ok(Ok(value)) => Ok(value),
            Ok(Err(LinkError::Rpc(error))) if error.code == crate::RpcError::UNKNOWN_METHOD => {
                Err(ProgramFault::Unknown)
            }
            Ok(Err(LinkError::Rpc(error))) => Err(ProgramFault::Refused(error.to_string())),
            Ok(Err(other)) => Err(ProgramFault::Broken(other.to_string())),
        }
    }

    /// Why it is of no use any more; `None` while it is.
    pub fn ended(&self) -> Option<String> {
        self.link.ended()
    }

    pub fn close(&self) {
        self.link.close();
    }
}

/// What one start may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneShotLimits {
    pub time: Duration,
    /// Of each of its outputs.
    pub bytes: u64,
}

/// What a program said to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneShotAnswer {
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

/// Starts a program, gives it `input` and waits until it has ended.
pub async fn run_once(
    ask: ProgramAsk<'_>,
    input: &[u8],
    limits: OneShotLimits,
) -> Result<OneShotAnswer, ProgramFault> {
    let (process, mut pipes) = ServerProcess::start(process_ask(&ask))
        .await
        .map_err(|fault| ProgramFault::NotStarted(fault.0))?;
    let mut end = process.watch_end();
    let work = async {
        let write = async {
            // Whoever does not read what it is told may still answer.
            ok_or_debug!(
                pipes.input.write_all(input).await,
                "a program does not read its question"
            );
            drop(pipes.input);
        };
        let ((), output, errors) = tokio::join!(
            write,
            read_at_most(pipes.output, limits.bytes),
            read_at_most(pipes.errors, limits.bytes)
        );
        let ended = end.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|end| end.clone());
        (output, errors, ended)
    };
    let Ok((output, errors, ended)) = tokio::time::timeout(limits.time, work).await else {
        process.stop_now();
        return Err(ProgramFault::TimedOut(limits.time));
    };
    let log = ServerLog::of(ask.host, &ask.spec.prefix, Arc::clone(ask.desk));
    errors.lines().for_each(|line| log.note(line));
    let Some(end) = ended else {
        return Err(ProgramFault::Broken("it is lost".to_owned()));
    };
    match end.code {
        None => Err(ProgramFault::Broken(end.why)),
        Some(125) => Err(ProgramFault::Broken(end.why)),
        code => Ok(OneShotAnswer {
            code,
            output,
            errors,
        }),
    }
}

fn process_ask<'a>(ask: &ProgramAsk<'a>) -> ProcessAsk<'a> {
    ProcessAsk {
        host: ask.host,
        loaded: ask.loaded,
        spec: ask.spec,
    }
}

/// What it prints, as far as it is kept; the rest is read and dropped, so that it does not hang.
async fn read_at_most(from: impl AsyncRead + Unpin, most: u64) -> String {
    let mut from = from;
    let mut kept = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        match from.read(&mut buffer).await {
            Ok(0) => break,
            Ok(length) => {
                let room = usize::try_from(most).unwrap_or(usize::MAX);
                let room = room.saturating_sub(kept.len()).min(length);
                kept.extend_from_slice(buffer.get(..room).unwrap_or_default());
            }
            Err(error) => {
                tracing::debug!(%error, "what a program prints cannot be read");
                break;
            }
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
