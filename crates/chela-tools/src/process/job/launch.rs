//! A command to be started: the program, where it runs, what it talks through.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use chela_core::{Host, ok_or_warn};
use chela_guard::ExternalSource;
use chela_sandbox::{BareCommand, Cgroup, FamilyWatch, SandboxPlan, StateFence, WriteRecord};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Child;

/// Below the state folder: notes on what sandboxed commands write, while they run.
const NOTES_FOLDER: &str = "state/command-writes";

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
    /// In a sandbox: the notes on what it writes.
    pub written: Option<Arc<WriteRecord>>,
}

/// What keeps a command from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandWalls {
    /// Nothing: it may do what the owner may.
    None,
    /// It may do what the owner may, but change what Chela keeps.
    Fence,
    /// A sandbox without network.
    Sealed,
    /// A sandbox that can reach some hosts.
    WithNetwork,
}

impl CommandLaunch {
    /// The same program, started inside a sandbox. `egress` is the socket of its proxy.
    pub fn inside(
        self,
        host: &Host,
        plan: &SandboxPlan,
        egress: Option<&Path>,
    ) -> Result<Self, String> {
        let written = WriteRecord::create(&host.state_dir().join(NOTES_FOLDER));
        let written = ok_or_warn!(
            written,
            "what a command writes is not noted: it counts as untrusted"
        );
        let wrapped = plan.wrap(
            &BareCommand {
                program: &self.program,
                name: &self.name,
                arguments: &self.arguments,
                folder: &self.folder,
                timeout: self.timeout,
                written: written.as_ref(),
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
            written: written.map(Arc::new),
            ..self
        })
    }

    /// The same program, kept from what Chela keeps. It ends when this program does, as one without
    /// a fence would.
    pub fn fenced(self, fence: &StateFence) -> Result<Self, String> {
        let name = self.name.to_string_lossy().into_owned();
        let starter = is_first_thread().then(own_number).flatten();
        let (program, arguments) = fence.wrap(name, &self.program, self.arguments, starter)?;
        Ok(Self {
            program,
            name: "chela".into(),
            arguments,
            walls: CommandWalls::Fence,
            ..self
        })
    }

    /// The same program, which ends when this one does, even if that is killed. A sandbox sees to
    /// that by itself. The kernel looks at the thread that starts a command: where that is not the
    /// first one, which lives as long as the program, it would end too soon.
    #[cfg(target_os = "linux")]
    pub(super) fn tied(self, host: &Host) -> Self {
        use chela_core::ok_or_debug;
        use chela_sandbox::{HELPER_COMMAND, HelperOrder};
        let (CommandWalls::None, true, Some(helper)) =
            (self.walls, is_first_thread(), &host.program)
        else {
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
    pub(super) fn tied(self, _: &Host) -> Self {
        self
    }
}

fn own_number() -> Option<i32> {
    i32::try_from(std::process::id()).ok()
}

/// Whether this is the thread that lives as long as the program.
#[cfg(target_os = "linux")]
fn is_first_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

#[cfg(not(target_os = "linux"))]
fn is_first_thread() -> bool {
    false
}

pub(super) type Source = Box<dyn AsyncRead + Send + Unpin>;

pub(super) type InputPipe = Box<dyn AsyncWrite + Send + Unpin>;

#[cfg(unix)]
pub(super) fn spawn(
    launch: &CommandLaunch,
    mark: &str,
) -> io::Result<(Child, Source, Option<InputPipe>)> {
    match launch.talk {
        CommandChannel::Terminal => in_terminal(launch, mark),
        CommandChannel::Pipe | CommandChannel::PipeWithInput => with_pipes(launch, mark),
    }
}

/// A command is ended with all it started, by its process group, and talks through pipes of Unix:
/// neither is built for other systems, and one that cannot be ended is not started.
#[cfg(not(unix))]
pub(super) fn spawn(
    launch: &CommandLaunch,
    _: &str,
) -> io::Result<(Child, Source, Option<InputPipe>)> {
    let program = launch.program.display();
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{program} cannot be run: commands need Linux or macOS"),
    ))
}

/// One pipe for output and errors keeps them in the order they were printed.
#[cfg(unix)]
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
        .env(chela_sandbox::MARK, mark)
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

#[cfg(unix)]
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
        .env(chela_sandbox::MARK, mark)
        .kill_on_drop(true)
        .spawn(other_end)
        .map_err(io::Error::other)?;
    let (source, input) = terminal.into_split();
    Ok((child, Box::new(source), Some(Box::new(input))))
}
