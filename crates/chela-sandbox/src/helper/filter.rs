//! Which system calls a sandboxed command may make.
//!
//! A list of what is refused, not of what is allowed: commands are whatever people use. Calls
//! newer than this list are answered as if the kernel did not know them, and so are those of
//! the other calling conventions of a processor, so that nothing slips past by number.

use std::collections::BTreeMap;

use libc::{
    SYS_acct, SYS_add_key, SYS_adjtimex, SYS_bpf, SYS_chroot, SYS_clock_adjtime, SYS_clock_settime,
    SYS_clone, SYS_clone3, SYS_delete_module, SYS_fanotify_init, SYS_finit_module, SYS_fsconfig,
    SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_init_module, SYS_io_uring_enter,
    SYS_io_uring_register, SYS_io_uring_setup, SYS_ioctl, SYS_ioprio_set, SYS_kcmp, SYS_kexec_load,
    SYS_keyctl, SYS_kill, SYS_memfd_create, SYS_memfd_secret, SYS_migrate_pages, SYS_mount,
    SYS_mount_setattr, SYS_move_mount, SYS_move_pages, SYS_name_to_handle_at,
    SYS_open_by_handle_at, SYS_open_tree, SYS_perf_event_open, SYS_personality, SYS_pidfd_getfd,
    SYS_pidfd_send_signal, SYS_pivot_root, SYS_prlimit64, SYS_process_madvise,
    SYS_process_mrelease, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_quotactl,
    SYS_quotactl_fd, SYS_reboot, SYS_request_key, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler,
    SYS_setdomainname, SYS_sethostname, SYS_setns, SYS_setpriority, SYS_settimeofday, SYS_shmget,
    SYS_socket, SYS_socketpair, SYS_swapoff, SYS_swapon, SYS_syslog, SYS_tgkill, SYS_tkill,
    SYS_umount2, SYS_unshare, SYS_userfaultfd, SYS_vhangup,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::order::{AllowedSockets, SignalLimit};

/// Refused: what looks into or changes other processes, mounts, namespaces, keys, the clock or
/// the kernel itself.
const REFUSED: &[i64] = &[
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_migrate_pages,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_reboot,
    SYS_request_key,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
    // statmount, listmount, open_tree_attr: the same numbers on every processor.
    457,
    458,
    467,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Unknown: programs have another way when the kernel does not know these. The flags of clone3
/// cannot be looked at, io_uring does what this filter never sees, and memory without a process
/// it belongs to is counted by nobody.
const UNKNOWN: &[i64] = &[
    SYS_clone3,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_shmget,
];

/// Refused where nothing else keeps signals inside.
const SIGNALS: &[i64] = &[
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_pidfd_send_signal,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
];

/// Files can send signals as well, to whom they are told: F_SETOWN, F_SETSIG, F_SETOWN_EX;
/// FIOSETOWN, SIOCSPGRP.
const SIGNALS_OF_FILES: &[u64] = &[8, 10, 15];
const SIGNALS_OF_SOCKETS: &[u64] = &[0x8901, 0x8902];

/// Refused where Landlock alone stands before the files outside: it does not know of modes,
/// owners and attributes. Times are refused by path: an open file is one that may be reached.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // fchmodat2, setxattrat, removexattrat: the same numbers on every processor.
    452,
    463,
    466,
];
#[cfg(target_arch = "x86_64")]
const ATTRIBUTES_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const ATTRIBUTES_HERE: &[i64] = &[];

/// The last call this list was written for: `removexattrat`.
const LAST_KNOWN: u32 = 466;

/// New namespaces: user, mount, pid, net, ipc, uts, cgroup.
const NEW_NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests that put words into a terminal.
const TERMINAL_INPUT: &[u64] = &[0x5412, 0x541c];

/// Whether processes outside have numbers inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideProcesses {
    Hidden,
    Seen,
}

/// What else stands before the modes, owners and times of files outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeGuard {
    /// Mounts: the files are not there, or read-only.
    Walled,
    /// Nothing, so none are changed.
    Kept,
}

