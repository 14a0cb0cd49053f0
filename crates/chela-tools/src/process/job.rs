//! One command while it runs, and what is left of it afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chela_core::{Host, lock, ok_or_debug};
use chela_guard::ExternalSource;
use chela_sandbox::{
    BareCommand, Cgroup, CommandRecord, FamilyWatch, HELPER_COMMAND, HelperOrder, MARK,
    ProcessFamily, SandboxPlan,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::spool::OutputSpool;

/// What printed more than this is stopped.
const MOST_OUTPUT: u64 = 4 << 30;
/// Between being asked to end and being ended.
const GRACE: Duration = Duration::from_millis(1_500);
/// After a command ended, output that is still on its way is waited for this long.
const DRAIN: Duration = Duration::from_millis(300);
/// How soon and how often its processes are counted.
const FIRST_COUNT: Duration = Duration::from_millis(50);
const COUNT_EVERY: Duration = Duration::from_millis(500);
/// How often it is said that it still runs.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// Where limits are narrow, more often.
const COUNT_CLOSELY: Duration = Duration::from_millis(100);

/// How a program talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandChannel {
    /// Nothing to read, output through a pipe.
    Pipe,
    /// Input and output through pipes.
    PipeWithInput,
    /// A terminal of its own.
    Terminal,
}

/// A program about to be started.
#[derive(Debug, Clone)]
pub struct CommandLaunch {
    /// As people read it.
    pub command: String,
    /// The very file to run.
    pub program: PathBuf,
    /// What it is told its name is.
    pub name: OsString,
    pub arguments: Vec<OsString>,
    pub folder: PathBuf,
    pub env: BTreeMap<String, String>,
    pub talk: CommandChannel,
    pub timeout: Duration,
    /// Set when what it prints comes from another machine.
    pub fetches: Option<ExternalSource>,
    pub watch: FamilyWatch,
    /// What the kernel counts it by.
    pub group: Option<Arc<Cgroup>>,
    pub walls: CommandWalls,
}

/// What keeps a command from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandWalls {
    /// Nothing: it may do what the owner may.
    None,
    /// A sandbox without network.
    Sealed,
    /// A sandbox that can reach some hosts.
    WithNetwork,
}

impl CommandLaunch {
    /// The same program, started inside a sandbox. `egress` is the socket of its proxy.
    pub fn inside(self, plan: &SandboxPlan, egress: Option<&Path>) -> Result<Self, String> {
        let wrapped = plan.wrap(
            &BareCommand {
                program: &self.program,
                name: &self.name,
                arguments: &self.arguments,
                folder: &self.folder,
                timeout: self.timeout,
            },
            egress,
        )?;
        Ok(Self {
            program: wrapped.program,
            name: wrapped.name,
            arguments: wrapped.arguments,
            watch: wrapped.watch,
            group: wrapped.group,
            walls: match egress {
                None => CommandWalls::Sealed,
                Some(_) => CommandWalls::WithNetwork,
            },
            ..self
        })
    }
}

impl CommandLaunch {
    /// The same program, which ends when this one does, even if that is killed. A sandbox sees to
    /// that by itself. The kernel looks at the thread that starts a command: where that is not the
    /// first one, which lives as long as the program, it would end too soon.
    #[cfg(target_os = "linux")]
    fn tied(self, host: &Host) -> Self {
        let is_first = rustix::thread::gettid() == rustix::process::getpid();
        let (CommandWalls::None, true, Some(helper)) = (self.walls, is_first, &host.program) else {
            return self;
        };
        let order = HelperOrder::tie(self.name.to_string_lossy().into_owned());
        let Some(order) = ok_or_debug!(serde_json::to_string(&order), "a command is not tied")
        else {
            return self;
        };
        let mut arguments = vec![HELPER_COMMAND.into(), order.into(), self.program.into()];
        arguments.extend(self.arguments);
        Self {
            program: helper.clone(),
            name: "chela".into(),
            arguments,
            ..self
        }
    }

    /// No other system can say this of a process.
    #[cfg(not(target_os = "linux"))]
    fn tied(self, _: &Host) -> Self {
        self
    }
}

