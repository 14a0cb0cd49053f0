//! Commands on the machine: `exec` plans one, has it cleared, starts it and follows it.

mod environment;
mod network;
mod place;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_config::model::{BareUnit, Exec};
use chela_config::{AgentView, Loaded};
use chela_core::secret::Redactor;
use chela_core::{AgentId, Host};
use chela_guard::ExternalSource;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Elevation;
use crate::approvals::{Document, Gate, GateSetup, Harden, Planned};
use crate::foresight;
use crate::handles::{self, Destination, Handles, NoHandles};
use crate::process::{
    Job, Launch, Notices, ProcessTool, Processes, ProcessesSetup, Talk, plain, whole,
};
use crate::schema::{self, Kind, Schema};
use crate::{
    Call, CallTarget, CallWrites, Effect, Output, Progress, Prospect, Running, Sink, SinkKind,
    Spec, Tool,
};
use chela_sandbox::{FamilyWatch, Proxy, Standing};

use environment::{Surroundings, refused};
use place::Place;

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
    pub handles: Arc<dyn Handles>,
    /// Where they run.
    pub sandbox: Arc<Standing>,
    /// Whether a call may ask to leave the sandbox at all (`tools.elevated.enabled`).
    pub leaving: Leaving,
}

/// Whether leaving the sandbox can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    Never,
    /// Each time it is decided anew.
    Possible,
}

/// Whose commands they are to be.
#[derive(Debug)]
pub struct CommandsAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a Loaded,
    pub view: &'a AgentView,
    /// Folder of the session for long output.
    pub spool: PathBuf,
    pub sandbox: Standing,
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
                (Standing::Inside(_) | Standing::Refused { .. }, Some(true)) => Leaving::Possible,
                _ => Leaving::Never,
            },
            sandbox: Arc::new(sandbox),
        }
    }
}

/// The tools for commands, and the commands themselves. When the last clone of `processes` goes,
/// every command of the session ends.
#[derive(Debug, Clone)]
pub struct Commands {
    pub exec: Arc<ExecTool>,
    pub process: Arc<ProcessTool>,
    pub processes: Processes,
}

impl Commands {
    pub fn new(setup: CommandsSetup) -> Self {
        let config = &setup.config;
        let notices = match (config.notify_on_exit, config.notify_on_exit_empty_success) {
            (false, _) => Notices::None,
            (true, false) => Notices::Noteworthy,
            (true, true) => Notices::All,
        };
        let processes = Processes::new(ProcessesSetup {
            host: setup.host.clone(),
            spool_dir: setup.spool.clone(),
            keep_finished: Duration::from_millis(config.cleanup_ms),
            notices,
            most_shown: setup.most_shown,
            redactor: Arc::clone(&setup.redactor),
        });
        Self {
            exec: Arc::new(ExecTool::new(setup, processes.clone())),
            process: Arc::new(ProcessTool::new(processes.clone())),
            processes,
        }
    }

    /// Where they run.
    pub fn sandbox(&self) -> &Arc<Standing> {
        &self.exec.setup.sandbox
    }

    /// How far commands may leave the sandbox from now on. Until this is said, not at all.
    pub fn elevate(&self, elevation: Elevation) {
        *lock(&self.exec.elevation) = elevation;
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
    spec: Spec,
    setup: CommandsSetup,
    gate: Gate,
    processes: Processes,
    elevation: Mutex<Elevation>,
    /// The way out of the sandbox, from the first command that needs it.
    proxy: Mutex<Option<Proxy>>,
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
}

impl ExecTool {
    fn new(setup: CommandsSetup, processes: Processes) -> Self {
        let gate = Gate::new(GateSetup {
            host: setup.host.clone(),
            agent: setup.agent.clone(),
            config: setup.config.clone(),
            document: Document::path(&setup.host),
            expires_after: setup.expires_after,
        });
        Self {
            spec: spec(&setup),
            setup,
            gate,
            processes,
            elevation: Mutex::new(Elevation::none()),
            proxy: Mutex::default(),
        }
    }

