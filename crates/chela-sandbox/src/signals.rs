//! What processes are told by the system.

/// A word to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// To end, when it has put its things in order.
    Terminate,
    /// To go on.
    Continue,
    /// To stand still until it may go on.
    Stop,
    /// To end at once, heard or not.
    Kill,
    /// To start again, where it is the gateway.
    Restart,
}

/// Tells one process. An error where there is none, or none that listens to this user.
pub fn signal_process(pid: i32, signal: ProcessSignal) -> std::io::Result<()> {
    send::to_process(pid, signal)
}

/// Tells all processes of a group, by the number of its leader.
pub fn signal_group(leader: i32, signal: ProcessSignal) -> std::io::Result<()> {
    send::to_group(leader, signal)
}

#[cfg(unix)]
mod send {
    use std::io::{self, ErrorKind};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    use super::ProcessSignal;

    pub(super) fn to_process(pid: i32, signal: ProcessSignal) -> io::Result<()> {
        Ok(kill_process(number(pid)?, of(signal))?)
    }

    pub(super) fn to_group(leader: i32, signal: ProcessSignal) -> io::Result<()> {
        Ok(kill_process_group(number(leader)?, of(signal))?)
    }

    /// 0 and less stand for groups and for everybody.
    fn number(pid: i32) -> io::Result<Pid> {
        let pid = Pid::from_raw(pid).filter(|_| pid > 0);
        pid.ok_or_else(|| ErrorKind::InvalidInput.into())
    }

    fn of(signal: ProcessSignal) -> Signal {
        match signal {
            ProcessSignal::Terminate => Signal::TERM,
            ProcessSignal::Continue => Signal::CONT,
            ProcessSignal::Stop => Signal::STOP,
            ProcessSignal::Kill => Signal::KILL,
            ProcessSignal::Restart => Signal::USR1,
        }
    }
}

#[cfg(not(unix))]
mod send {
    use std::io;

    use super::ProcessSignal;

    pub(super) fn to_process(_: i32, _: ProcessSignal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn to_group(_: i32, _: ProcessSignal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
