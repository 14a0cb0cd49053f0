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

mod process_table;
mod running;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_debug};
use chela_files::{FileFacts as _, FileMode, write_file};
use serde::{Deserialize, Serialize};

use super::family::{MARK, ProcessKin, relative, relatives};

use process_table::{ancestry, boot, carries_mark, groups_of, is_program, is_reaper, now};
pub use running::{RunningCommand, end_surviving_commands, running_commands};

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
    fn may_have_left(&self, pid: i32, it: &ProcessKin, all: &BTreeMap<i32, ProcessKin>) -> bool {
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
    Some(facts.stamp().changed + i128::from(slack) * 1_000_000_000)
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
    let is_command = |(pid, it): &(i32, ProcessKin)| {
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
    // Nobody is left behind by a command that began later than they did.
    let orphans = chain.iter().filter(|(_, it)| is_reaper(it.parent));
    let latest = orphans.map(|(_, it)| it.born).max().unwrap_or(u64::MAX);
    let running = all.iter().filter(|(pid, it)| {
        let may_be = **pid != own && !it.is_dead && it.parent > 1 && it.born <= latest;
        may_be && carries_mark(**pid)
    });
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
    fn seen(pid: i32, it: &ProcessKin, all: &BTreeMap<i32, ProcessKin>) -> Option<Self> {
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

/// Whether anybody may be there who comes from a command: one runs, or has left somebody behind.
pub fn may_command_live(host: &Host) -> bool {
    let records = ReadRecords::of(host);
    records.are_spoiled || !records.commands.is_empty()
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

#[cfg(test)]
mod tests;
