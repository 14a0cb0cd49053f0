//! Whether a process comes from a command of an agent, whatever the command did to hide that.
//!
//! A command runs as the owner's user, so what it carries in its environment it can drop. What it
//! cannot drop is where it comes from: its ancestors are the command, which is on record by number
//! and start, and the program that started it. Only who has lost all ancestors hides that, a
//! process that was left to the system's first process. Such a one keeps the control group it was
//! born in and the time of its birth: when both fit a command on record, it counts as that
//! command's. What goes through another service of the machine (a user's service manager, cron,
//! another terminal that is sent keys) comes from there, and only a sandbox keeps a command from
//! those. Systems without `/proc` know the environment alone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_debug};
use chela_files::{FileMode, write_file};
use serde::{Deserialize, Serialize};

use super::family::{MARK, Relative, end_processes, relative, relatives};

/// Commands carry this in their environment, so that scripts know who called.
const CALLER: &str = "CHELA_SHELL";
/// The name of the program's file.
const PROGRAM: &str = "chela";
/// The kernel counts births in hundredths of a second, on every processor there is.
const TICKS: u64 = 100;
/// A record whose program is gone covers births up to so long after it was last written.
const RENEWED_WITHIN: u64 = 15 * TICKS;
/// Seconds for which something of a command that has ended may still be on its way to the disk.
const AFTER_END: u64 = 1;
const RUNNING: &str = "running\n";
const ENDED: &str = "ended\n";
/// No chain of processes is longer.
const MOST_ANCESTORS: usize = 128;

/// A command on record, from its start until nothing of it can be left.
#[derive(Debug)]
pub struct CommandRecord {
    file: PathBuf,
    /// Says when a command of this home last ran.
    stamp: PathBuf,
    facts: RecordedCommand,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedCommand {
    /// Numbers of processes mean nothing after the machine was started again.
    boot: String,
    pid: i32,
    born: u64,
    /// The program that started it.
    starter: i32,
    starter_born: u64,
    /// The control groups it was born in, as the kernel writes them.
    groups: String,
    /// When this was last said, in ticks.
    renewed: u64,
    ended: Option<u64>,
    /// What its processes carry in their environment. Empty in records of older versions.
    #[serde(default)]
    mark: String,
    /// The namespace of process numbers it was started in, as the kernel names it.
    #[serde(default)]
    namespace: Option<String>,
}

impl CommandRecord {
    /// Puts a command on record that was just started. Without `/proc` there is nothing to note.
    pub fn begin(host: &Host, pid: u32, mark: &str) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let own = i32::try_from(std::process::id()).ok()?;
        let facts = RecordedCommand {
            boot: boot()?,
            pid,
            born: relative(pid)?.born,
            starter: own,
            starter_born: relative(own)?.born,
            // Its own groups may be narrower; who is left behind is in those of the starter.
            groups: groups_of(own)?,
            renewed: now()?,
            ended: None,
            mark: mark.to_owned(),
            namespace: namespace_of_numbers(own),
        };
        let folder = folder(host);
        ok_or_debug!(
            std::fs::create_dir_all(&folder),
            "commands are not on record"
        )?;
        let record = Self {
            file: folder.join(format!("{pid}-{}.json", facts.born)),
            stamp: stamp_file(host),
            facts,
        };
        record.write();
        record.stamp(RUNNING);
        Some(record)
    }

    /// Says that it still runs; puts it back where somebody took it away.
    pub fn renew(&mut self) {
        self.facts.renewed = now().unwrap_or(self.facts.renewed);
        self.write();
        self.stamp(RUNNING);
    }

    /// It has ended. The record stays as long as somebody it may have left behind lives.
    pub fn end(&mut self) {
        self.facts.ended = now();
        self.stamp(ENDED);
        let all = relatives();
        let is_left = all
            .iter()
            .any(|(pid, it)| self.facts.may_have_left(*pid, it, &all));
        match is_left {
            true => self.write(),
            false => {
                let gone = std::fs::remove_file(&self.file);
                ok_or_debug!(gone, "the record of a command stays");
            }
        }
    }

    fn stamp(&self, what: &str) {
        write_stamp(&self.stamp, what);
    }

    fn write(&self) {
        let written = serde_json::to_vec(&self.facts)
            .map_err(std::io::Error::from)
            .and_then(|text| Ok(write_file(&self.file, &text, FileMode::KeepOrUsual)?));
        ok_or_debug!(written, "a command is not on record");
    }
}