/// How often a command's processes are counted.
fn count_every(watch: FamilyWatch) -> Duration {
    match watch.memory {
        Some(_) => COUNT_CLOSELY,
        None => COUNT_EVERY,
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    Code(i32),
    Signal(i32),
    TimedOut,
    Stopped,
    TooMuchOutput,
    TooManyProcesses,
    TooMuchMemory,
    Lost(String),
}

impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Stopped => f.write_str("stopped"),
            Self::TooMuchOutput => f.write_str("too much output"),
            Self::TooManyProcesses => f.write_str("too many processes"),
            Self::TooMuchMemory => f.write_str("too much memory"),
            Self::Lost(why) => write!(f, "lost: {why}"),
        }
    }
}

/// A command that runs or ran.
#[derive(Debug)]
pub struct CommandJob {
    pub id: String,
    pub command: String,
    pub pid: u32,
    pub fetches: Option<ExternalSource>,
    pub walls: CommandWalls,
    pub started: Instant,
    family: ProcessFamily,
    pub(super) watched: FamilyWatch,
    group: Option<Arc<Cgroup>>,
    /// By which what it starts is known, whatever that does to hide it.
    record: Mutex<Option<CommandRecord>>,
    spool: Mutex<OutputSpool>,
    /// Bytes a caller has been shown.
    seen: Mutex<u64>,
    input: tokio::sync::Mutex<Option<Input>>,
    stop: Notify,
    state: watch::Sender<JobState>,
    /// Whether it went on in the background, where nobody has seen all it printed.
    pub(super) in_background: AtomicBool,
    /// Whether its output is kept beyond this process.
    pub(super) is_kept: AtomicBool,
}

/// Changes whenever something is printed or it ends.
#[derive(Debug, Clone, Default)]
pub struct JobState {
    pub printed: u64,
    pub ended: Option<CommandEnd>,
    /// Processes it left behind, which were ended.
    pub left_behind: usize,
    pub ended_at: Option<Instant>,
}

type Source = Box<dyn AsyncRead + Send + Unpin>;
type InputPipe = Box<dyn AsyncWrite + Send + Unpin>;

struct Input(InputPipe);

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input")
    }
}

impl CommandJob {
    /// Starts a program and a task that follows it.
    pub fn start(
        host: &Host,
        id: String,
        mark: &str,
        launch: CommandLaunch,
        spool: OutputSpool,
    ) -> io::Result<Arc<Self>> {
        let launch = launch.tied(host);
        let (child, source, input) = spawn(&launch, mark)?;
        let pid = child.id().unwrap_or_default();
        let record = CommandRecord::begin(host, pid, mark);
        let family = ProcessFamily::new(pid, mark).ok_or(io::ErrorKind::NotFound)?;
        let job = Arc::new(Self {
            id,
            command: launch.command,
            pid,
            fetches: launch.fetches,
            walls: launch.walls,
            started: Instant::now(),
            family,
            watched: launch.watch,
            group: launch.group,
            record: Mutex::new(record),
            spool: Mutex::new(spool),
            seen: Mutex::new(0),
            input: tokio::sync::Mutex::new(input.map(Input)),
            stop: Notify::new(),
            state: watch::Sender::new(JobState::default()),
            in_background: AtomicBool::new(false),
            is_kept: AtomicBool::new(false),
        });
        tracing::info!(id = job.id, pid, "a command runs");
        let deadline = job.started + launch.timeout;
        tokio::spawn(follow(Arc::clone(&job), child, source, deadline));
        Ok(job)
    }

    pub fn state(&self) -> JobState {
        self.state.borrow().clone()
    }

    pub fn watch(&self) -> watch::Receiver<JobState> {
        self.state.subscribe()
    }

    /// Waits until it has ended.
    pub async fn ended(&self) -> CommandEnd {
        let mut watch = self.watch();
        match watch.wait_for(|state| state.ended.is_some()).await {
            Ok(state) => state.ended.clone().unwrap_or(CommandEnd::Stopped),
            Err(_) => CommandEnd::Stopped,
        }
    }

    pub fn spool(&self) -> MutexGuard<'_, OutputSpool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was printed since the last time this was asked, at most its last `most` bytes.
    pub fn news(&self, most: usize) -> super::spool::OutputPart {
        let mut spool = self.spool();
        spool.settle();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (*seen).max(spool.total().saturating_sub(most as u64));
        let mut part = spool.read(from, most);
        part.lost += from - *seen;
        *seen = spool.total();
        part
    }

