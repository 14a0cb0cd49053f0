//! A command and every process it started.
//!
//! A command leads a process group of its own. Processes that left the group are found by what
//! they cannot easily shed: their session, their ancestors, and a mark in the environment they
//! started with. The program is deliberately not made the reaper of orphans: it could not tell
//! them from its own children, and reaping those would lose their exit status. What sheds all
//! three at once gets away; only a sandbox holds that.

use std::collections::{BTreeMap, BTreeSet};

use super::signals::{ProcessSignal, signal_group, signal_process};

/// The variable that carries the mark.
pub const MARK: &str = "CHELA_EXEC_ID";

/// A command may have this many processes at once.
pub const MOST_PROCESSES: usize = 1_024;

/// Tasks of others that may have ended since one was refused.
const SOON_GONE: u64 = 128;

/// Who leads a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyLeader {
    /// The command itself.
    Command,
    /// A helper to whom every orphan comes. It goes last: as long as it lives, none gets away.
    Supervisor,
}

/// What is watched while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyWatch {
    pub leader: FamilyLeader,
    /// Most processes at once.
    pub processes: usize,
    /// Most bytes of memory of all together.
    pub memory: Option<u64>,
}

impl Default for FamilyWatch {
    /// A command that is not sandboxed.
    fn default() -> Self {
        Self {
            leader: FamilyLeader::Command,
            processes: MOST_PROCESSES,
            memory: None,
        }
    }
}

/// The processes of one command.
#[derive(Debug, Clone)]
pub struct ProcessFamily {
    leader: i32,
    /// `CHELA_EXEC_ID=…`
    mark: Vec<u8>,
    /// When the leader started, in ticks since boot.
    born: u64,
    /// How many tasks its user may have, where the kernel was told.
    allowed: Option<u64>,
}

/// What the kernel says of one process.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessKin {
    pub(super) parent: i32,
    group: i32,
    session: i32,
    /// When it started, in ticks since boot.
    pub(super) born: u64,
    pub(super) is_dead: bool,
}

impl ProcessFamily {
    /// The family of a process that was just started as the leader of its group.
    pub fn new(leader: u32, mark: &str) -> Option<Self> {
        let leader = i32::try_from(leader).ok()?;
        let born = relative(leader).map_or(0, |found| found.born);
        Some(Self {
            allowed: limit(leader),
            leader,
            mark: format!("{MARK}={mark}").into_bytes(),
            born,
        })
    }

    /// Asks all of the group to end.
    pub fn ask_to_end(&self) {
        // A group that has ended needs no asking.
        let _ = signal_group(self.leader, ProcessSignal::Terminate);
        let _ = signal_group(self.leader, ProcessSignal::Continue);
    }

    /// Ends every process of the family, and says how many there were besides the leader.
    pub fn end(&self, leader: FamilyLeader) -> usize {
        let ended = match leader {
            FamilyLeader::Command => self.end_while(|| {
                let members = self.members();
                // Whoever is left is among the members of the next look.
                let _ = signal_group(self.leader, ProcessSignal::Kill);
                members
            }),
            FamilyLeader::Supervisor => self.end_followers(),
        };
        // The group may be gone already.
        let _ = signal_group(self.leader, ProcessSignal::Kill);
        ended
    }

    /// Ends every process of the family but the leader, and says how many there were.
    pub fn end_followers(&self) -> usize {
        self.end_while(|| {
            let mut members = self.members();
            members.remove(&self.leader);
            members
        })
    }

    fn end_while(&self, members: impl Fn() -> BTreeSet<i32>) -> usize {
        let mut ended = BTreeSet::new();
        // Each pass may meet children born during the one before; stopped ones bear none.
        for _ in 0..64 {
            let members = members();
            if members.is_empty() {
                break;
            }
            end_processes(&members.iter().copied().collect::<Vec<_>>());
            ended.extend(members);
        }
        ended.remove(&self.leader);
        ended.len()
    }

    /// How many processes live. Without reading environments: it is asked often.
    pub fn count(&self) -> usize {
        self.living().len()
    }

    /// Whether its user may have met the limit the kernel was told.
    pub fn is_at_limit(&self) -> bool {
        let (Some(allowed), Some(tasks)) = (self.allowed, tasks_of_machine()) else {
            return false;
        };
        tasks + SOON_GONE >= allowed
    }

    /// Whether all together hold more than so many bytes of memory.
    pub fn holds_more_than(&self, most: u64) -> bool {
        let sum = |of: fn(i32) -> u64| self.living().into_iter().map(of).sum::<u64>();
        sum(resident) > most && sum(proportion) > most
    }

