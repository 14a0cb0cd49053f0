//! Commands that run on: `process` lists, follows, feeds and ends them.

mod job;
mod plain;
mod report;
mod spool;
mod table;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::schema::{self, Kind, Schema};
use crate::{Call, Effect, Output, Prospect, Running, Sink, SinkKind, Spec, Tool};

pub use job::{Ended, Job, Launch, Talk};
pub use plain::plain;
pub use report::{labelled, whole};
pub use table::{Finished, Notices, Processes, ProcessesSetup, StartError};

const ACTIONS: &[&str] = &[
    "list", "poll", "log", "write", "submit", "kill", "clear", "remove",
];
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT_MS: u64 = 120_000;
/// Output that stops for this long is worth showing before the command ends.
const QUIET: Duration = Duration::from_millis(700);
const DEFAULT_LINES: usize = 200;
const MOST_LINES: usize = 5_000;

/// The `process` tool.
#[derive(Debug)]
pub struct ProcessTool {
    spec: Spec,
    processes: Processes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    action: String,
    session_id: Option<String>,
    data: Option<String>,
    timeout: Option<u64>,
    offset: Option<u64>,
    limit: Option<u64>,
    eof: Option<bool>,
}

impl ProcessTool {
    pub fn new(processes: Processes) -> Self {
        let parameters = Schema::object()
            .required("action", Kind::one_of(ACTIONS), "What to do.")
            .optional(
                "sessionId",
                Kind::text(),
                "Which command, as exec named it: p1.",
            )
            .optional(
                "data",
                Kind::text(),
                "For write and submit: text for its input; submit adds a line end.",
            )
            .optional(
                "eof",
                Kind::flag(),
                "For write and submit: end its input afterwards.",
            )
            .optional(
                "timeout",
                Kind::integer().min(0).max(120_000),
                "For poll: wait at most this many milliseconds (10000).",
            )
            .optional(
                "offset",
                Kind::integer().min(0),
                "For log: first line, from 0. Default: the last lines.",
            )
            .optional(
                "limit",
                Kind::integer().min(1).max(5_000),
                "For log: how many lines (200).",
            )
            .build()
            .into();
        Self {
            spec: Spec {
                name: "process".into(),
                description: "Follow commands that exec left in the background. poll waits for \
                    new output or the end, so call it once instead of in a loop; log reads \
                    earlier output by line; write and submit feed commands started with \
                    background or pty; kill ends one with everything it started; remove forgets \
                    a finished one, clear all finished ones."
                    .into(),
                parameters,
                effect: Effect::Irreversible,
                sinks: [Sink::new("data", SinkKind::Command)].into(),
            },
            processes,
        }
    }

    async fn act(&self, call: Call<'_>) -> Result<Output, Output> {
        let arguments: Arguments = schema::read(call.arguments)?;
        match arguments.action.as_str() {
            "list" => return Ok(self.list()),
            "clear" => return Ok(self.clear()),
            _ => {}
        }
        let job = self.find(arguments.session_id.as_deref())?;
        let setup = self.processes.setup();
        match arguments.action.as_str() {
            "poll" => {
                let wait = arguments.timeout.map_or(DEFAULT_WAIT, |ms| {
                    Duration::from_millis(ms.min(LONGEST_WAIT_MS))
                });
                wait_for_news(&job, wait).await;
                Ok(report::news(&job, call.id, setup))
            }
            "log" => Ok(log(&job, &arguments, call.id, setup)),
            "write" | "submit" => {
                let mut data = arguments.data.unwrap_or_default();
                if arguments.action == "submit" {
                    data.push('\n');
                }
                write(&job, &data, arguments.eof == Some(true)).await?;
                wait_for_news(&job, Duration::from_secs(2)).await;
                Ok(report::news(&job, call.id, setup))
            }
            "kill" => {
                job.stop();
                job.ended().await;
                Ok(report::news(&job, call.id, setup))
            }
            "remove" if self.processes.forget(&job.id) => {
                Ok(Output::said(format!("{} is forgotten.", job.id)))
            }
            "remove" => Err(Output::failed(format!(
                "{} is still running; kill it first.",
                job.id
            ))),
            other => Err(Output::failed(format!(
                "There is no action `{other}`; use one of {}.",
                ACTIONS.join(", ")
            ))),
        }
    }

