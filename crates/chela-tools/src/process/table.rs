//! The commands of one session.

use chela_core::lock;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_core::secret::Redactor;
use chela_core::{Host, ok_or_warn};
use tokio::sync::Notify;

use super::job::{CommandEnd, CommandJob, CommandLaunch};
use super::kept::KeptCommands;
use super::spool::OutputSpool;

/// Of each command so many bytes of output are kept in a file.
const MOST_IN_FILE: u64 = 64 << 20;
/// Commands of a session that run at the same time.
const MOST_AT_ONCE: usize = 64;

/// How the commands of a session are kept.
#[derive(Debug, Clone)]
pub struct ProcessesSetup {
    pub host: Host,
    /// Folder for output that is too long for memory.
    pub spool_dir: PathBuf,
    /// Finished commands are forgotten after this long.
    pub keep_finished: Duration,
    pub notices: EndNotices,
    /// Most bytes of output shown at once.
    pub most_shown: usize,
    /// Takes secrets out of what they print.
    pub redactor: Arc<Redactor>,
}

/// Which commands that end in the background are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndNotices {
    None,
    /// Not those that ended well and printed nothing.
    Noteworthy,
    All,
}

/// The commands of one session. When the last handle goes, so do they.
#[derive(Debug, Clone)]
pub struct SessionProcesses(Arc<Table>);

#[derive(Debug)]
struct Table {
    setup: ProcessesSetup,
    kept: KeptCommands,
    jobs: Mutex<BTreeMap<u64, Arc<CommandJob>>>,
    next: AtomicU64,
    finished: Mutex<VecDeque<Arc<CommandJob>>>,
    news: Notify,
}

impl Drop for Table {
    fn drop(&mut self) {
        for job in lock(&self.jobs).values() {
            job.end_now();
            keep_promised(&self.kept, job, self.setup.most_shown);
        }
    }
}

/// Keeps what a result promised of a command: what did not fit into it, or came after it. What
/// cannot be kept is told to be gone when it is asked for.
fn keep_promised(kept: &KeptCommands, job: &CommandJob, most_shown: usize) {
    let printed = job.spool().total();
    let promised = printed > most_shown as u64 || job.in_background.load(Ordering::Relaxed);
    if printed > 0 && promised && !job.is_kept.swap(true, Ordering::Relaxed) {
        ok_or_warn!(
            kept.keep(job),
            "what a command printed is not kept",
            id = job.id
        );
    }
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{MOST_AT_ONCE} commands are running; end some with `process` first")]
    TooMany,
    #[error("{program} could not be started: {error}")]
    Start { program: String, error: io::Error },
}

impl SessionProcesses {
    pub fn new(setup: ProcessesSetup) -> Self {
        chela_sandbox::forget_old_commands(&setup.host);
        Self(Arc::new(Table {
            kept: KeptCommands::new(&setup.spool_dir),
            setup,
            jobs: Mutex::default(),
            next: AtomicU64::new(1),
            finished: Mutex::default(),
            news: Notify::new(),
        }))
    }

    pub fn setup(&self) -> &ProcessesSetup {
        &self.0.setup
    }

    pub fn start(&self, launch: CommandLaunch) -> Result<Arc<CommandJob>, StartError> {
        self.forget_old();
        let running = self.jobs().iter().filter(|job| is_running(job)).count();
        if running >= MOST_AT_ONCE {
            return Err(StartError::TooMany);
        }
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mark = self.mark();
        let id = self.0.kept.next_id(&self.0.setup.host);
        let file = self.0.kept.output_file(&id);
        let spool = OutputSpool::new(file, MOST_IN_FILE, &self.0.setup.redactor);
        let program = launch.program.display().to_string();
        let job = CommandJob::start(&self.0.setup.host, id, &mark, launch, spool)
            .map_err(|error| StartError::Start { program, error })?;
        let (kept, most_shown) = (self.0.kept.clone(), self.0.setup.most_shown);
        let ending = Arc::clone(&job);
        tokio::spawn(async move {
            ending.ended().await;
            keep_promised(&kept, &ending, most_shown);
        });
        lock(&self.0.jobs).insert(number, Arc::clone(&job));
        Ok(job)
    }