    /// Starts a command the owner typed where a call would run it. Nobody is asked: the owner
    /// did.
    pub fn for_the_owner(&self, argv: Vec<String>, timeout: Duration) -> Result<Arc<Job>, Output> {
        let arguments = Arguments {
            command: None,
            argv: Some(argv),
            workdir: None,
            env: BTreeMap::new(),
            yield_ms: None,
            background: false,
            timeout_seconds: Some(timeout.as_secs()),
            pty: false,
            ask: None,
            elevated: false,
        };
        let (place, _) = self.place(false)?;
        let planned = self.plan(&arguments, place)?;
        let launch = self.put(self.launch(planned, &arguments), place)?;
        self.processes
            .start(launch)
            .map_err(|error| Output::failed(error.to_string()))
    }

    async fn act(&self, call: Call<'_>) -> Result<Output, Output> {
        let arguments: Arguments = schema::read(call.arguments)?;
        let (place, asked) = self.place(arguments.elevated)?;
        let planned = self.plan(&arguments, place)?;
        let harden = match arguments.ask.as_deref() {
            Some("always") => Harden::Always,
            _ => asked,
        };
        let failed = |error: &dyn std::fmt::Display| Output::failed(error.to_string());
        let cleared = self.gate.clear(planned, harden, call.approver).await;
        let planned = cleared
            .and_then(|cleared| cleared.check())
            .map_err(|refusal| failed(&refusal))?;
        let mut launch = self.launch(planned, &arguments);
        // Only now, so that neither the question nor the record holds the value.
        for (name, text) in &arguments.env {
            let value = handles::put_in(text, &*self.setup.handles, Destination::Environment);
            let value = value
                .await
                .map_err(|why| failed(&format!("The command was not run: env.{name}: {why}.")))?;
            launch.env.insert(name.clone(), value);
        }
        let launch = self.put(launch, place)?;
        let job = self
            .processes
            .start(launch)
            .map_err(|error| failed(&error))?;
        self.follow(job, &arguments, call).await
    }

    fn plan(&self, arguments: &Arguments, place: Place<'_>) -> Result<Planned, Output> {
        if let Some(why) = arguments.env.keys().find_map(|name| refused(name)) {
            return Err(Output::failed(why));
        }
        let argv = arguments.argv.iter().flatten();
        if argv
            .chain(&arguments.command)
            .any(|text| handles::names_one(text))
        {
            return Err(Output::failed(
                "A command line is seen by everybody on the machine: name the secret in env and use the variable.",
            ));
        }
        let folder = self.folder(arguments.workdir.as_deref(), place)?;
        let surroundings = Surroundings {
            host: &self.setup.host,
            prepend: &self.setup.config.path_prepend,
            redactor: &self.setup.redactor,
        };
        let mut env = surroundings.variables();
        let term = if arguments.pty {
            "xterm-256color"
        } else {
            "dumb"
        };
        env.insert("TERM".to_owned(), term.to_owned());
        if let Place::Sandbox(plan) = place {
            env = plan.variables(&env);
        }
        let planned = match (&arguments.command, &arguments.argv) {
            (Some(line), None) if !line.trim().is_empty() => Planned::line(line, folder, env),
            (None, Some(words)) if words.first().is_some_and(|name| !name.is_empty()) => {
                Planned::direct(words.clone(), folder, env)
            }
            _ => {
                return Err(Output::failed(
                    "Give either command, as one line, or argv, as a list of words.",
                ));
            }
        };
        planned
            .map(|planned| planned.with_variables(arguments.env.clone()))
            .map_err(|error| Output::failed(format!("{error}.")))
    }

    fn launch(&self, planned: Planned, arguments: &Arguments) -> Launch {
        let config = &self.setup.config;
        let text = planned.text();
        let seconds = arguments.timeout_seconds.unwrap_or(config.timeout_seconds);
        let (name, words) = planned.arguments();
        Launch {
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
                (true, _) => Talk::Terminal,
                (false, true) => Talk::PipeWithInput,
                (false, false) => Talk::Pipe,
            },
            timeout: Duration::from_secs(seconds.min(config.timeout_seconds)),
            watch: FamilyWatch::default(),
            group: None,
        }
    }

