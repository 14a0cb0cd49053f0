//! What `/proc` tells of a process.

use super::{CALLER, MOST_ANCESTORS, PROGRAM, TICKS};
use crate::family::{MARK, ProcessKin, read_kernel_file, relative};
use std::collections::BTreeMap;

/// The process and those above it, the nearest first.
pub(super) fn ancestry(own: i32) -> Vec<(i32, ProcessKin)> {
    let look = |pid: i32| {
        (pid > 1)
            .then(|| relative(pid))
            .flatten()
            .map(|it| (pid, it))
    };
    std::iter::successors(look(own), |(_, it)| look(it.parent))
        .take(MOST_ANCESTORS)
        .collect()
}

pub(super) fn carries_mark(pid: i32) -> bool {
    read_kernel_file(&format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ.split(|byte| *byte == 0).any(|variable| {
            let name = variable
                .split(|byte| *byte == b'=')
                .next()
                .unwrap_or_default();
            name == CALLER.as_bytes() || name == MARK.as_bytes()
        })
    })
}

/// Whether a process is this program: nothing but commands of agents comes from one. It hides its
/// memory, and with that its file; its name stays.
pub(super) fn is_program(pid: i32) -> bool {
    match std::fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(file) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.strip_suffix(" (deleted)").unwrap_or(&name) == PROGRAM
        }
        Err(_) => name_of(pid).is_some_and(|name| name == PROGRAM),
    }
}

/// Whether orphans come to a process: the first one of the system or of a user's session.
pub(super) fn is_reaper(pid: i32) -> bool {
    pid == 1 || (pid > 1 && name_of(pid).is_some_and(|name| name == "systemd"))
}

fn name_of(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

pub(super) fn groups_of(pid: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}

pub(super) fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Ticks since boot, as births are counted.
pub(super) fn now() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, rest) = text.split_whitespace().next()?.split_once('.')?;
    let hundredths: u64 = rest.parse().ok()?;
    Some(seconds.parse::<u64>().ok()? * TICKS + hundredths)
}

pub(super) fn descends(pid: i32, from: i32, all: &BTreeMap<i32, ProcessKin>) -> bool {
    let parent = |pid: &i32| {
        all.get(pid)
            .map(|it| it.parent)
            .filter(|parent| *parent > 1)
    };
    std::iter::successors(Some(pid), parent)
        .take(MOST_ANCESTORS)
        .any(|above| above == from)
}

/// The words a process was started with, in one short line.
pub(super) fn shown(pid: i32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&words).replace(['\0', '\n'], " ");
    let text: String = text.trim().chars().take(120).collect();
    match text.is_empty() {
        true => format!("process {pid}"),
        false => format!("{text} (process {pid})"),
    }
}