    /// The owner is told when this command ends, not the one who started it.
    pub fn to_background(&self, job: &Arc<CommandJob>) {
        job.in_background.store(true, Ordering::Relaxed);
        let notices = self.0.setup.notices;
        if notices == EndNotices::None {
            return;
        }
        let (table, job) = (Arc::downgrade(&self.0), Arc::clone(job));
        tokio::spawn(async move {
            let ended = job.ended().await;
            let dull = ended == CommandEnd::Code(0) && job.spool().total() == 0;
            if notices == EndNotices::Noteworthy && dull {
                return;
            }
            if let Some(table) = table.upgrade() {
                lock(&table.finished).push_back(job);
                table.news.notify_one();
            }
        });
    }

    /// Commands that ended in the background since this was last asked.
    pub fn finished(&self) -> Vec<FinishedCommand> {
        let done: Vec<_> = lock(&self.0.finished).drain(..).collect();
        done.iter()
            .map(|job| FinishedCommand::of(job, &self.0.setup))
            .collect()
    }

    /// What [`SessionProcesses::finished`] would tell of, for people.
    pub fn untold(&self) -> Vec<String> {
        let finished = lock(&self.0.finished);
        let line = |job: &Arc<CommandJob>| {
            let command = chela_core::sanitize::literal(&job.command);
            let command: String = command.chars().take(80).collect();
            let ended = super::report::status(job);
            format!("{} `{command}` {ended}", job.id)
        };
        finished.iter().map(line).collect()
    }

    /// Waits until [`SessionProcesses::finished`] has something to say.
    pub async fn wait_finished(&self) {
        while lock(&self.0.finished).is_empty() {
            self.0.news.notified().await;
        }
    }

    /// All commands, the oldest first.
    pub fn jobs(&self) -> Vec<Arc<CommandJob>> {
        lock(&self.0.jobs).values().cloned().collect()
    }

    /// What is known of commands of earlier processes.
    pub fn kept(&self) -> &KeptCommands {
        &self.0.kept
    }

    pub fn job(&self, id: &str) -> Option<Arc<CommandJob>> {
        self.jobs().into_iter().find(|job| job.id == id)
    }

    /// Forgets a command that has ended. Says whether it did.
    pub fn forget(&self, id: &str) -> bool {
        let mut jobs = lock(&self.0.jobs);
        let before = jobs.len();
        jobs.retain(|_, job| job.id != id || is_running(job));
        let gone = jobs.len() < before;
        if gone {
            self.0.kept.forget(id);
        }
        gone
    }

    /// Whether any command is still running.
    pub fn any_running(&self) -> bool {
        self.jobs().iter().any(|job| is_running(job))
    }

    /// Ends every command and all they started, at once: the session is over.
    pub fn end_all(&self) {
        for job in self.jobs() {
            job.end_now();
        }
    }

    /// Known to no other command, of this program or another.
    fn mark(&self) -> String {
        static COMMANDS: AtomicU64 = AtomicU64::new(1);
        let random = self.0.setup.host.random_hex(8);
        let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
        format!("{random}-{}-{number}", std::process::id())
    }

    fn forget_old(&self) {
        let keep = self.0.setup.keep_finished;
        lock(&self.0.jobs).retain(|_, job| {
            job.state()
                .ended_at
                .is_none_or(|ended| ended.elapsed() < keep)
        });
    }
}

/// A command that ended in the background.
#[derive(Debug, Clone)]
pub struct FinishedCommand {
    pub id: String,
    pub command: String,
    pub ended: CommandEnd,
    /// How it ended, for the model.
    pub status: String,
    /// The end of what it printed.
    pub output: chela_guard::LabelledText,
}

impl FinishedCommand {
    /// Of a notice the last bytes are enough; `process log` has the rest.
    const MOST_SHOWN: usize = 2_000;

    fn of(job: &Arc<CommandJob>, setup: &ProcessesSetup) -> Self {
        let bytes = job.spool().end(Self::MOST_SHOWN).bytes;
        Self {
            id: job.id.clone(),
            command: job.command.clone(),
            ended: job.state().ended.unwrap_or(CommandEnd::Stopped),
            status: super::report::status(job),
            output: super::report::labelled(job, &super::plain::plain(&bytes), &job.id, setup),
        }
    }
}

pub fn is_running(job: &CommandJob) -> bool {
    job.state().ended.is_none()
}
