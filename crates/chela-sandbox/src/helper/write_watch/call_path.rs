//! The calls that can make a file another one, and the paths they name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::listener::CallNotice;

const LONGEST_PATH: usize = 4_096;
const RENAME_EXCHANGE: u64 = 2;

/// What a call is about to do.
#[derive(Debug)]
pub(super) enum WatchedCall {
    /// Makes what was not there.
    Made(PathBuf),
    /// Leaves nothing of what was there.
    Replaced(PathBuf),
    /// May leave something of what was there.
    Changed(PathBuf),
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
    Linked {
        from: PathBuf,
        to: PathBuf,
    },
    Swapped(PathBuf, PathBuf),
}

/// How the arguments of a call name files: by numbers of the arguments.
#[derive(Debug, Clone, Copy)]
enum CallShape {
    /// Folder, path, flags.
    Open(Option<usize>, usize, OpenFlags),
    Make(Option<usize>, usize),
    Change(usize),
    Rename(Option<(usize, usize)>, usize, usize, Option<usize>),
    Link(Option<(usize, usize)>, usize, usize),
}

#[derive(Debug, Clone, Copy)]
enum OpenFlags {
    Argument(usize),
    /// The first word of a struct.
    At(usize),
    Create,
}

const AT: &[(i64, CallShape)] = &[
    (
        libc::SYS_openat,
        CallShape::Open(Some(0), 1, OpenFlags::Argument(2)),
    ),
    (
        libc::SYS_openat2,
        CallShape::Open(Some(0), 1, OpenFlags::At(2)),
    ),
    (libc::SYS_mkdirat, CallShape::Make(Some(0), 1)),
    (libc::SYS_mknodat, CallShape::Make(Some(0), 1)),
    (libc::SYS_symlinkat, CallShape::Make(Some(1), 2)),
    (libc::SYS_truncate, CallShape::Change(0)),
    (
        libc::SYS_renameat2,
        CallShape::Rename(Some((0, 2)), 1, 3, Some(4)),
    ),
    (libc::SYS_linkat, CallShape::Link(Some((0, 2)), 1, 3)),
];

#[cfg(target_arch = "x86_64")]
const OLD: &[(i64, CallShape)] = &[
    (
        libc::SYS_open,
        CallShape::Open(None, 0, OpenFlags::Argument(1)),
    ),
    (libc::SYS_creat, CallShape::Open(None, 0, OpenFlags::Create)),
    (libc::SYS_mkdir, CallShape::Make(None, 0)),
    (libc::SYS_mknod, CallShape::Make(None, 0)),
    (libc::SYS_symlink, CallShape::Make(None, 1)),
    (libc::SYS_rename, CallShape::Rename(None, 0, 1, None)),
    (
        libc::SYS_renameat,
        CallShape::Rename(Some((0, 2)), 1, 3, None),
    ),
    (libc::SYS_link, CallShape::Link(None, 0, 1)),
];
#[cfg(target_arch = "aarch64")]
const OLD: &[(i64, CallShape)] = &[(
    libc::SYS_renameat,
    CallShape::Rename(Some((0, 2)), 1, 3, None),
)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD: &[(i64, CallShape)] = &[];

/// A filter that traps these calls, where opening is for writing, and lets all others pass.
pub(super) fn watched_calls() -> Result<BpfProgram, String> {
    let mut rules = BTreeMap::new();
    for (number, shape) in AT.iter().chain(OLD) {
        let when = match shape {
            CallShape::Open(_, _, OpenFlags::Argument(at)) => for_writing(*at)?,
            _ => Vec::new(),
        };
        rules.insert(*number, when);
    }
    let processor = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|error| format!("no filter for this processor: {error}"))?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trap, processor)
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("the filter cannot be made: {error}"))
}

/// Flags with which a file may become another one, each by itself.
const WRITING: [libc::c_int; 4] = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

fn for_writing(argument: usize) -> Result<Vec<SeccompRule>, String> {
    let argument = u8::try_from(argument).map_err(|error| error.to_string())?;
    let flags = WRITING.iter().map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        let op = SeccompCmpOp::MaskedEq(flag);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, flag)
            .and_then(|condition| SeccompRule::new(vec![condition]))
            .map_err(|error| error.to_string())
    });
    flags.collect()
}

