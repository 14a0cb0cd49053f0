//! Commands on the machine: `exec` plans one, has it cleared, starts it and follows it.

mod command_words;
mod environment;
mod network;
mod place;
mod walls_met;

use chela_core::lock;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_config::model::{BareUnit, Exec};
use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{AgentId, Host};
use chela_guard::ExternalSource;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ElevationState;
use crate::approvals::{
    ApprovalsDocument, CommandFreedom, CommandGate, FolderDoubts, GateSetup, NoDoubts,
    PlannedCommand, binds_of,
};
use crate::foresight;
use crate::handles::{self, NoHandles, SecretDestination, SecretHandles};
use crate::process::{
    CommandChannel, CommandJob, CommandLaunch, CommandWalls, EndNotices, ProcessTool,
    ProcessesSetup, SessionProcesses, is_running, plain, whole,
};
use crate::schema::{self, ArgumentKind, ArgumentSchema};
use crate::{
    CallFuture, CallProgress, CallProspect, CallSink, CallTarget, CallWrites, Effect, RunCall,
    SinkKind, Tool, ToolOutput, ToolSpec,
};
use chela_guard::flow::SessionTaint;
use chela_sandbox::{EgressProxy, FamilyWatch, NetworkAccess, SandboxStanding};

use environment::{CommandEnvironment, refused};
use place::CommandPlace;

/// People are shown the newest output this often.
const TELL_EVERY: Duration = Duration::from_millis(1_000);
/// A command for the background that fails at once is told of at once.
const FIRST_LOOK: Duration = Duration::from_millis(150);

/// What the commands of a session are made from.
#[derive(Clone)]
pub struct CommandsSetup {
    pub host: Host,
    pub agent: AgentId,
    pub config: Exec,
    /// Where commands start.
    pub workspace: PathBuf,
    /// Folder of this session for long output.
    pub spool: PathBuf,
    /// Most characters of output shown at once.
    pub most_shown: usize,
    /// A question to the owner lapses after this long.
    pub expires_after: Duration,
    /// Knows the values that no command may see, and takes them out of what they print.
    pub redactor: Arc<Redactor>,
    /// Secrets that commands may have by name.
    pub handles: Arc<dyn SecretHandles>,
    /// Where they run.
    pub sandbox: Arc<SandboxStanding>,
    /// Whether a call may ask to leave the sandbox at all (`tools.elevated.enabled`).
    pub leaving: SandboxLeaving,
    /// Knows which files were written after text from outside was read.
    pub doubts: Arc<dyn FolderDoubts>,
}

/// Whether leaving the sandbox can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxLeaving {
    Never,
    /// Each time it is decided anew.
    Possible,
}

/// Whose commands they are to be.
#[derive(Debug)]
pub struct CommandsAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    /// Folder of the session for long output.
    pub spool: PathBuf,
    pub sandbox: SandboxStanding,
}

impl std::fmt::Debug for CommandsSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandsSetup")
            .field("agent", &self.agent)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

impl CommandsSetup {
    /// The settings of one agent.
    pub fn of(ask: CommandsAsk<'_>) -> Self {
        let CommandsAsk {
            host,
            loaded,
            view,
            spool,
            sandbox,
        } = ask;
        let config = &loaded.config;
        let exec = view.tools.value.exec.as_ref().unwrap_or(&config.tools.exec);
        let expires_after = config
            .guard
            .approvals
            .expires_after
            .duration(BareUnit::Seconds);
        let mut host = host.clone();
        host.env = loaded.env().clone();
        Self {
            host,
            agent: view.id.clone(),
            config: exec.clone(),
            workspace: view.workspace.value.clone(),
            spool,
            most_shown: 16_000,
            expires_after: expires_after.unwrap_or(Duration::from_secs(600)),
            redactor: Arc::default(),
            handles: Arc::new(NoHandles),
            leaving: match (&sandbox, config.tools.elevated.enabled) {
                (SandboxStanding::Inside(_) | SandboxStanding::Refused { .. }, Some(true)) => {
                    SandboxLeaving::Possible
                }
                _ => SandboxLeaving::Never,
            },
            sandbox: Arc::new(sandbox),
            doubts: Arc::new(NoDoubts),
        }
    }
}

