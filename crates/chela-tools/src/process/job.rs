//! One command while it runs, and what is left of it afterwards.

mod launch;

use std::io;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chela_core::{Host, lock};
use chela_guard::ExternalSource;
use chela_sandbox::{Cgroup, CommandRecord, FamilyWatch, ProcessFamily, WriteRecord};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::spool::OutputSpool;

pub use launch::{CommandChannel, CommandLaunch, CommandWalls};
use launch::{InputPipe, Source, spawn};

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
    /// In a sandbox: the notes on what it writes.
    pub(super) written: Option<Arc<WriteRecord>>,
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
            written: launch.written,
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
        lock(&self.spool)
    }

    /// What was printed since the last time this was asked, at most its last `most` bytes.
    pub fn news(&self, most: usize) -> super::spool::OutputPart {
        let mut spool = self.spool();
        spool.settle();
        let mut seen = lock(&self.seen);
        let from = (*seen).max(spool.total().saturating_sub(most as u64));
        let mut part = spool.read(from, most);
        part.lost += from - *seen;
        *seen = spool.total();
        part
    }

    /// Whether [`CommandJob::news`] has something.
    pub fn has_news(&self) -> bool {
        let total = self.spool().total();
        *lock(&self.seen) < total
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
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    match (status.code(), signal) {
        (Some(code), _) => CommandEnd::Code(code),
        (None, Some(signal)) => CommandEnd::Signal(signal),
        (None, None) => CommandEnd::Lost("it ended without a status".to_owned()),
    }
}