impl RecordedCommand {
    fn is_of(&self, pid: i32, born: u64) -> bool {
        self.pid == pid && self.born == born
    }

    /// Whether a process without ancestors of its own may come from this command.
    fn may_have_left(&self, pid: i32, it: &Relative, all: &BTreeMap<i32, Relative>) -> bool {
        let starter_lives = all
            .get(&self.starter)
            .is_some_and(|starter| starter.born == self.starter_born);
        let until = match (self.ended, starter_lives) {
            (Some(ended), _) => ended,
            (None, true) => u64::MAX,
            (None, false) => self.renewed.saturating_add(RENEWED_WITHIN),
        };
        !it.is_dead
            && (self.born..=until).contains(&it.born)
            && is_reaper(it.parent)
            && groups_of(pid).is_some_and(|groups| groups == self.groups)
    }
}

/// Since when no command of any agent of this home has run, in nanoseconds since 1970. `None` while
/// one is on record: it runs, or somebody it left behind lived on, nobody knows how long. And where
/// that cannot be told at all.
pub fn commands_quiet_since(host: &Host) -> Option<i128> {
    boot()?;
    match std::fs::read_dir(folder(host)) {
        Ok(mut records) => {
            if records.next().is_some() {
                return None;
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    let stamp = stamp_file(host);
    let facts = match std::fs::metadata(&stamp) {
        Ok(facts) => facts,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(0),
        Err(_) => return None,
    };
    let slack = match std::fs::read_to_string(&stamp).ok()?.as_str() {
        ENDED => AFTER_END,
        // Its program died: it ran on for as long as it was not missed.
        _ => RENEWED_WITHIN / TICKS,
    };
    let nanos = i128::from(facts.ctime()) * 1_000_000_000 + i128::from(facts.ctime_nsec());
    Some(nanos + i128::from(slack) * 1_000_000_000)
}

/// How it is known that a process comes from a command of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOrigin {
    /// It carries the mark itself.
    Marked,
    /// A process above it is a command, or the program that starts them.
    Ancestor,
    /// A process above it, or itself, lost its ancestors while a command ran.
    LeftBehind,
}

/// Whether this very process comes from a command of an agent.
pub fn command_origin(host: &Host) -> Option<CommandOrigin> {
    if host.var(CALLER).is_some() || host.var(MARK).is_some() {
        return Some(CommandOrigin::Marked);
    }
    let own = i32::try_from(std::process::id()).ok()?;
    origin_by_ancestors(host, own)
}

/// Whether another process may come from a command of an agent. One that is gone may.
pub fn may_come_from_command(host: &Host, pid: i32) -> bool {
    let own = std::process::id();
    match i32::try_from(own) == Ok(pid) {
        true => false,
        false => {
            relative(pid).is_none_or(|it| it.is_dead)
                || carries_mark(pid)
                || origin_by_ancestors(host, pid).is_some()
        }
    }
}

fn origin_by_ancestors(host: &Host, own: i32) -> Option<CommandOrigin> {
    let chain = ancestry(own);
    let records = ReadRecords::of(host);
    let recorded = &records.commands;
    let is_command = |(pid, it): &(i32, Relative)| {
        recorded.iter().any(|record| record.is_of(*pid, it.born))
            || (*pid != own && (carries_mark(*pid) || is_program(*pid)))
    };
    if chain.iter().any(is_command) {
        return Some(CommandOrigin::Ancestor);
    }
    // In a namespace of its own a process shows no ancestors, or none but those in there: while a
    // command runs that says nothing for it.
    let here = namespace_of_numbers(own);
    let is_elsewhere = |record: &RecordedCommand| {
        let is_other = here.is_some() && record.namespace.is_some() && record.namespace != here;
        record.ended.is_none() && is_other
    };
    let shows_nothing = chain.is_empty() || relative(own).is_none();
    if recorded.iter().any(is_elsewhere) || shows_nothing && records.run_one() {
        return Some(CommandOrigin::LeftBehind);
    }
    // Most homes have no command running, and nobody was left behind.
    let orphan = shows_nothing || chain.iter().any(|(_, it)| is_reaper(it.parent));
    if !orphan {
        return None;
    }
    // Where somebody took the record away, nobody can say who was left behind.
    if records.are_spoiled {
        return Some(CommandOrigin::LeftBehind);
    }
    let all = relatives();
    let running = all
        .iter()
        .filter(|(pid, it)| **pid != own && !it.is_dead && it.parent > 1 && carries_mark(**pid));
    let running: Vec<RecordedCommand> = running
        .filter_map(|(pid, it)| RecordedCommand::seen(*pid, it, &all))
        .collect();
    let left_behind = chain.iter().any(|(pid, it)| {
        let records = recorded.iter().chain(&running);
        records
            .into_iter()
            .any(|record| record.may_have_left(*pid, it, &all))
    });
    left_behind.then_some(CommandOrigin::LeftBehind)
}

impl RecordedCommand {
    /// A command that runs, as it is seen without a record: somebody may have taken that away.
    fn seen(pid: i32, it: &Relative, all: &BTreeMap<i32, Relative>) -> Option<Self> {
        Some(Self {
            boot: String::new(),
            pid,
            born: it.born,
            starter: it.parent,
            starter_born: all.get(&it.parent)?.born,
            groups: groups_of(pid)?,
            renewed: 0,
            ended: None,
            mark: String::new(),
            namespace: None,
        })
    }
}

/// The process and those above it, the nearest first.
fn ancestry(own: i32) -> Vec<(i32, Relative)> {
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

fn carries_mark(pid: i32) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
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
fn is_program(pid: i32) -> bool {
    match std::fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(file) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.strip_suffix(" (deleted)").unwrap_or(&name) == PROGRAM
        }
        Err(_) => name_of(pid).is_some_and(|name| name == PROGRAM),
    }
}

/// Whether orphans come to a process: the first one of the system or of a user's session.
fn is_reaper(pid: i32) -> bool {
    pid == 1 || (pid > 1 && name_of(pid).is_some_and(|name| name == "systemd"))
}

fn name_of(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn groups_of(pid: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}

fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Ticks since boot, as births are counted.
fn now() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, rest) = text.split_whitespace().next()?.split_once('.')?;
    let hundredths: u64 = rest.parse().ok()?;
    Some(seconds.parse::<u64>().ok()? * TICKS + hundredths)
}