/// The tools for commands, and the commands themselves. When the last clone of `processes` goes,
/// every command of the session ends.
#[derive(Debug, Clone)]
pub struct CommandTools {
    pub exec: Arc<ExecTool>,
    pub process: Arc<ProcessTool>,
    pub processes: SessionProcesses,
}

impl CommandTools {
    pub fn new(setup: CommandsSetup) -> Self {
        let config = &setup.config;
        let notices = match (config.notify_on_exit, config.notify_on_exit_empty_success) {
            (false, _) => EndNotices::None,
            (true, false) => EndNotices::Noteworthy,
            (true, true) => EndNotices::All,
        };
        let processes = SessionProcesses::new(ProcessesSetup {
            host: setup.host.clone(),
            spool_dir: setup.spool.clone(),
            keep_finished: Duration::from_millis(config.cleanup_ms),
            notices,
            most_shown: setup.most_shown,
            redactor: Arc::clone(&setup.redactor),
        });
        let exec = Arc::new(ExecTool::new(setup, processes.clone()));
        Self {
            process: Arc::new(ProcessTool::new(processes.clone(), Arc::clone(&exec.gate))),
            exec,
            processes,
        }
    }

    /// Where they run.
    pub fn sandbox(&self) -> &Arc<SandboxStanding> {
        &self.exec.setup.sandbox
    }

    /// How far commands may leave the sandbox from now on. Until this is said, not at all.
    pub fn elevate(&self, elevation: ElevationState) {
        *lock(&self.exec.elevation) = elevation;
    }

    /// Whether text from outside was read in the session, as far as is known now.
    pub fn note_taint(&self, taint: SessionTaint) {
        *lock(&self.exec.taint) = taint;
    }

    /// For the toolbox.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![
            Arc::clone(&self.exec) as Arc<dyn Tool>,
            Arc::clone(&self.process) as Arc<dyn Tool>,
        ]
    }
}

/// The `exec` tool.
#[derive(Debug)]
pub struct ExecTool {
    spec: ToolSpec,
    setup: CommandsSetup,
    gate: Arc<CommandGate>,
    processes: SessionProcesses,
    elevation: Mutex<ElevationState>,
    taint: Mutex<SessionTaint>,
    /// The ways out of the sandbox, by the hosts they lead to, each from the first command that
    /// needs it.
    proxies: Mutex<BTreeMap<String, EgressProxy>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    command: Option<String>,
    argv: Option<Vec<String>>,
    workdir: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    yield_ms: Option<u64>,
    #[serde(default)]
    background: bool,
    timeout_seconds: Option<u64>,
    #[serde(default)]
    pty: bool,
    ask: Option<String>,
    #[serde(default)]
    elevated: bool,
    #[serde(default)]
    outside: bool,
    #[serde(default)]
    hosts: Vec<String>,
}

impl Arguments {
    /// Whether the call asks to run on the machine itself.
    fn leaves(&self) -> bool {
        self.outside || self.elevated
    }

    fn names_secret(&self) -> bool {
        self.env.values().any(|value| handles::names_one(value))
    }
}

impl ExecTool {
    fn new(setup: CommandsSetup, processes: SessionProcesses) -> Self {
        let gate = Arc::new(CommandGate::new(GateSetup {
            host: setup.host.clone(),
            agent: setup.agent.clone(),
            config: setup.config.clone(),
            document: ApprovalsDocument::path(&setup.host),
            workspace: setup.workspace.clone(),
            doubts: Arc::clone(&setup.doubts),
            expires_after: setup.expires_after,
        }));
        Self {
            spec: spec(&setup),
            setup,
            gate,
            processes,
            elevation: Mutex::new(ElevationState::none()),
            taint: Mutex::new(SessionTaint::Clean),
            proxies: Mutex::default(),
        }
    }