/// What depends on the rest of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterContext {
    pub sockets: AllowedSockets,
    pub signals: SignalLimit,
    pub neighbours: OutsideProcesses,
    pub attributes: AttributeGuard,
    pub processors: ProcessorLimit,
}

/// What keeps a command on its share of the processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorLimit {
    /// The kernel counts, or all may be used.
    Counted,
    /// It was told which ones to use, and may not choose others.
    Fixed,
}

/// Calls that change how another process of the same user runs: its limits, its share of the
/// processor and the disk. For each, the argument and the value that mean oneself.
const ABOUT_OTHERS: &[(i64, &[(u8, u64)])] = &[
    (SYS_prlimit64, &[(0, 0)]),
    (SYS_sched_setaffinity, &[(0, 0)]),
    (SYS_sched_setattr, &[(0, 0)]),
    (SYS_sched_setparam, &[(0, 0)]),
    (SYS_sched_setscheduler, &[(0, 0)]),
    // One process, this one: not a group, not a user.
    (SYS_setpriority, &[(0, 0), (1, 0)]),
    (SYS_ioprio_set, &[(0, 1), (1, 0)]),
];

/// Installs the filter for this process and all it starts.
pub fn install(rest: &FilterContext) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("the sandbox has no filter: {error}");
    let refused = compiled(refusals(rest)?, libc::EPERM)?;
    let unknown = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let mut numbers = by_number();
    numbers.extend(compiled(unknown, libc::ENOSYS)?);
    apply_filter(&refused).map_err(|error| failed(&error))?;
    apply_filter(&numbers).map_err(|error| failed(&error))
}

/// Installs one rule for this process and all it starts, whatever else it may do: nobody types into
/// a terminal in the owner's place. Programs of other conventions of this processor go on working.
pub fn refuse_terminal_input() -> Result<(), String> {
    let Some(program) = terminal_rule() else {
        return Ok(());
    };
    apply_filter(&program).map_err(|error| format!("the command has no filter: {error}"))
}

/// By convention of calls, as the kernel names it, the numbers of `ioctl`.
#[cfg(target_arch = "x86_64")]
const IOCTL: &[(u32, &[u32])] = &[
    (0xc000_003e, &[16, 0x4000_0000 + 514]),
    (0x4000_0003, &[54]),
];
#[cfg(target_arch = "aarch64")]
const IOCTL: &[(u32, &[u32])] = &[(0xc000_00b7, &[29]), (0x4000_0028, &[54])];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const IOCTL: &[(u32, &[u32])] = &[];

