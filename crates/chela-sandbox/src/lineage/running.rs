//! Commands that are still there, and the end of those nobody looks after.

use std::collections::BTreeMap;

use chela_core::Host;

use super::process_table::{descends, shown};
use super::{ReadRecords, RecordedCommand};
use crate::family::{MARK, ProcessKin, end_processes, read_kernel_file, relatives};

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
    fn running(&self, all: &BTreeMap<i32, ProcessKin>) -> RunningCommand {
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
            && read_kernel_file(&format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
            })
    }
}