    /// Starts a command the owner typed where a call would run it. Nobody is asked: the owner
    /// did.
    pub fn for_the_owner(
        &self,
        argv: Vec<String>,
        folder: Option<&Path>,
        timeout: Duration,
    ) -> Result<Arc<CommandJob>, ToolOutput> {
        let arguments = Arguments {
            command: None,
            argv: Some(argv),
            workdir: folder.map(|folder| folder.display().to_string()),
            env: BTreeMap::new(),
            yield_ms: None,
            background: false,
            timeout_seconds: Some(timeout.as_secs()),
            pty: false,
            ask: None,
            elevated: false,
            outside: false,
            hosts: Vec::new(),
        };
        let place = self.place(&arguments)?.place;
        let planned = self.plan(&arguments, &place)?;
        let launch = self.put(self.launch(planned, &arguments), &place)?;
        self.processes
            .start(launch)
            .map_err(|error| ToolOutput::failed(error.to_string()))
    }

    async fn act(&self, call: RunCall<'_>) -> Result<ToolOutput, ToolOutput> {
        let arguments: Arguments = schema::read(call.arguments)?;
        let placed = self.place(&arguments)?;
        let planned = self.plan(&arguments, &placed.place)?;
        let circumstances = self.circumstances(&placed, &arguments);
        let failed = |error: &dyn std::fmt::Display| ToolOutput::failed(error.to_string());
        let cleared = self.gate.clear(planned, circumstances, call.approver).await;
        let refused = |refusal: &dyn std::fmt::Display| ToolOutput::refused(refusal.to_string());
        let cleared = cleared.map_err(|refusal| refused(&refusal))?;
        let besides = cleared.variables();
        let planned = cleared.check().map_err(|refusal| refused(&refusal))?;
        let mut launch = self.launch(planned, &arguments);
        launch.env.extend(besides);
        // Only now, so that neither the question nor the record holds the value.
        for (name, text) in &arguments.env {
            let value = handles::put_in(text, &*self.setup.handles, SecretDestination::Environment);
            let value = value
                .await
                .map_err(|why| failed(&format!("The command was not run: env.{name}: {why}.")))?;
            launch.env.insert(name.clone(), value);
        }
        let launch = self.put(launch, &placed.place)?;
        let job = self
            .processes
            .start(launch)
            .map_err(|error| failed(&error))?;
        let output = self.follow(Arc::clone(&job), &arguments, call).await?;
        Ok(self.with_word_about_walls(output, &job, &placed.place))
    }

    fn plan(
        &self,
        arguments: &Arguments,
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
        let surroundings = CommandEnvironment {
            host: &self.setup.host,
            prepend: &self.setup.config.path_prepend,
            pass: &self.setup.config.pass_env,
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

    fn launch(&self, planned: PlannedCommand, arguments: &Arguments) -> CommandLaunch {
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
        }
    }

    /// Waits for the end, at most until it goes to the background.
    async fn follow(
        &self,
        job: Arc<CommandJob>,
        arguments: &Arguments,
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

/// Ends a command whose call is dropped before it ended or went to the background.
struct Foreground(Option<Arc<CommandJob>>);

impl Drop for Foreground {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.end_now();
        }
    }
}

impl Tool for ExecTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn settle(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        command_words::one_command(arguments)
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        let prospect = || {
            let arguments: Arguments = schema::read(arguments)?;
            let placed = self.place(&arguments)?;
            let planned = self.plan(&arguments, &placed.place)?;
            let circumstances = self.circumstances(&placed, &arguments);
            let standing = self.gate.standing(&planned, circumstances);
            Ok::<_, ToolOutput>(CallProspect {
                standing: standing.list,
                words: Some(self.gate.words(&planned, circumstances)),
                binds: Some(binds_of(&planned, circumstances)),
                choices: self.gate.choices(&planned, circumstances),
                ..CallProspect::of(match standing.freedom {
                    CommandFreedom::Free if !arguments.names_secret() => free_effect(&placed.place),
                    CommandFreedom::Records => Effect::WriteReversible,
                    _ => Effect::Irreversible,
                })
            })
        };
        // What cannot be planned will be refused; until then it is a command like any other.
        prospect().unwrap_or_else(|_| CallProspect::of(Effect::Irreversible))
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        let mut targets = foresight::targets_by_sink(&self.spec, arguments);
        let workdir = arguments.get("workdir").and_then(Value::as_str);
        let place = match self.setup.sandbox.plan() {
            Some(plan) => CommandPlace::Sandbox(Box::new(plan.clone())),
            None => CommandPlace::Host,
        };
        targets.extend(self.folder(workdir, &place).ok().map(CallTarget::Tree));
        targets
    }