fn terminal_rule() -> Option<BpfProgram> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    /// Where the convention stands, and the low half of the second argument.
    const CONVENTION: u32 = 4;
    const REQUEST: u32 = 24;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut program = Vec::new();
    for (convention, numbers) in IOCTL {
        for number in *numbers {
            // Each is by itself: on to the next when one of three does not fit.
            let requests = u8::try_from(TERMINAL_INPUT.len()).ok()?;
            program.push(step(LOAD, 0, 0, CONVENTION));
            program.push(step(JUMP_IF_EQUAL, 0, 4 + requests, *convention));
            program.push(step(LOAD, 0, 0, 0));
            program.push(step(JUMP_IF_EQUAL, 0, 2 + requests, *number));
            program.push(step(LOAD, 0, 0, REQUEST));
            for (left, request) in (0..requests).rev().zip(TERMINAL_INPUT) {
                let past = u8::from(left == 0);
                program.push(step(
                    JUMP_IF_EQUAL,
                    left,
                    past,
                    u32::try_from(*request).ok()?,
                ));
            }
            program.push(step(RETURN, 0, 0, ERRNO | libc::EPERM.cast_unsigned()));
        }
    }
    program.push(step(RETURN, 0, 0, ALLOW));
    (!IOCTL.is_empty()).then_some(program)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn refusals(rest: &FilterContext) -> Result<Rules, String> {
    let mut rules: Rules = REFUSED
        .iter()
        .chain(REFUSED_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    if rest.signals == SignalLimit::Denied {
        rules.extend(SIGNALS.iter().map(|call| (*call, Vec::new())));
    }
    let is = |argument: u8, value: u64| condition(argument, SeccompCmpOp::Eq, value);
    let is_not = |argument: u8, value: u64| condition(argument, SeccompCmpOp::Ne, value);
    if rest.attributes == AttributeGuard::Kept {
        let calls = ATTRIBUTES.iter().chain(ATTRIBUTES_HERE);
        rules.extend(calls.map(|call| (*call, Vec::new())));
        rules.insert(libc::SYS_utimensat, by_path()?);
    }
    if rest.neighbours == OutsideProcesses::Seen {
        for (call, oneself) in ABOUT_OTHERS {
            let others = oneself.iter().map(|(argument, value)| {
                let other = is_not(*argument, *value)?;
                rule(vec![other])
            });
            rules.insert(*call, others.collect::<Result<_, _>>()?);
        }
    }
    if rest.processors == ProcessorLimit::Fixed {
        rules.insert(SYS_sched_setaffinity, Vec::new());
    }
    let mut namespaces = Vec::new();
    for flag in NEW_NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let made = condition(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        namespaces.push(rule(vec![made])?);
    }
    rules.insert(SYS_clone, namespaces);
    let second_is_one_of = |requests: &mut dyn Iterator<Item = &u64>| {
        let rules = requests.map(|request| rule(vec![is(1, *request)?]));
        rules.collect::<Result<Vec<_>, String>>()
    };
    let by_socket: &[u64] = match rest.signals {
        SignalLimit::Denied => {
            let by_file = second_is_one_of(&mut SIGNALS_OF_FILES.iter())?;
            rules.insert(libc::SYS_fcntl, by_file);
            SIGNALS_OF_SOCKETS
        }
        SignalLimit::Fenced => &[],
    };
    let input = second_is_one_of(&mut TERMINAL_INPUT.iter().chain(by_socket))?;
    rules.insert(SYS_ioctl, input);
    // A program may ask for its personality, not take another.
    rules.insert(
        SYS_personality,
        vec![rule(vec![is_not(0, 0xffff_ffff)?, is_not(0, 0)?])?],
    );
    let (unix, inet, inet6) = (
        libc::AF_UNIX as u64,
        libc::AF_INET as u64,
        libc::AF_INET6 as u64,
    );
    let kinds: &[u64] = match rest.sockets {
        AllowedSockets::None => &[],
        AllowedSockets::Local => &[unix, inet, inet6],
    };
    let others: Vec<SeccompCondition> = kinds
        .iter()
        .map(|kind| is_not(0, *kind))
        .collect::<Result<_, _>>()?;
    let refused = match others.is_empty() {
        true => Vec::new(),
        false => vec![rule(others)?],
    };
    rules.insert(SYS_socket, refused);
    rules.insert(SYS_socketpair, vec![rule(vec![is_not(0, unix)?])?]);
    Ok(rules)
}

/// A time that is set by the path of a file. Without one, it is the file that is open.
fn by_path() -> Result<Vec<SeccompRule>, String> {
    let named = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    let named = named.map_err(|error| error.to_string())?;
    Ok(vec![rule(vec![named])?])
}

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
        .map_err(|error| error.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

fn compiled(rules: Rules, errno: i32) -> Result<BpfProgram, String> {
    let processor = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|error| format!("no filter for this processor: {error}"))?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.cast_unsigned()),
        processor,
    )
    .and_then(BpfProgram::try_from)
    .map_err(|error| format!("the filter cannot be made: {error}"))
}

/// Calls above the last known one, which x32 has too: `ENOSYS`.
fn by_number() -> BpfProgram {
    /// Load the word at an offset; 0 is the number of the call.
    const LOAD: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_GREATER, 0, 1, LAST_KNOWN),
        step(RETURN, 0, 0, ERRNO | libc::ENOSYS.cast_unsigned()),
    ]
}
