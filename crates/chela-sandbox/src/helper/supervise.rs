//! Staying with the command: the way out is kept open, and nothing it starts outlives it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::cgroup;
use crate::family::{MARK, ProcessFamily};
use crate::order::{
    EGRESS_PORT, HELPER_COMMAND, HelperOrder, HelperStage, SandboxNamespaces, WRITES_VARIABLE,
};

use super::write_watch::{NotesFile, start_watched};
use super::{enclose, forward, mounts, namespaces};

/// Runs the command and gives its exit code.
pub fn supervise(
    order: &HelperOrder,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<u8, String> {
    let parent = getppid();
    // Before the walls stand; without notes nothing is known of what the command writes.
    let notes = match &order.notes {
        Some(path) => NotesFile::open(path).ok(),
        None => NotesFile::handed().and_then(Result::ok),
    };
    cgroup::join(&order.groups)?;
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    // Processes whose parent is gone come here, so none gets away.
    set_child_subreaper(Some(getpid()))
        .and_then(|()| match order.walls {
            Some(_) => set_parent_process_death_signal(Some(Signal::TERM)),
            // Bubblewrap has seen to it.
            None => Ok(()),
        })
        .map_err(|error| failed("the sandbox cannot stay with its command", &error))?;
    if order.namespaces == SandboxNamespaces::Own {
        namespaces::enter()
            .map_err(|error| failed("the sandbox has no network of its own", &error))?;
        if let Some(walls) = &order.walls {
            mounts::enter(walls, order.egress.as_deref())?;
        }
    }
    let way_out = match &order.egress {
        Some(proxy) => Some((forward::listen(EGRESS_PORT, proxy)?, proxy.clone())),
        None => None,
    };
    let mut command = match &order.walls {
        // Landlock keeps what is inside from reaching this process, so it stays outside.
        Some(_) => {
            enclose::no_open_files();
            enclose::no_privileges()?;
            within(order, program, arguments)?
        }
        // In the same namespaces as the command, so it gives up as much.
        None => {
            enclose::enclose(order)?;
            let mut command = Command::new(program);
            command.arg0(&order.name).args(arguments);
            command
        }
    };
    command.env_remove(WRITES_VARIABLE);
    // Its memory can neither be read nor written from inside.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| failed("the sandbox cannot hide its memory", &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("the sandbox cannot wait for its command", &error))?;
    let ended = runtime.block_on(async {
        if let Some((listener, proxy)) = way_out {
            tokio::spawn(forward::forward(listener, proxy));
        }
        stay(command, parent, notes).await
    });
    if order.walls.is_some() {
        let mark = std::env::var(MARK).unwrap_or_default();
        let own = u32::try_from(getpid().as_raw_nonzero().get()).unwrap_or_default();
        if let Some(family) = ProcessFamily::new(own, &mark) {
            family.end_followers();
        }
    }
    ended.map_err(|error| format!("{} cannot be run: {error}", program.display()))
}

/// The helper once more, to go inside and become the command.
fn within(order: &HelperOrder, program: &OsStr, arguments: &[OsString]) -> Result<Command, String> {
    let order = HelperOrder {
        stage: HelperStage::Enter,
        ..order.clone()
    };
    let order = serde_json::to_string(&order).map_err(|error| error.to_string())?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(HELPER_COMMAND)
        .arg(order)
        .arg(program)
        .args(arguments);
    Ok(command)
}

/// Waits for the command, and for every orphan that comes here. Signals to the whole group reach
/// the command by themselves and must not end this process before it.
async fn stay(
    mut command: Command,
    parent: Option<Pid>,
    notes: Option<NotesFile>,
) -> io::Result<u8> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut ended = signal(SignalKind::child())?;
    let started = start_watched(notes, move || command.spawn());
    let child = Pid::from_child(&started.ok_or(io::ErrorKind::OutOfMemory)??);
    loop {
        if let Some(code) = reap(child)? {
            return Ok(code);
        }
        tokio::select! {
            _ = ended.recv() => {}
            _ = terminate.recv() => {
                // Whoever started this is gone; nobody is left to end the command.
                if getppid() != parent {
                    kill_process(child, Signal::KILL)?;
                }
            }
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

/// Takes in all who have ended. Gives the command's exit code, as a shell says it, when it is
/// among them.
fn reap(child: Pid) -> io::Result<Option<u8>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                let code = status.exit_status().or(signal).unwrap_or(0);
                return Ok(Some(u8::try_from(code & 0xff).unwrap_or(u8::MAX)));
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