    fn list(&self) -> Output {
        let jobs = self.processes.jobs();
        if jobs.is_empty() {
            return Output::said("No commands.");
        }
        let lines: Vec<String> = jobs
            .iter()
            .map(|job| {
                let command: String = chela_core::sanitize::literal(&job.command)
                    .chars()
                    .take(120)
                    .collect();
                let bytes = usize::try_from(job.spool().total()).unwrap_or(usize::MAX);
                let bytes = chela_core::grouped(bytes);
                format!(
                    "{}  {command}  ({bytes} bytes) {}",
                    job.id,
                    report::status(job)
                )
            })
            .collect();
        Output::said(lines.join("\n"))
    }

    fn clear(&self) -> Output {
        let ids: Vec<String> = self
            .processes
            .jobs()
            .iter()
            .map(|job| job.id.clone())
            .collect();
        let gone = ids.iter().filter(|id| self.processes.forget(id)).count();
        Output::said(format!("Forgot {gone} finished."))
    }

    fn find(&self, id: Option<&str>) -> Result<Arc<Job>, Output> {
        let known = || {
            let ids: Vec<String> = self
                .processes
                .jobs()
                .iter()
                .map(|job| job.id.clone())
                .collect();
            match ids.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there are {}", ids.join(", ")),
            }
        };
        let id = id.ok_or_else(|| {
            Output::failed(format!("This action needs a sessionId; {}.", known()))
        })?;
        self.processes
            .job(id)
            .ok_or_else(|| Output::failed(format!("There is no command `{id}`; {}.", known())))
    }
}

impl Tool for ProcessTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> Prospect {
        let action = arguments.get("action").and_then(Value::as_str);
        Prospect::of(match action {
            Some("list" | "poll" | "log" | "clear" | "remove") => Effect::Read,
            Some("kill") => Effect::WriteReversible,
            _ => Effect::Irreversible,
        })
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Running<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}

/// Waits until the command ends, or has printed something and then paused, or time is up.
async fn wait_for_news(job: &Job, most: Duration) {
    let mut watch = job.watch();
    let waiting = async {
        let mut printed = watch.borrow_and_update().printed;
        let news = job.has_news();
        if !news {
            let change = watch.wait_for(|state| state.ended.is_some() || state.printed > printed);
            printed = change.await.map_or(printed, |state| state.printed);
        }
        loop {
            let more = watch.wait_for(|state| state.ended.is_some() || state.printed > printed);
            match tokio::time::timeout(QUIET, more).await {
                Ok(Ok(state)) if state.ended.is_none() => printed = state.printed,
                _ => break,
            }
        }
    };
    let _ = tokio::time::timeout(most, waiting).await;
}

async fn write(job: &Job, data: &str, eof: bool) -> Result<(), Output> {
    const PATIENCE: Duration = Duration::from_secs(5);
    if !data.is_empty() {
        match tokio::time::timeout(PATIENCE, job.write(data.as_bytes())).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => {
                return Err(Output::failed(format!(
                    "{} reads no input: it has ended, or was not started with background or pty.",
                    job.id
                )));
            }
            Err(_) => {
                return Err(Output::failed(format!(
                    "{} does not read its input.",
                    job.id
                )));
            }
        }
    }
    if eof {
        job.close_input().await;
    }
    Ok(())
}

/// Lines of the output by number.
fn log(job: &Job, arguments: &Arguments, call: &str, setup: &ProcessesSetup) -> Output {
    const BLOCK: usize = 1 << 20;
    let limit = arguments
        .limit
        .map_or(DEFAULT_LINES, |limit| {
            usize::try_from(limit).unwrap_or(MOST_LINES)
        })
        .min(MOST_LINES);
    let mut spool = job.spool();
    spool.settle();
    let text = match arguments.offset {
        None => {
            let end = spool.end(setup.most_shown).bytes;
            let text = plain(&end);
            let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
            lines[lines.len().saturating_sub(limit)..].join("\n")
        }
        Some(first) => {
            let (mut at, mut line) = (0, 0);
            let mut bytes = Vec::new();
            'blocks: while at < spool.total() {
                let part = spool.read(at, BLOCK);
                if part.bytes.is_empty() {
                    break;
                }
                at += part.lost + part.bytes.len() as u64;
                for piece in part.bytes.split_inclusive(|byte| *byte == b'\n') {
                    if line >= first && bytes.len() < setup.most_shown {
                        bytes.extend(&piece[..piece.len().min(setup.most_shown - bytes.len())]);
                    }
                    line += u64::from(piece.ends_with(b"\n"));
                    if line >= first + limit as u64 || bytes.len() >= setup.most_shown {
                        break 'blocks;
                    }
                }
            }
            plain(&bytes)
        }
    };
    drop(spool);
    report::told(job, call, text, setup)
}

#[cfg(test)]
mod tests;
