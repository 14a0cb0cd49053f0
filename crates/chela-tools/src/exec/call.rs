//! One call: its arguments, the command they mean, and the wait for its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chela_config::model::Exec;
use chela_guard::ExternalSource;
use chela_sandbox::FamilyWatch;
use serde::Deserialize;

use super::environment::{CommandEnvironment, refused};
use super::place::CommandPlace;
use super::{ExecTool, network};
use crate::approvals::PlannedCommand;
use crate::handles;
use crate::process::{
    CommandChannel, CommandJob, CommandLaunch, CommandWalls, is_running, plain, whole,
};
use crate::{CallProgress, RunCall, ToolOutput};

/// People are shown the newest output this often.
const TELL_EVERY: Duration = Duration::from_millis(1_000);

/// A command for the background that fails at once is told of at once.
const FIRST_LOOK: Duration = Duration::from_millis(150);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecArguments {
    pub command: Option<String>,
    pub argv: Option<Vec<String>>,
    pub workdir: Option<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub yield_ms: Option<u64>,
    #[serde(default)]
    pub background: bool,
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    pub pty: bool,
    pub ask: Option<String>,
    #[serde(default)]
    pub elevated: bool,
    #[serde(default)]
    pub outside: bool,
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Ends a command whose call is dropped before it ended or went to the background.
struct Foreground(Option<Arc<CommandJob>>);

impl ExecArguments {
    /// Whether the call asks to run on the machine itself.
    pub(super) fn leaves(&self) -> bool {
        self.outside || self.elevated
    }

    pub(super) fn names_secret(&self) -> bool {
        self.env.values().any(|value| handles::names_one(value))
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.end_now();
        }
    }
}

impl ExecTool {
    pub(super) fn plan(
        &self,
        arguments: &ExecArguments,
        place: &CommandPlace,
    ) -> Result<PlannedCommand, ToolOutput> {
        if let Some(why) = arguments.env.keys().find_map(|name| refused(name)) {
            return Err(ToolOutput::failed(why));
        }
        let argv = arguments.argv.iter().flatten();
        if argv
            .chain(&arguments.command)
            .any(|text| handles::names_one(text))
        {
            return Err(ToolOutput::failed(
                "A command line is seen by everybody on the machine: name the secret in env and use the variable.",
            ));
        }
        let folder = self.folder(arguments.workdir.as_deref(), place)?;
        let settings: &Exec = &self.setup.config;
        let surroundings = CommandEnvironment {
            host: &self.setup.host,
            prepend: &settings.path_prepend,
            pass: &settings.pass_env,
            redactor: &self.setup.redactor,
        };
        let mut env = surroundings.variables();
        let term = if arguments.pty {
            "xterm-256color"
        } else {
            "dumb"
        };
        env.insert("TERM".to_owned(), term.to_owned());
        if let CommandPlace::Sandbox(plan) = place {
            env = plan.variables(&env);
        }
        let planned = match (&arguments.command, &arguments.argv) {
            (Some(line), None) if !line.trim().is_empty() => {
                PlannedCommand::line(line, folder, env)
            }
            (None, Some(words)) if words.first().is_some_and(|name| !name.is_empty()) => {
                PlannedCommand::direct(words.clone(), folder, env)
            }
            _ => {
                return Err(ToolOutput::failed(
                    "Give either command, as one line, or argv, as a list of words.",
                ));
            }
        };
        planned
            .map(|planned| planned.with_variables(arguments.env.clone()))
            .map_err(|error| ToolOutput::failed(format!("{error}.")))
    }

    pub(super) fn launch(
        &self,
        planned: PlannedCommand,
        arguments: &ExecArguments,
    ) -> CommandLaunch {
        let config = &self.setup.config;
        let text = planned.text();
        let seconds = arguments.timeout_seconds.unwrap_or(config.timeout_seconds);
        let (name, words) = planned.arguments();
        CommandLaunch {
            fetches: network::fetches(&text).then(|| ExternalSource::Process {
                command: text.clone(),
            }),
            command: text,
            program: planned.program.real.clone(),
            name: name.into(),
            arguments: words.into_iter().map(Into::into).collect(),
            env: planned.variables(),
            folder: planned.folder,
            talk: match (arguments.pty, arguments.background) {
                (true, _) => CommandChannel::Terminal,
                (false, true) => CommandChannel::PipeWithInput,
                (false, false) => CommandChannel::Pipe,
            },
            timeout: Duration::from_secs(seconds.min(config.timeout_seconds)),
            watch: FamilyWatch::default(),
            group: None,
            walls: CommandWalls::None,
            written: None,
        }
    }

    /// Waits for the end, at most until it goes to the background.
    pub(super) async fn follow(
        &self,
        job: Arc<CommandJob>,
        arguments: &ExecArguments,
        call: RunCall<'_>,
    ) -> Result<ToolOutput, ToolOutput> {
        let mut foreground = Foreground(Some(Arc::clone(&job)));
        let wait = match (arguments.background, arguments.yield_ms) {
            (true, _) => FIRST_LOOK,
            (false, Some(ms)) => Duration::from_millis(ms),
            (false, None) => Duration::from_millis(self.setup.config.background_ms),
        };
        let telling = async {
            loop {
                tokio::time::sleep(TELL_EVERY).await;
                let end = {
                    let mut spool = job.spool();
                    spool.settle();
                    plain(&spool.end(2_000).bytes)
                };
                let lines: Vec<&str> = end.trim_end().lines().collect();
                let earlier = lines.len().saturating_sub(5);
                let last = lines.get(earlier..).unwrap_or_default().join("\n");
                (call.progress)(CallProgress::Output(last));
            }
        };
        tokio::select! {
            _ = job.ended() => {}
            () = tokio::time::sleep(wait) => self.processes.to_background(&job),
            () = telling => {}
        }
        foreground.0 = None;
        let output = whole(&job, call.id, self.processes.setup());
        Ok(match is_running(&job) {
            true => output.offering(["process".to_owned()]),
            false => output,
        })
    }
}