    /// Whether [`CommandJob::news`] has something.
    pub fn has_news(&self) -> bool {
        let total = self.spool().total();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) < total
    }

    /// Writes to its input.
    pub async fn write(&self, text: &[u8]) -> io::Result<()> {
        let mut input = self.input.lock().await;
        let Some(Input(pipe)) = input.as_mut() else {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        };
        pipe.write_all(text).await?;
        pipe.flush().await
    }

    /// Ends its input.
    pub async fn close_input(&self) {
        self.input.lock().await.take();
    }

    /// Asks it to end, and ends it when it does not.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Ends it and all it started, at once. For callers that cannot wait.
    pub fn end_now(&self) {
        if self.state.borrow().ended.is_none() {
            self.end_all();
            self.stop.notify_one();
        }
    }

    /// Ends it and all it started, and says how many there were besides it.
    fn end_all(&self) -> usize {
        let ended = self.family.end(self.watched.leader);
        if let Some(group) = &self.group {
            group.end();
        }
        ended
    }

    /// What is too much now.
    fn exceeded(&self) -> Option<CommandEnd> {
        // What the kernel counts need not be counted again.
        if self.group.is_some() {
            return self.ran_out_of_memory();
        }
        if self.family.count() > self.watched.processes {
            return Some(CommandEnd::TooManyProcesses);
        }
        self.watched
            .memory
            .is_some_and(|most| self.family.holds_more_than(most))
            .then_some(CommandEnd::TooMuchMemory)
    }

    fn ran_out_of_memory(&self) -> Option<CommandEnd> {
        let group = self.group.as_ref()?;
        group
            .ran_out_of_memory()
            .then_some(CommandEnd::TooMuchMemory)
    }

    fn finish(&self, ended: CommandEnd, left_behind: usize) {
        if let Some(mut record) = lock(&self.record).take() {
            record.end();
        }
        self.state.send_modify(|state| {
            if state.ended.is_none() {
                tracing::info!(id = self.id, %ended, left_behind, "a command ended");
                state.ended = Some(ended);
                state.left_behind = left_behind;
                state.ended_at = Some(Instant::now());
            }
        });
    }
}

fn spawn(launch: &CommandLaunch, mark: &str) -> io::Result<(Child, Source, Option<InputPipe>)> {
    match launch.talk {
        CommandChannel::Terminal => in_terminal(launch, mark),
        CommandChannel::Pipe | CommandChannel::PipeWithInput => with_pipes(launch, mark),
    }
}

/// One pipe for output and errors keeps them in the order they were printed.
fn with_pipes(
    launch: &CommandLaunch,
    mark: &str,
) -> io::Result<(Child, Source, Option<InputPipe>)> {
    let (reader, writer) = io::pipe()?;
    let mut command = tokio::process::Command::new(&launch.program);
    command
        .arg0(&launch.name)
        .args(&launch.arguments)
        .current_dir(&launch.folder)
        .env_clear()
        .envs(&launch.env)
        .env(MARK, mark)
        .process_group(0)
        .kill_on_drop(true)
        .stdin(match launch.talk {
            CommandChannel::PipeWithInput => Stdio::piped(),
            _ => Stdio::null(),
        })
        .stderr(writer.try_clone()?)
        .stdout(writer);
    let mut child = command.spawn()?;
    // The command holds our end of the pipe for writing; output ends only without it.
    drop(command);
    let source = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
    let input = child.stdin.take().map(|input| Box::new(input) as InputPipe);
    Ok((child, Box::new(source), input))
}

fn in_terminal(
    launch: &CommandLaunch,
    mark: &str,
) -> io::Result<(Child, Source, Option<InputPipe>)> {
    let (terminal, other_end) = pty_process::open().map_err(io::Error::other)?;
    terminal
        .resize(pty_process::Size::new(30, 120))
        .map_err(io::Error::other)?;
    let child = pty_process::Command::new(&launch.program)
        .arg0(&launch.name)
        .args(&launch.arguments)
        .current_dir(&launch.folder)
        .env_clear()
        .envs(&launch.env)
        .env(MARK, mark)
        .kill_on_drop(true)
        .spawn(other_end)
        .map_err(io::Error::other)?;
    let (source, input) = terminal.into_split();
    Ok((child, Box::new(source), Some(Box::new(input))))
}