    fn living(&self) -> BTreeSet<i32> {
        self.kin(&relatives())
    }

    fn members(&self) -> BTreeSet<i32> {
        let mut all = relatives();
        for (pid, relative) in &mut all {
            let may_be = relative.born >= self.born && !relative.is_dead;
            if may_be && relative.group != self.leader && self.marked(*pid) {
                relative.group = self.leader;
            }
        }
        self.kin(&all)
    }

    /// Who is of the group or session, or descends from someone who is.
    fn kin(&self, all: &BTreeMap<i32, ProcessKin>) -> BTreeSet<i32> {
        let leader = self.leader;
        let mut kin: BTreeSet<i32> = all
            .iter()
            .filter(|(_, it)| it.born >= self.born && (it.group == leader || it.session == leader))
            .map(|(pid, _)| *pid)
            .collect();
        loop {
            let children: Vec<i32> = all
                .iter()
                .filter(|(pid, it)| !kin.contains(pid) && kin.contains(&it.parent))
                .map(|(pid, _)| *pid)
                .collect();
            if children.is_empty() {
                break;
            }
            kin.extend(children);
        }
        kin.retain(|pid| all.get(pid).is_some_and(|it| !it.is_dead));
        kin
    }

    fn marked(&self, pid: i32) -> bool {
        read_kernel_file(&format!("/proc/{pid}/environ"))
            .is_ok_and(|env| env.split(|byte| *byte == 0).any(|var| var == self.mark))
    }
}

/// Ends these processes: first all are stopped, so that none begins another one.
pub(super) fn end_processes(processes: &[i32]) {
    for signal in [ProcessSignal::Stop, ProcessSignal::Kill] {
        for pid in processes {
            // It may have ended by itself; callers look again.
            let _ = signal_process(*pid, signal);
        }
    }
}

/// Bytes of memory a process holds besides files. What several hold counts for each.
fn resident(pid: i32) -> u64 {
    kilobytes(&format!("/proc/{pid}/status"), &["RssAnon:", "RssShmem:"]).unwrap_or(0)
}

/// The same with what several hold counted once. Slow: the kernel walks every page.
fn proportion(pid: i32) -> u64 {
    let file = format!("/proc/{pid}/smaps_rollup");
    kilobytes(&file, &["Pss_Anon:", "Pss_Shmem:"]).unwrap_or_else(|| resident(pid))
}

/// The sum of some lines of a table in kilobytes, as bytes; `None` where they are missing.
fn kilobytes(file: &str, lines: &[&str]) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let found: Vec<u64> = text
        .lines()
        .filter_map(|line| {
            let value = lines.iter().find_map(|name| line.strip_prefix(name))?;
            value.trim().trim_end_matches(" kB").parse::<u64>().ok()
        })
        .collect();
    (!found.is_empty()).then(|| found.iter().sum::<u64>() << 10)
}

/// Lets the user have so many processes more than the machine has now, and says how many that
/// is. Does not hold for root, and processes born before it was set keep the old limit: the count
/// is watched as well.
#[cfg(target_os = "linux")]
fn limit(leader: i32) -> Option<u64> {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let most = tasks_of_machine()? + MOST_PROCESSES as u64;
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    prlimit(Some(Pid::from_raw(leader)?), Resource::Nproc, limit).ok()?;
    Some(most)
}

/// How many tasks the machine has, of all users.
fn tasks_of_machine() -> Option<u64> {
    let line = std::fs::read_to_string("/proc/loadavg").ok()?;
    let tasks = line.split_whitespace().nth(3)?;
    tasks.split('/').nth(1)?.parse().ok()
}

/// No other system lets one process limit another.
#[cfg(not(target_os = "linux"))]
fn limit(_leader: i32) -> Option<u64> {
    None
}

/// Every process of the machine; empty where there is no `/proc`.
pub(super) fn relatives() -> BTreeMap<i32, ProcessKin> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, relative(pid)?)))
        .collect()
}

/// What the kernel makes up when asked, whole in one call as a rule. `std::fs::read` asks for the
/// size first, which is 0, and then for a few bytes at a time: it is asked of every process.
pub(super) fn read_kernel_file(path: &str) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    const USUAL: usize = 4096;
    const MOST: u64 = 16 << 20;
    let mut bytes = Vec::with_capacity(USUAL);
    std::fs::File::open(path)?
        .take(MOST)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn relative(pid: i32) -> Option<ProcessKin> {
    let stat = read_kernel_file(&format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses included.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let born = fields.nth(15)?.parse().ok()?;
    Some(ProcessKin {
        parent,
        group,
        session,
        born,
        is_dead: matches!(state, "Z" | "X"),
    })
}