    /// A command writes what it likes.
    fn writes(&self, _: &Map<String, Value>) -> CallWrites {
        CallWrites::Anything
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}

/// What a command does that needs nobody's yes.
fn free_effect(place: &CommandPlace) -> Effect {
    match place {
        // It only looks.
        CommandPlace::Host => Effect::Read,
        CommandPlace::Sandbox(plan) => match plan.network {
            NetworkAccess::None => Effect::WriteReversible,
            // What it reads it can send.
            NetworkAccess::Hosts(_) => Effect::Irreversible,
        },
    }
}

/// Which secrets may be named, if any.
fn about_secrets(setup: &CommandsSetup) -> String {
    let names = setup.handles.names(handles::SecretUse::Commands);
    match names.is_empty() {
        true => String::new(),
        false => format!(
            " A value of env may be ${{secret:NAME}}: {}.",
            handles::in_words(&names)
        ),
    }
}

fn spec(setup: &CommandsSetup) -> ToolSpec {
    let mut parameters = ArgumentSchema::object()
        .optional(
            "command",
            ArgumentKind::text().chief().such_as("ls -la"),
            "The command line; pipes and variables run in sh",
        )
        .optional(
            "argv",
            ArgumentKind::list(ArgumentKind::text()),
            "Instead: program and arguments, no shell",
        )
        .optional("workdir", ArgumentKind::text(), "(workspace)")
        .optional("env", ArgumentKind::text_map(), "")
        .optional(
            "yieldMs",
            ArgumentKind::integer().min(10).max(600_000),
            "Wait so long, then leave it in the background (10000)",
        )
        .optional(
            "background",
            ArgumentKind::flag(),
            "At once in the background",
        )
        .optional(
            "timeoutSeconds",
            ArgumentKind::integer().min(1).also_named("timeout"),
            "",
        )
        .optional("pty", ArgumentKind::flag(), "Give it a terminal")
        .optional(
            "ask",
            ArgumentKind::one_of(&["always"]),
            "Ask the owner in any case",
        );
    if setup.leaving == SandboxLeaving::Possible {
        parameters = parameters.optional(
            "elevated",
            ArgumentKind::flag(),
            "Run it on the host instead of in the sandbox, where the user allows that.",
        );
    }
    if let SandboxStanding::CommandsInside(_) = *setup.sandbox {
        parameters = parameters
            .optional("hosts", ArgumentKind::list(ArgumentKind::text()), "Hosts it must reach from the sandbox; the owner is asked once per host")
            .optional("outside", ArgumentKind::flag(), "On the machine itself, the owner is asked: git add, commit, push, the owner's files and programs");
    }
    let place = match &*setup.sandbox {
        SandboxStanding::Outside { .. } => "on this machine",
        SandboxStanding::CommandsInside(_) => {
            "in a sandbox without network that can change the workspace, not its .git"
        }
        SandboxStanding::Inside(_) | SandboxStanding::Refused { .. } => "in the sandbox",
    };
    ToolSpec {
        name: "exec".into(),
        description: format!(
            "Run a command {place}. Gives output and exit code; what takes longer goes on in the \
             background, where process follows it. What a command leaves running ends with it: \
             start servers with background: true.{}",
            about_secrets(setup)
        )
        .into(),
        parameters: parameters.build().into(),
        effect: Effect::Irreversible,
        sinks: [
            CallSink::new("command", SinkKind::Command),
            CallSink::new("argv", SinkKind::Command),
            CallSink::new("workdir", SinkKind::Path),
            CallSink::new("env", SinkKind::Command),
        ]
        .into(),
    }
}

#[cfg(test)]
mod tests;