/// Ends a command whose follower is dropped, as when the program ends.
struct EndWithFollower(Arc<CommandJob>);

impl Drop for EndWithFollower {
    fn drop(&mut self) {
        self.0.end_now();
        self.0.finish(CommandEnd::Stopped, 0);
    }
}

/// Reads what it prints until it ends, and sees to it that it ends in time.
async fn follow(job: Arc<CommandJob>, mut child: Child, mut source: Source, deadline: Instant) {
    let job = EndWithFollower(job);
    let job = &job.0;
    let mut buffer = vec![0; 64 * 1024];
    let mut count_at = Instant::now() + FIRST_COUNT;
    let mut renew_at = Instant::now() + RENEW_EVERY;
    let mut why: Option<CommandEnd> = None;
    let mut end_by = deadline;
    let mut status: Option<io::Result<ExitStatus>> = None;
    let mut left_behind = 0;
    let mut more = true;
    while more || status.is_none() {
        let wake = if status.is_some() {
            end_by
        } else {
            end_by.min(count_at)
        };
        tokio::select! {
            read = source.read(&mut buffer), if more => match read {
                Ok(0) => more = false,
                // A terminal ends this way.
                Err(error) => {
                    tracing::debug!(id = job.id, %error, "no more is read of what a command prints");
                    more = false;
                }
                Ok(length) => {
                    let printed = {
                        let mut spool = job.spool();
                        spool.push(buffer.get(..length).unwrap_or_default());
                        spool.total()
                    };
                    job.state.send_modify(|state| state.printed = printed);
                    if printed > MOST_OUTPUT && why.is_none() {
                        why = Some(CommandEnd::TooMuchOutput);
                        job.end_all();
                    }
                }
            },
            ended = child.wait(), if status.is_none() => {
                why = why.or_else(|| job.ran_out_of_memory());
                let failed = ended.as_ref().is_ok_and(|status| !status.success());
                let at_limit = failed && job.group.is_none() && job.family.is_at_limit();
                left_behind = job.end_all();
                // A shell that is refused another process ends with a code that says nothing.
                if at_limit && left_behind * 2 > job.watched.processes {
                    why.get_or_insert(CommandEnd::TooManyProcesses);
                }
                status = Some(ended);
                end_by = Instant::now() + DRAIN;
            }
            () = job.stop.notified(), if status.is_none() && why.is_none() => {
                why = Some(CommandEnd::Stopped);
                job.family.ask_to_end();
                end_by = Instant::now() + GRACE;
            }
            () = sleep_until(wake) => {
                if Instant::now() >= renew_at {
                    renew_at = Instant::now() + RENEW_EVERY;
                    if let Some(record) = lock(&job.record).as_mut() {
                        record.renew();
                    }
                }
                if Instant::now() < end_by {
                    count_at = Instant::now() + count_every(job.watched);
                    if let Some(exceeded) = job.exceeded() {
                        why.get_or_insert(exceeded);
                        job.end_all();
                    }
                } else if status.is_some() {
                    more = false;
                } else if why.is_none() {
                    why = Some(CommandEnd::TimedOut);
                    job.family.ask_to_end();
                    end_by = Instant::now() + GRACE;
                } else {
                    job.end_all();
                    end_by = Instant::now() + GRACE;
                }
            }
        }
    }
    let ended = why.unwrap_or_else(|| match status {
        Some(Ok(status)) => how(status),
        Some(Err(error)) => CommandEnd::Lost(error.to_string()),
        None => CommandEnd::Stopped,
    });
    let printed = {
        let mut spool = job.spool();
        spool.finish();
        spool.total()
    };
    job.state.send_modify(|state| state.printed = printed);
    job.finish(ended, left_behind);
}

fn how(status: ExitStatus) -> CommandEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Code(code),
        (None, Some(signal)) => CommandEnd::Signal(signal),
        (None, None) => CommandEnd::Lost("it ended without a status".to_owned()),
    }
}