/// The time is the file's own, which nobody can set back.
fn write_stamp(file: &Path, what: &str) {
    let stamped = std::fs::write(file, what);
    ok_or_debug!(stamped, "when a command last ran is not on record");
}

fn stamp_file(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("last-command")
}

fn folder(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("commands")
}

/// What is on record, as far as it can be read.
struct ReadRecords {
    /// The commands that can still mean something.
    commands: Vec<RecordedCommand>,
    /// A record cannot be read, or a command runs that none is left of.
    are_spoiled: bool,
}

impl ReadRecords {
    fn of(host: &Host) -> Self {
        let mut read = Self {
            commands: Vec::new(),
            are_spoiled: false,
        };
        let Some(boot) = boot() else {
            return read;
        };
        let entries = match std::fs::read_dir(folder(host)) {
            Ok(entries) => Some(entries),
            Err(error) => {
                read.are_spoiled = error.kind() != std::io::ErrorKind::NotFound;
                None
            }
        };
        for path in entries.into_iter().flatten().flatten() {
            let path = path.path();
            let is_record = path.extension().is_some_and(|end| end == "json");
            match read_record(&path) {
                Some(record) if record.boot == boot => read.commands.push(record),
                Some(_) => {}
                None => read.are_spoiled |= is_record && path.exists(),
            }
        }
        read.are_spoiled |= !read.run_one() && says_running(host);
        read
    }

    /// Whether one of them has not ended.
    fn run_one(&self) -> bool {
        self.commands.iter().any(|record| record.ended.is_none())
    }
}

/// Whether a command runs by what was last said, since the machine was started.
fn says_running(host: &Host) -> bool {
    let stamp = stamp_file(host);
    let age = std::fs::metadata(&stamp)
        .and_then(|facts| facts.modified())
        .ok()
        .and_then(|time| time.elapsed().ok());
    let is_of_this_boot = age
        .zip(now())
        .is_some_and(|(age, up)| age.as_secs() < up / TICKS);
    is_of_this_boot && std::fs::read_to_string(&stamp).is_ok_and(|text| text == RUNNING)
}

/// Whether another process of this home is on record with a command of its own.
pub fn others_run_commands(host: &Host) -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let records = ReadRecords::of(host);
    records.are_spoiled || records.commands.iter().any(|record| record.starter != own)
}

