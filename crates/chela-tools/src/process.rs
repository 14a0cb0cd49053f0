//! Commands that run on: `process` lists, follows, feeds and ends them.

mod job;
mod kept;
mod plain;
mod report;
mod spool;
mod table;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::approvals::{CommandGate, ProcessInput, StateReach};
use crate::schema::{self, ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{
    CallFuture, CallProspect, CallSink, CallTarget, Effect, RunCall, SinkKind, Tool, ToolOffer,
    ToolOutput, ToolSpec,
};
use spool::PrintedOutput;

pub use job::{CommandChannel, CommandEnd, CommandJob, CommandLaunch, CommandWalls};
pub use kept::{KeptCommand, KeptCommands, KeptOutput};
pub use plain::plain;
pub use report::{labelled, whole};
pub use table::{
    EndNotices, FinishedCommand, ProcessesSetup, SessionProcesses, StartError, is_running,
};

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
    spec: ToolSpec,
    processes: SessionProcesses,
    gate: Arc<CommandGate>,
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
    pub fn new(processes: SessionProcesses, gate: Arc<CommandGate>) -> Self {
        Self {
            spec: shared_spec!(spec()),
            processes,
            gate,
        }
    }

    async fn act(&self, call: RunCall<'_>) -> Result<ToolOutput, ToolOutput> {
        let arguments: Arguments = schema::read(call.arguments)?;
        match arguments.action.as_str() {
            "list" => return Ok(self.list()),
            "clear" => return Ok(self.clear()),
            _ => {}
        }
        let setup = self.processes.setup();
        let job = match self.find(arguments.session_id.as_deref()) {
            Ok(job) => job,
            Err(unknown) => return self.earlier(&arguments, call.id).unwrap_or(Err(unknown)),
        };
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
                if let Some(input) = outside_input(&job, &data) {
                    let cleared = self.gate.clear_input(&input, call.approver).await;
                    cleared.map_err(|refusal| ToolOutput::refused(refusal.to_string()))?;
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
                Ok(ToolOutput::said(format!("{} is forgotten.", job.id)))
            }
            "remove" => Err(ToolOutput::failed(format!(
                "{} is still running; kill it first.",
                job.id
            ))),
            other => Err(ToolOutput::failed(format!(
                "There is no action `{other}`; use one of {}.",
                ACTIONS.join(", ")
            ))),
        }
    }

    /// What can be said of a command that an earlier process ran. `None`: there was none of this
    /// name.
    fn earlier(&self, arguments: &Arguments, call: &str) -> Option<Result<ToolOutput, ToolOutput>> {
        let id = arguments.session_id.as_deref()?;
        let kept = self.processes.kept();
        let Some((command, output)) = kept.find(id) else {
            return kept.was_given(id).then(|| {
                Err(ToolOutput::failed(format!(
                    "`{id}` has ended, and what it printed is not kept any more. Run the command again if you need it."
                )))
            });
        };
        Some(match arguments.action.as_str() {
            "poll" | "log" => {
                let setup = self.processes.setup();
                let text = lines_of(&output, arguments, setup.most_shown);
                Ok(report::earlier(&command, call, &text, setup))
            }
            "remove" => {
                kept.forget(id);
                Ok(ToolOutput::said(format!("{id} is forgotten.")))
            }
            _ => Err(ToolOutput::failed(format!(
                "`{id}` has ended; action log shows what it printed."
            ))),
        })
    }

    fn list(&self) -> ToolOutput {
        let jobs = self.processes.jobs();
        let kept = self.processes.kept();
        let mut earlier: Vec<String> = kept
            .ids()
            .into_iter()
            .filter(|id| jobs.iter().all(|job| job.id != *id))
            .filter_map(|id| kept.find(&id))
            .map(|(command, _)| {
                let words = chela_core::sanitize::literal(&command.command);
                let words: String = words.chars().take(120).collect();
                format!("{}  {words}  (earlier) {}", command.id, command.status)
            })
            .collect();
        if jobs.is_empty() && earlier.is_empty() {
            return ToolOutput::said("No commands.");
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
        earlier.extend(lines);
        ToolOutput::said(earlier.join("\n"))
    }

    fn clear(&self) -> ToolOutput {
        let ids: Vec<String> = self
            .processes
            .jobs()
            .iter()
            .map(|job| job.id.clone())
            .collect();
        let gone = ids.iter().filter(|id| self.processes.forget(id)).count();
        ToolOutput::said(format!("Forgot {gone} finished."))
    }

    fn find(&self, id: Option<&str>) -> Result<Arc<CommandJob>, ToolOutput> {
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
            ToolOutput::failed(format!("This action needs a sessionId; {}.", known()))
        })?;
        self.processes
            .job(id)
            .ok_or_else(|| ToolOutput::failed(format!("There is no command `{id}`; {}.", known())))
    }
}