/// What a call that waits is about to do to which files; `None` where that cannot be told.
pub(super) fn watched_call(notice: &CallNotice) -> Option<WatchedCall> {
    let caller = Caller::of(notice)?;
    let number = i64::from(notice.number);
    let (_, shape) = AT.iter().chain(OLD).find(|(known, _)| *known == number)?;
    match *shape {
        CallShape::Open(folder, path, flags) => caller.opened(folder, path, flags),
        CallShape::Make(folder, path) => Some(WatchedCall::Made(caller.entry(folder, path)?)),
        CallShape::Change(path) => Some(WatchedCall::Changed(caller.file(None, path)?)),
        CallShape::Rename(folders, from, to, flags) => {
            let from = caller.entry(folders.map(|folders| folders.0), from)?;
            let to = caller.entry(folders.map(|folders| folders.1), to)?;
            let swaps = match flags {
                Some(at) => caller.argument(at)? & RENAME_EXCHANGE != 0,
                None => false,
            };
            Some(match swaps {
                true => WatchedCall::Swapped(from, to),
                false => WatchedCall::Renamed { from, to },
            })
        }
        CallShape::Link(folders, from, to) => {
            let to = caller.entry(folders.map(|folders| folders.1), to)?;
            let named = caller.text(from)?;
            // A file that never had a name: only whoever opened it can have written it.
            if named.as_os_str().is_empty() || named.starts_with("/proc") {
                return Some(WatchedCall::Made(to));
            }
            let from = caller.entry(folders.map(|folders| folders.0), from)?;
            Some(WatchedCall::Linked { from, to })
        }
    }
}

/// The thread whose call waits.
struct Caller<'n> {
    notice: &'n CallNotice,
    memory: std::fs::File,
}

impl<'n> Caller<'n> {
    fn of(notice: &'n CallNotice) -> Option<Self> {
        let memory = std::fs::File::open(format!("/proc/{}/mem", notice.pid)).ok()?;
        Some(Self { notice, memory })
    }

    fn opened(&self, folder: Option<usize>, path: usize, flags: OpenFlags) -> Option<WatchedCall> {
        let flags = match flags {
            OpenFlags::Argument(at) => self.argument(at)?,
            OpenFlags::At(at) => {
                let mut word = [0; 8];
                let address = self.argument(at)?;
                self.memory.read_exact_at(&mut word, address).ok()?;
                u64::from_ne_bytes(word)
            }
            OpenFlags::Create => {
                u64::from((libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC).cast_unsigned())
            }
        };
        let has = |wanted: libc::c_int| {
            let wanted = u64::from(wanted.cast_unsigned());
            flags & wanted == wanted
        };
        if !WRITING.into_iter().any(has) || has(libc::O_TMPFILE) {
            return None;
        }
        Some(
            match (has(libc::O_CREAT) && has(libc::O_EXCL), has(libc::O_TRUNC)) {
                (true, _) => WatchedCall::Made(self.entry(folder, path)?),
                (false, true) => WatchedCall::Replaced(self.file(folder, path)?),
                (false, false) => WatchedCall::Changed(self.file(folder, path)?),
            },
        )
    }

    fn argument(&self, at: usize) -> Option<u64> {
        self.notice.arguments.get(at).copied()
    }

    /// A path as it stands in the memory of the caller.
    fn text(&self, at: usize) -> Option<PathBuf> {
        let mut text = vec![0; LONGEST_PATH];
        let mut length = 0;
        while let Some(room) = text.get_mut(length..).filter(|room| !room.is_empty()) {
            // No further than the page: the next one may not be there.
            let address = self.argument(at)?.checked_add(length as u64)?;
            let left = usize::try_from(4_096 - address % 4_096).ok()?;
            let room = room.get_mut(..left.min(room.len()))?;
            let read = self.memory.read_at(room, address).ok()?;
            let end = room.get(..read)?.iter().position(|byte| *byte == 0);
            if let Some(end) = end {
                text.truncate(length + end);
                return Some(OsString::from_vec(text).into());
            }
            if read == 0 {
                return None;
            }
            length += read;
        }
        None
    }

    /// The entry of a folder that a path names: a link itself, not where it leads.
    fn entry(&self, folder: Option<usize>, path: usize) -> Option<PathBuf> {
        let path = self.whole(folder, path)?;
        let name = path.file_name()?;
        Some(path.parent()?.canonicalize().ok()?.join(name))
    }

    /// The file a path leads to.
    fn file(&self, folder: Option<usize>, path: usize) -> Option<PathBuf> {
        let entry = self.entry(folder, path)?;
        match entry.symlink_metadata() {
            Ok(facts) if facts.is_symlink() => entry.canonicalize().ok(),
            _ => Some(entry),
        }
    }

    fn whole(&self, folder: Option<usize>, path: usize) -> Option<PathBuf> {
        let path = self.text(path)?;
        if path.is_absolute() {
            return Some(path);
        }
        let of_caller = PathBuf::from(format!("/proc/{}", self.notice.pid));
        let number = match folder {
            // The kernel reads the lower half as a number with a sign.
            Some(at) => Some(self.argument(at)? as u32 as i32),
            None => None,
        };
        let folder = match number {
            None | Some(libc::AT_FDCWD) => of_caller.join("cwd"),
            Some(number) => of_caller.join("fd").join(number.to_string()),
        };
        let folder = std::fs::read_link(folder).ok()?;
        (folder.is_absolute() && folder != Path::new("/")).then(|| folder.join(path))
    }
}
