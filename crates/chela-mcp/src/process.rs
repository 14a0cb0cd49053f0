//! A server that is a program: started in walls, watched, ended with this process.

mod environment;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_sandbox::{
    BareCommand, Cgroup, CommandRecord, EgressHosts, EgressProxy, FamilyLeader, FamilyWatch, MARK,
    ProcessFamily, SandboxPlan, ServiceAsk,
};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::spec::{McpServerSpec, ServerReach, ServerWalls};

/// After its input was closed, a server has so long to end by itself.
const GRACE: Duration = Duration::from_millis(1_000);
/// How often its processes are counted.
const COUNT_EVERY: Duration = Duration::from_millis(250);
/// How often it is said that it still runs.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// A server may run for as long as it is used.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// What a server is started with.
pub(crate) struct ProcessAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub spec: &'a McpServerSpec,
}

/// A server that runs. Dropping it ends it and all it started.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    ended: watch::Receiver<Option<ProcessEnd>>,
    stop: watch::Sender<StopWish>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessEnd {
    /// For people.
    pub why: String,
    /// What it ended with, where it ended by itself.
    pub code: Option<i32>,
}

impl ProcessEnd {
    fn of(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            code: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopWish {
    None,
    /// Its input is closed; it may end by itself.
    Soon,
    Now,
}

/// What a server talks through.
pub(crate) struct ProcessPipes {
    pub input: ChildStdin,
    pub output: ChildStdout,
    pub errors: ChildStderr,
}

/// Why a server was not started: what is missing, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct StartFault(pub String);

impl ServerProcess {
    /// Starts a server.
    pub async fn start(ask: ProcessAsk<'_>) -> Result<(Self, ProcessPipes), StartFault> {
        let ServerReach::Program {
            command, args, env, ..
        } = &ask.spec.reach
        else {
            return Err(StartFault("it is not a program".to_owned()));
        };
        let given = environment::given(ask.host, ask.loaded, ask.spec, env)
            .await
            .map_err(StartFault)?;
        let program = find_program(ask.host, command, &given).ok_or_else(|| {
            StartFault(format!(
                "the program `{}` was not found; install it, or write its whole path in {}.command",
                chela_core::sanitize::literal(command),
                ask.spec.set_up_by
            ))
        })?;
        let arguments: Vec<OsString> = args.iter().map(OsString::from).collect();
        let launch = match ask.spec.grants.walls {
            ServerWalls::Required | ServerWalls::Always => {
                inside(&ask, &program, arguments, given)?
            }
            ServerWalls::Off => outside(&ask, &program, arguments, given)?,
        };
        Self::spawn(ask.host, launch).map_err(|error| {
            StartFault(format!("{} cannot be started: {error}", program.display()))
        })
    }

    fn spawn(host: &Host, launch: ServerLaunch) -> io::Result<(Self, ProcessPipes)> {
        let mark = format!("mcp-{}", host.random_hex(8));
        let mut command = tokio::process::Command::new(&launch.program);
        #[cfg(unix)]
        command.arg0(&launch.name).process_group(0);
        command
            .args(&launch.arguments)
            .current_dir(&launch.folder)
            .env_clear()
            .envs(&launch.env)
            .env(MARK, &mark)
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let pid = child.id().unwrap_or_default();
        let family = ProcessFamily::new(pid, &mark).ok_or(io::ErrorKind::NotFound)?;
        let (told, ended) = watch::channel(None);
        let (stop, wish) = watch::channel(StopWish::None);
        let follower = ProcessFollower {
            family,
            watch: launch.watch,
            group: launch.group,
            record: CommandRecord::begin(host, pid, &mark),
            told,
            _egress: launch.egress,
        };
        tokio::spawn(follower.follow(child, wish));
        let pipes = ProcessPipes {
            input,
            output,
            errors,
        };
        Ok((Self { ended, stop }, pipes))
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        self.ended.borrow().as_ref().map(|end| end.why.clone())
    }

    /// Waits until it has ended.
    pub fn watch_end(&self) -> watch::Receiver<Option<ProcessEnd>> {
        self.ended.clone()
    }

    /// Lets it end by itself now that its input is closed, for a moment.
    pub fn stop_soon(&self) {
        self.stop.send_replace(StopWish::Soon);
    }

    /// Ends it at once.
    pub fn stop_now(&self) {
        self.stop.send_replace(StopWish::Now);
    }
}

/// A server as it is started.
struct ServerLaunch {
    program: PathBuf,
    name: OsString,
    arguments: Vec<OsString>,
    folder: PathBuf,
    env: BTreeMap<String, String>,
    watch: FamilyWatch,
    group: Option<Arc<Cgroup>>,
    egress: Option<EgressProxy>,
}

fn inside(
    ask: &ProcessAsk<'_>,
    program: &Path,
    arguments: Vec<OsString>,
    given: environment::GivenVariables,
) -> Result<ServerLaunch, StartFault> {
    let spec = ask.spec;
    let mut notes = Vec::new();
    let hosts = EgressHosts::of(&spec.grants.hosts, &mut notes);
    if let Some(wrong) = notes.first() {
        return Err(StartFault(format!("{}: {wrong}", spec.set_up_by)));
    }
    let mut readable = vec![program.to_owned()];
    readable.extend(program.canonicalize());
    readable.extend(spec.grants.package.clone());
    let plan = SandboxPlan::for_service(ServiceAsk {
        host: ask.host,
        loaded: ask.loaded,
        name: &spec.prefix,
        readable: &readable,
        folders: &spec.grants.folders,
        hosts: hosts.clone(),
    });
    let plan = plan.map_err(|why| {
        let way_out = match spec.grants.walls {
            ServerWalls::Always => String::new(),
            _ => format!(
                ", {}.sandbox: \"off\" starts it outside with all you may do yourself",
                spec.set_up_by
            ),
        };
        StartFault(format!(
            "it is started in the sandbox only, and there is none: {why}; `chela sandbox explain` \
             says more{way_out}"
        ))
    })?;
    plan.make_folders(ask.host).map_err(StartFault)?;
    let folder = folder_of(spec).unwrap_or_else(|| plan.workdir.clone());
    if let Some(why) = plan.refuses_folder(&folder) {
        return Err(StartFault(format!(
            "{why} List it in {}.folders",
            spec.set_up_by
        )));
    }
    let egress = match hosts.is_empty() {
        true => None,
        false => Some(EgressProxy::start(ask.host, hosts).map_err(StartFault)?),
    };
    let wrapped = plan
        .wrap(
            &BareCommand {
                program,
                name: program.file_name().unwrap_or(program.as_os_str()),
                arguments: &arguments,
                folder: &folder,
                timeout: FOR_EVER,
                written: None,
            },
            egress.as_ref().map(EgressProxy::socket),
        )
        .map_err(StartFault)?;
    Ok(ServerLaunch {
        program: wrapped.program,
        name: wrapped.name,
        arguments: wrapped.arguments,
        folder,
        env: given.inside(&plan),
        watch: wrapped.watch,
        group: wrapped.group,
        egress,
    })
}

/// As its owner would start it, but that it ends with this process.
fn outside(
    ask: &ProcessAsk<'_>,
    program: &Path,
    arguments: Vec<OsString>,
    given: environment::GivenVariables,
) -> Result<ServerLaunch, StartFault> {
    let folder = folder_of(ask.spec).unwrap_or_else(|| ask.host.user_home.clone());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let (program, name, arguments) = tied(ask.host, program, name, arguments);
    Ok(ServerLaunch {
        program,
        name,
        arguments,
        folder,
        env: given.outside(),
        watch: FamilyWatch::default(),
        group: None,
        egress: None,
    })
}

fn folder_of(spec: &McpServerSpec) -> Option<PathBuf> {
    match &spec.reach {
        ServerReach::Program { cwd, .. } => cwd.clone(),
        ServerReach::Http { .. } => None,
    }
}

/// Through the helper, which lets a program end when this one does, even if that is killed. The
/// kernel goes by the thread that starts it: only the first one lives as long as the program.
#[cfg(target_os = "linux")]
fn tied(
    host: &Host,
    program: &Path,
    name: &OsStr,
    arguments: Vec<OsString>,
) -> (PathBuf, OsString, Vec<OsString>) {
    use chela_core::ok_or_debug;
    use chela_sandbox::{HELPER_COMMAND, HelperOrder};

    let plain = |arguments| (program.to_owned(), name.to_owned(), arguments);
    let Ok(own) = i32::try_from(std::process::id()) else {
        return plain(arguments);
    };
    let first = std::fs::read_link("/proc/thread-self").ok();
    let is_first = first.is_some_and(|link| link.ends_with(format!("task/{own}")));
    let order = HelperOrder::tie(name.to_string_lossy().into_owned());
    let order = ok_or_debug!(serde_json::to_string(&order), "a server is not tied");
    let (true, Some(helper), Some(order)) = (is_first, &host.program, order) else {
        return plain(arguments);
    };
    let mut words = vec![HELPER_COMMAND.into(), order.into(), program.into()];
    words.extend(arguments);
    (helper.clone(), "chela".into(), words)
}

#[cfg(not(target_os = "linux"))]
fn tied(
    _: &Host,
    program: &Path,
    name: &OsStr,
    arguments: Vec<OsString>,
) -> (PathBuf, OsString, Vec<OsString>) {
    (program.to_owned(), name.to_owned(), arguments)
}

/// The very file of a program, looked for as the owner's shell would.
fn find_program(
    host: &Host,
    command: &str,
    given: &environment::GivenVariables,
) -> Option<PathBuf> {
    let named = host.expand_from(command, &host.user_home);
    if command.contains('/') {
        return named.is_file().then_some(named);
    }
    let path = given.named("PATH").or(host.var("PATH"))?;
    let mut folders = path.split(':').filter(|folder| !folder.is_empty());
    folders.find_map(|folder| {
        let candidate = Path::new(folder).join(command);
        candidate.is_file().then_some(candidate)
    })
}

/// Sees to it that a server ends, and uses no more than it may.
struct ProcessFollower {
    family: ProcessFamily,
    watch: FamilyWatch,
    group: Option<Arc<Cgroup>>,
    record: Option<CommandRecord>,
    told: watch::Sender<Option<ProcessEnd>>,
    /// Its way out, open as long as it runs.
    _egress: Option<EgressProxy>,
}

impl Drop for ProcessFollower {
    /// The program ends, or nobody needs the server any more.
    fn drop(&mut self) {
        self.end_all();
        if let Some(record) = &mut self.record {
            record.end();
        }
        self.told.send_if_modified(|told| {
            let is_news = told.is_none();
            told.get_or_insert_with(|| ProcessEnd::of("it was stopped"));
            is_news
        });
    }
}

impl ProcessFollower {
    async fn follow(mut self, mut child: Child, mut wish: watch::Receiver<StopWish>) {
        let mut count_at = Instant::now() + COUNT_EVERY;
        let mut renew_at = Instant::now() + RENEW_EVERY;
        let mut end_by: Option<Instant> = None;
        let mut why: Option<String> = None;
        let status = loop {
            let wake = end_by.map_or(count_at, |end| end.min(count_at));
            tokio::select! {
                ended = child.wait() => break ended,
                changed = wish.changed(), if end_by.is_none() => {
                    let wished = *wish.borrow_and_update();
                    why.get_or_insert_with(|| "it was stopped".to_owned());
                    let now = changed.is_err() || wished == StopWish::Now;
                    end_by = Some(Instant::now() + if now { Duration::ZERO } else { GRACE });
                }
                () = sleep_until(wake) => {
                    let now = Instant::now();
                    if end_by.is_some_and(|end| now >= end) {
                        self.end_all();
                        end_by = Some(now + GRACE);
                    }
                    if now >= renew_at {
                        renew_at = now + RENEW_EVERY;
                        if let Some(record) = &mut self.record {
                            record.renew();
                        }
                    }
                    if now >= count_at {
                        count_at = now + COUNT_EVERY;
                        if let Some(exceeded) = self.exceeded() {
                            why.get_or_insert(exceeded);
                            self.end_all();
                        }
                    }
                }
            }
        };
        let why = why.or_else(|| self.exceeded());
        let end = match why {
            Some(why) => ProcessEnd::of(&why),
            None => ProcessEnd {
                why: describe_end(&status),
                code: status.as_ref().ok().and_then(ExitStatus::code),
            },
        };
        tracing::info!(why = end.why, "a server ended");
        self.end_all();
        self.told.send_replace(Some(end));
    }

    fn end_all(&self) {
        self.family.end(self.watch.leader);
        if let Some(group) = &self.group {
            group.end();
        }
    }

    /// What it uses too much of.
    fn exceeded(&self) -> Option<String> {
        if let Some(group) = &self.group {
            return group
                .ran_out_of_memory()
                .then(|| "it used more memory than it may".to_owned());
        }
        if self.watch.leader == FamilyLeader::Command && self.watch.memory.is_none() {
            return None;
        }
        if self.family.count() > self.watch.processes {
            return Some("it started more processes than it may".to_owned());
        }
        let most = self.watch.memory?;
        let too_much = self.family.holds_more_than(most);
        too_much.then(|| format!("it used more memory than it may ({} MiB)", most >> 20))
    }
}

fn describe_end(status: &io::Result<ExitStatus>) -> String {
    let status = match status {
        Ok(status) => status,
        Err(error) => return format!("it is lost: {error}"),
    };
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(status);
    #[cfg(not(unix))]
    let signal = None::<i32>;
    match (status.code(), signal) {
        (Some(0), _) => "it ended by itself".to_owned(),
        (Some(125), _) => "its sandbox could not be built".to_owned(),
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}