impl Tool for ProcessTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn offer(&self) -> ToolOffer {
        match self.processes.jobs().is_empty() {
            true => ToolOffer::Deferred,
            false => ToolOffer::Needed,
        }
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        let text = |name| arguments.get(name).and_then(Value::as_str);
        let effect = match text("action") {
            Some("list" | "poll" | "log" | "clear" | "remove") => Effect::Read,
            Some("kill") => Effect::WriteReversible,
            _ => Effect::Irreversible,
        };
        let job = text("sessionId").and_then(|id| self.processes.job(id));
        let (Some(job), Effect::Irreversible) = (job, effect) else {
            return CallProspect::of(effect);
        };
        let mut data = text("data").unwrap_or_default().to_owned();
        if text("action") == Some("submit") {
            data.push('\n');
        }
        match outside_input(&job, &data) {
            Some(input) => CallProspect {
                words: Some(input.words()),
                binds: Some(input.binds()),
                ..CallProspect::of(effect)
            },
            // Inside it can do nothing that cannot be undone, unless it can send things.
            None => CallProspect::of(match job.walls {
                CommandWalls::Sealed => Effect::WriteReversible,
                CommandWalls::None | CommandWalls::Fence | CommandWalls::WithNetwork => {
                    Effect::Irreversible
                }
            }),
        }
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        let id = arguments.get("sessionId").and_then(Value::as_str);
        id.map(|id| CallTarget::Process(id.trim().to_owned()))
            .into_iter()
            .collect()
    }

    /// What a command is told it does as it was started.
    fn state_reach(&self, arguments: &Map<String, Value>) -> StateReach {
        let id = arguments.get("sessionId").and_then(Value::as_str);
        let job = id.and_then(|id| self.processes.job(id));
        match job.map(|job| job.walls) {
            Some(CommandWalls::None) => StateReach::Open,
            _ => StateReach::Kept,
        }
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}

/// What a command that runs outside the sandbox is to be told; `None` for one inside, and where
/// there is nothing to tell.
fn outside_input<'a>(job: &'a CommandJob, data: &'a str) -> Option<ProcessInput<'a>> {
    let is_outside = matches!(job.walls, CommandWalls::None | CommandWalls::Fence);
    (is_outside && !data.is_empty()).then_some(ProcessInput {
        id: &job.id,
        command: &job.command,
        data,
    })
}

/// Waits until the command ends, or has printed something and then paused, or time is up.
async fn wait_for_news(job: &CommandJob, most: Duration) {
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
    if tokio::time::timeout(most, waiting).await.is_err() {
        tracing::debug!(id = job.id, "a command goes on longer than was waited for");
    }
}

async fn write(job: &CommandJob, data: &str, eof: bool) -> Result<(), ToolOutput> {
    const PATIENCE: Duration = Duration::from_secs(5);
    if !data.is_empty() {
        match tokio::time::timeout(PATIENCE, job.write(data.as_bytes())).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => {
                return Err(ToolOutput::failed(format!(
                    "{} reads no input: it has ended, or was not started with background or pty.",
                    job.id
                )));
            }
            Err(_) => {
                return Err(ToolOutput::failed(format!(
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
fn log(job: &CommandJob, arguments: &Arguments, call: &str, setup: &ProcessesSetup) -> ToolOutput {
    let text = {
        let mut spool = job.spool();
        spool.settle();
        lines_of(&*spool, arguments, setup.most_shown)
    };
    report::report_job(job, call, text, setup)
}

/// The lines a call asks for, or the last ones.
fn lines_of(printed: &dyn PrintedOutput, arguments: &Arguments, most_shown: usize) -> String {
    const BLOCK: usize = 1 << 20;
    let limit = arguments
        .limit
        .map_or(DEFAULT_LINES, |limit| {
            usize::try_from(limit).unwrap_or(MOST_LINES)
        })
        .min(MOST_LINES);
    let Some(first) = arguments.offset else {
        let from = printed.total().saturating_sub(most_shown as u64);
        let text = plain(&printed.read(from, most_shown).bytes);
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
        let skipped = lines.len().saturating_sub(limit);
        return lines.get(skipped..).unwrap_or_default().join("\n");
    };
    let (mut at, mut line) = (0, 0);
    let mut bytes: Vec<u8> = Vec::new();
    while at < printed.total() {
        let part = printed.read(at, BLOCK);
        if part.bytes.is_empty() {
            break;
        }
        at += part.lost + part.bytes.len() as u64;
        for piece in part.bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = most_shown.saturating_sub(bytes.len());
            if line >= first {
                bytes.extend(piece.iter().take(room));
            }
            line += u64::from(piece.ends_with(b"\n"));
            if line >= first + limit as u64 || bytes.len() >= most_shown {
                return plain(&bytes);
            }
        }
    }
    plain(&bytes)
}

fn spec() -> ToolSpec {
    let parameters = ArgumentSchema::object()
        .required("action", ArgumentKind::one_of(ACTIONS), "What to do.")
        .optional(
            "sessionId",
            ArgumentKind::text(),
            "Which command, as exec named it: p1.",
        )
        .optional(
            "data",
            ArgumentKind::text(),
            "For write and submit: text for its input; submit adds a line end.",
        )
        .optional(
            "eof",
            ArgumentKind::flag(),
            "For write and submit: end its input afterwards.",
        )
        .optional(
            "timeout",
            ArgumentKind::integer().min(0).max(120_000),
            "For poll: wait at most this many milliseconds (10000).",
        )
        .optional(
            "offset",
            ArgumentKind::integer().min(0),
            "For log: first line, from 0. Default: the last lines.",
        )
        .optional(
            "limit",
            ArgumentKind::integer().min(1).max(5_000),
            "For log: how many lines (200).",
        )
        .build()
        .into();
    ToolSpec {
        name: "process".into(),
        description: "Follow commands that exec left in the background. poll waits for \
                    new output or the end, so call it once instead of in a loop; log reads \
                    earlier output by line; write and submit feed commands started with \
                    background or pty; kill ends one with everything it started; remove forgets \
                    a finished one, clear all finished ones."
            .into(),
        parameters,
        effect: Effect::Irreversible,
        sinks: [CallSink::new("data", SinkKind::Command)].into(),
    }
}

#[cfg(test)]
mod tests;