    /// Waits for the end, at most until it goes to the background.
    async fn follow(
        &self,
        job: Arc<Job>,
        arguments: &Arguments,
        call: Call<'_>,
    ) -> Result<Output, Output> {
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
                let last = lines[lines.len().saturating_sub(5)..].join("\n");
                (call.progress)(Progress::Output(last));
            }
        };
        tokio::select! {
            _ = job.ended() => {}
            () = tokio::time::sleep(wait) => self.processes.to_background(&job),
            () = telling => {}
        }
        foreground.0 = None;
        Ok(whole(&job, call.id, self.processes.setup()))
    }
}

/// Ends a command whose call is dropped before it ended or went to the background.
struct Foreground(Option<Arc<Job>>);

impl Drop for Foreground {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.end_now();
        }
    }
}

impl Tool for ExecTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> Prospect {
        let planned = schema::read(arguments).and_then(|arguments: Arguments| {
            let (place, _) = self.place(arguments.elevated)?;
            self.plan(&arguments, place)
        });
        match planned {
            Ok(planned) => Prospect {
                standing: self.gate.standing(&planned),
                words: Some(self.gate.words(&planned)),
                binds: Some(planned.binds()),
                ..Prospect::of(Effect::Irreversible)
            },
            // It will be refused; until then it is a command like any other.
            Err(_) => Prospect::of(Effect::Irreversible),
        }
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        let mut targets = foresight::targets_by_sink(&self.spec, arguments);
        let workdir = arguments.get("workdir").and_then(Value::as_str);
        let place = match &*self.setup.sandbox {
            Standing::Inside(plan) => Place::Sandbox(plan),
            Standing::Outside { .. } | Standing::Refused { .. } => Place::Host,
        };
        targets.extend(self.folder(workdir, place).ok().map(CallTarget::Tree));
        targets
    }

    /// A command writes what it likes.
    fn writes(&self, _: &Map<String, Value>) -> CallWrites {
        CallWrites::Anything
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Running<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Which secrets may be named, if any.
fn about_secrets(setup: &CommandsSetup) -> String {
    let names = setup.handles.names(handles::Kind::Commands);
    match names.is_empty() {
        true => String::new(),
        false => format!(
            " A value of env may be ${{secret:NAME}}: {}.",
            handles::in_words(&names)
        ),
    }
}

fn spec(setup: &CommandsSetup) -> Spec {
    let mut parameters = Schema::object()
        .optional("command", Kind::text(), "The command line. A plain command runs without a shell; pipes, variables and the like run in sh.")
        .optional("argv", Kind::list(Kind::text()), "Instead of command: program and arguments, each as it is; never a shell.")
        .optional("workdir", Kind::text(), "Folder to run in. Default: the workspace.")
        .optional("env", Kind::text_map(), "Variables to set besides the usual ones.")
        .optional("yieldMs", Kind::integer().min(10).max(600_000), "Wait at most this many milliseconds, then leave it in the background (10000).")
        .optional("background", Kind::flag(), "Leave it in the background at once; process can feed its input.")
        .optional("timeoutSeconds", Kind::integer().min(1), "End it after this many seconds.")
        .optional("pty", Kind::flag(), "Give it a terminal, for programs that insist on one.")
        .optional("ask", Kind::one_of(&["always"]), "Have the owner asked even if the command is allowed.");
    if setup.leaving == Leaving::Possible {
        parameters = parameters.optional(
            "elevated",
            Kind::flag(),
            "Run it on the host instead of in the sandbox, where the user allows that.",
        );
    }
    let place = match &*setup.sandbox {
        Standing::Outside { .. } => "on this machine",
        Standing::Inside(_) | Standing::Refused { .. } => "in the sandbox",
    };
    Spec {
        name: "exec".into(),
        description: format!(
            "Run a command {place}. Output and errors come back together with the exit code; a \
             command that takes longer goes on in the background and process follows it. What it \
             leaves running is ended when it ends, so start servers with background: true.{}",
            about_secrets(setup)
        )
        .into(),
        parameters: parameters.build().into(),
        effect: Effect::Irreversible,
        sinks: [
            Sink::new("command", SinkKind::Command),
            Sink::new("argv", SinkKind::Command),
            Sink::new("workdir", SinkKind::Path),
            Sink::new("env", SinkKind::Command),
        ]
        .into(),
    }
}

#[cfg(test)]
mod tests;