/// The namespace a process has its number in; `None` where that cannot be seen.
fn namespace_of_numbers(pid: i32) -> Option<String> {
    // By its number this process may be another one to whoever mounted /proc.
    let who = match i32::try_from(std::process::id()) == Ok(pid) {
        true => "self".to_owned(),
        false => pid.to_string(),
    };
    let link = std::fs::read_link(format!("/proc/{who}/ns/pid")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

fn read_record(file: &Path) -> Option<RecordedCommand> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// Takes away records of commands of which nothing can be left.
pub fn forget_old_commands(host: &Host) {
    let entries = std::fs::read_dir(folder(host))
        .into_iter()
        .flatten()
        .flatten();
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    let boot = boot();
    let all = relatives();
    for entry in entries {
        let means_something = read_record(&entry.path()).is_some_and(|record| {
            let runs = all
                .get(&record.pid)
                .is_some_and(|it| it.born == record.born);
            let is_left = all
                .iter()
                .any(|(pid, it)| record.may_have_left(*pid, it, &all));
            Some(&record.boot) == boot.as_ref() && (runs || is_left)
        });
        if !means_something {
            // How long the last of it lived is not known: until now, at the most.
            write_stamp(&stamp_file(host), ENDED);
            let gone = std::fs::remove_file(entry.path());
            ok_or_debug!(gone, "the record of a command stays");
        }
    }
}

/// A command that runs although nobody looks after it any more, or that somebody still does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCommand {
    /// Its processes, its leader first where that lives.
    pub processes: Vec<i32>,
    /// What runs, as the kernel shows it.
    pub shown: String,
    /// Whether the program that started it is still there.
    pub is_looked_after: bool,
}

/// The commands on record of which something still runs.
pub fn running_commands(host: &Host) -> Vec<RunningCommand> {
    let recorded = ReadRecords::of(host).commands;
    if recorded.is_empty() {
        return Vec::new();
    }
    let all = relatives();
    let running = recorded.iter().map(|record| record.running(&all));
    running
        .filter(|command| !command.processes.is_empty())
        .collect()
}

/// Ends the commands that outlived the program that had started them, and says which. What they
/// would still do is told to nobody, and done again by whoever finds it missing.
pub fn end_surviving_commands(host: &Host) -> Vec<RunningCommand> {
    let left = |host: &Host| {
        let running = running_commands(host).into_iter();
        running
            .filter(|command| !command.is_looked_after)
            .collect::<Vec<_>>()
    };
    let survivors = left(host);
    // Each pass may meet children born during the one before.
    for _ in 0..MOST_PASSES {
        let processes: Vec<i32> = left(host)
            .into_iter()
            .flat_map(|command| command.processes)
            .collect();
        if processes.is_empty() {
            break;
        }
        end_processes(&processes);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    survivors
}

const MOST_PASSES: usize = 64;

impl RecordedCommand {
    /// What still runs of it.
    fn running(&self, all: &BTreeMap<i32, Relative>) -> RunningCommand {
        let lives = |pid: i32, born: u64| {
            all.get(&pid)
                .is_some_and(|it| it.born == born && !it.is_dead)
        };
        let leads = lives(self.pid, self.born).then_some(self.pid);
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let others = all.iter().filter(|(pid, it)| {
            **pid != self.pid
                && **pid != own
                && !it.is_dead
                && it.born >= self.born
                && (self.is_marked(**pid) || leads.is_some() && descends(**pid, self.pid, all))
        });
        let processes: Vec<i32> = leads
            .into_iter()
            .chain(others.map(|(pid, _)| *pid))
            .collect();
        RunningCommand {
            shown: processes.first().map_or(String::new(), |pid| shown(*pid)),
            is_looked_after: lives(self.starter, self.starter_born),
            processes,
        }
    }

    fn is_marked(&self, pid: i32) -> bool {
        let wanted = format!("{MARK}={}", self.mark);
        !self.mark.is_empty()
            && std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
            })
    }
}

fn descends(pid: i32, from: i32, all: &BTreeMap<i32, Relative>) -> bool {
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
fn shown(pid: i32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&words).replace(['\0', '\n'], " ");
    let text: String = text.trim().chars().take(120).collect();
    match text.is_empty() {
        true => format!("process {pid}"),
        false => format!("{text} (process {pid})"),
    }
}

#[cfg(test)]
mod tests;
