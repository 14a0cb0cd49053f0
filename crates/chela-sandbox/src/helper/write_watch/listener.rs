//! The filter whose calls wait for an answer, and the answering. The kernel has no other way to
//! this than three calls that no library here makes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use seccompiler::{BpfProgram, sock_filter};

use super::call_path::watched_calls;

const SET_MODE_FILTER: libc::c_ulong = 1;
/// The call gives a file from which the calls are read.
const NEW_LISTENER: libc::c_ulong = 1 << 3;
/// Only its own end disturbs a call that was read (Linux 5.19).
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// What the filter says of a call that waits.
const ASK: u32 = 0x7fc0_0000;
const TRAP: u32 = 0x0003_0000;
const RETURN: u16 = 0x06;
/// The answer that lets a call go on as it was made.
const CONTINUE: u32 = 1;
/// `_IOWR('!', 0, 80)` and `_IOWR('!', 1, 24)`.
const RECEIVE: u64 = 0xc050_2100;
const SEND: u64 = 0xc018_2101;

/// So many calls in a row are broken off before they are read only when nobody is left.
const MOST_BROKEN_OFF: usize = 100_000;

/// A call that waits, as the kernel tells of it.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct CallNotice {
    id: u64,
    /// The thread that makes it.
    pub pid: u32,
    flags: u32,
    pub number: i32,
    arch: u32,
    instruction: u64,
    pub arguments: [u64; 6],
}

#[repr(C)]
struct CallAnswer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[derive(Debug)]
pub(super) struct CallListener(OwnedFd);

impl CallListener {
    /// Puts this thread, and all it starts, under the filter.
    pub(super) fn install() -> Result<Self, String> {
        let program = asking_filter()?;
        [WAIT_KILLABLE | NEW_LISTENER, NEW_LISTENER]
            .into_iter()
            .map(|flags| install_filter(&program, flags))
            .find_map(Result::ok)
            .map(Self)
            .ok_or_else(|| io::Error::last_os_error().to_string())
    }

    /// The next call that waits; `None` when nobody is left to make one.
    pub(super) fn next(&self) -> Option<CallNotice> {
        for _ in 0..MOST_BROKEN_OFF {
            let mut notice = CallNotice::default();
            #[expect(unsafe_code, reason = "no library reads calls that wait")]
            // SAFETY: the request writes one such struct, which lives until the call returns.
            let read = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut notice) };
            if read == 0 {
                return Some(notice);
            }
            match io::Error::last_os_error().raw_os_error() {
                // Broken off before it was read.
                Some(libc::EINTR | libc::ENOENT) => {}
                _ => return None,
            }
        }
        None
    }

    /// Lets a call go on as if nobody had looked.
    pub(super) fn go_on(&self, notice: &CallNotice) {
        let answer = CallAnswer {
            id: notice.id,
            value: 0,
            error: 0,
            flags: CONTINUE,
        };
        #[expect(unsafe_code, reason = "no library answers calls that wait")]
        // SAFETY: the request reads one such struct, which lives until the call returns. It fails
        // for a call that is gone, and nothing is left to do then.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, &raw const answer) };
    }
}

/// The filter as it is made for a library that knows no waiting calls: what it would trap waits.
fn asking_filter() -> Result<BpfProgram, String> {
    let mut program = watched_calls()?;
    for step in &mut program {
        if step.code == RETURN && step.k == TRAP {
            step.k = ASK;
        }
    }
    Ok(program)
}

fn install_filter(program: &[sock_filter], flags: libc::c_ulong) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct FilterProgram {
        length: libc::c_ushort,
        steps: *const sock_filter,
    }
    let length = libc::c_ushort::try_from(program.len());
    let program = FilterProgram {
        length: length.map_err(io::Error::other)?,
        steps: program.as_ptr(),
    };
    #[expect(unsafe_code, reason = "no library takes a filter with a listener")]
    // SAFETY: the kernel copies the program, which outlives the call, and gives a new descriptor
    // that nobody else has.
    unsafe {
        let made = libc::syscall(
            libc::SYS_seccomp,
            SET_MODE_FILTER,
            flags,
            &raw const program,
        );
        match i32::try_from(made) {
            Ok(made) if made >= 0 => Ok(OwnedFd::from_raw_fd(made)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
