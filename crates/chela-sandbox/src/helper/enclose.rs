//! Giving up, in order: open files, resources, privileges, files, system calls.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, CpuSet, clear_ambient_capability_set,
    remove_capability_from_bounding_set, sched_getaffinity, sched_setaffinity, set_capabilities,
    set_no_new_privs,
};

use crate::order::{AllowedSockets, HelperOrder, SandboxNamespaces};
use crate::{CommandBounds, PathAccess};

use super::filter::{self, AttributeGuard, FilterContext, OutsideProcesses, ProcessorLimit};

/// The newest rules this was written for.
const KNOWN: ABI = ABI::V7;

/// Devices that hold nothing.
pub const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Of `/proc` what says something about the machine and nothing about other processes. Its own
/// folder is not there either: a rule would hold for one process id only.
const PROC: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
];

/// Everything that holds for the command and all it starts.
pub fn enclose(order: &HelperOrder) -> Result<(), String> {
    no_open_files();
    limit(&order.bounds, order)?;
    no_privileges()?;
    if let Some(walls) = &order.walls {
        files(walls, order)?;
    }
    filter::install(&FilterContext {
        sockets: order.sockets,
        signals: order.signals,
        neighbours: match order.walls {
            Some(_) => OutsideProcesses::Seen,
            None => OutsideProcesses::Hidden,
        },
        attributes: match (&order.walls, order.namespaces) {
            (Some(_), SandboxNamespaces::Given) => AttributeGuard::Kept,
            _ => AttributeGuard::Walled,
        },
        processors: match order.bounds.processor_percent {
            Some(_) => ProcessorLimit::Fixed,
            None => ProcessorLimit::Counted,
        },
    })
}

/// Only input, output and errors go along.
pub fn no_open_files() {
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
}

/// No capability, now or by running something.
pub fn no_privileges() -> Result<(), String> {
    // Without the right to change it, the set below decides alone.
    for capability in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
    let _ = clear_ambient_capability_set();
    let nothing = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, nothing)
        .and_then(|()| set_no_new_privs(true))
        .map_err(|error| format!("the sandbox cannot give up privileges: {error}"))
}

fn limit(bounds: &CommandBounds, order: &HelperOrder) -> Result<(), String> {
    if let Some(percent) = bounds.processor_percent {
        stay_on(percent.div_ceil(100))
            .map_err(|error| format!("the sandbox cannot limit processors: {error}"))?;
    }
    // In namespaces of its own only the processes inside count; elsewhere all of the user's do.
    let counted = match (&order.walls, order.namespaces) {
        (Some(_), SandboxNamespaces::Given) => processes_now(),
        _ => 0,
    };
    let limits = [
        (Resource::Nproc, bounds.processes + counted),
        (Resource::Data, bounds.memory),
        (Resource::Nofile, bounds.open_files),
        (Resource::Cpu, bounds.cpu_seconds),
        (Resource::Fsize, bounds.file_bytes),
        (Resource::Core, 0),
        // Memory that cannot be swapped out, and queues, count for everyone.
        (Resource::Memlock, 64 << 10),
        (Resource::Msgqueue, 819_200),
    ];
    for (resource, most) in limits {
        // What is lower already stays.
        let most = getrlimit(resource)
            .maximum
            .map_or(most, |now| now.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)
            .map_err(|error| format!("the sandbox cannot limit {resource:?}: {error}"))?;
    }
    Ok(())
}

/// Uses so many processors and no others. Which ones differs from command to command.
fn stay_on(count: u64) -> rustix::io::Result<()> {
    let now = sched_getaffinity(None)?;
    let all: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| now.is_set(*cpu))
        .collect();
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(all.len());
    let first = std::process::id() as usize;
    let mut few = CpuSet::new();
    let start = first.checked_rem(all.len()).unwrap_or(0);
    for cpu in all.iter().cycle().skip(start).take(count) {
        few.set(*cpu);
    }
    sched_setaffinity(None, &few)
}

/// Tasks on the machine.
fn processes_now() -> u64 {
    let line = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = line.split_whitespace().nth(3).unwrap_or_default();
    tasks
        .split('/')
        .nth(1)
        .and_then(|tasks| tasks.parse().ok())
        .unwrap_or(1_024)
}

fn files(walls: &PathAccess, order: &HelperOrder) -> Result<(), String> {
    let known = ABI::from(i32::from(order.landlock)).min(KNOWN);
    let failed = |error: &dyn std::fmt::Display| format!("Landlock refuses the rules: {error}");
    let (scopes, network) = (Scope::from_all(known), AccessNet::from_all(known));
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(known))
        .and_then(|rules| match scopes.is_empty() {
            true => Ok(rules),
            false => rules.scope(scopes),
        })
        .and_then(|rules| match order.sockets {
            // A second wall: no socket can be made in the first place.
            AllowedSockets::None if !network.is_empty() => rules.handle_access(network),
            AllowedSockets::None | AllowedSockets::Local => Ok(rules),
        })
        .and_then(Ruleset::create)
        .map_err(|error| failed(&error))?;
    let special: BitFlags<AccessFs> = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(known) & !special;
    let use_it = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let use_it = AccessFs::from_all(known) & use_it;
    let status = ruleset
        .add_rules(path_beneath_rules(&walls.read, AccessFs::from_read(known)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&walls.write, write)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(DEVICES, use_it)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(PROC, AccessFs::ReadFile)))
        .and_then(|rules| rules.restrict_self())
        .map_err(|error| failed(&error))?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock is not there any more".to_owned()),
        _ => Ok(()),
    }
}

/// Everything is allowed but to change what is kept and to read what is hidden. Rules only ever
/// add, so each folder beside those that lead there has one: nothing can be made directly in these.
pub fn keep_files(walls: &PathAccess, version: u8) -> Result<(), String> {
    let known = ABI::from(i32::from(version)).min(KNOWN);
    let failed = |error: &dyn std::fmt::Display| format!("Landlock refuses the rules: {error}");
    let beside = FenceRules::of(walls);
    let list = AccessFs::from_all(known) & AccessFs::ReadDir;
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(known))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(["/"], list)))
        .and_then(|rules| {
            let all = AccessFs::from_all(known);
            rules.add_rules(path_beneath_rules(&beside.write, all))
        })
        .and_then(|rules| {
            rules.add_rules(path_beneath_rules(&beside.read, AccessFs::from_read(known)))
        })
        .and_then(|rules| rules.restrict_self())
        .map_err(|error| failed(&error))
        .and_then(|status| match status.ruleset {
            RulesetStatus::NotEnforced => Err("Landlock is not there any more".to_owned()),
            _ => Ok(()),
        })
}

/// Processes outside cannot be looked into any more, nor mounts changed, whatever rights are left:
/// that holds for whoever obeys any rules of Landlock at all. Where the kernel has none, rights
/// alone decide.
pub fn apart_from_others() {
    let nothing_more = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::MakeBlock)
        .and_then(Ruleset::create)
        .and_then(|rules| rules.restrict_self());
    let _ = nothing_more;
}

/// What is opened, path by path, so that the rest stays closed.
#[derive(Default)]
struct FenceRules {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl FenceRules {
    fn of(walls: &PathAccess) -> Self {
        let mut rules = Self {
            write: walls.write.clone(),
            ..Self::default()
        };
        rules.open(Path::new("/"), walls);
        rules
    }

    /// What lies in a folder that leads to something kept.
    fn open(&mut self, folder: &Path, walls: &PathAccess) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            // A link would open what it points to.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let is_kept = walls.keep.iter().any(|kept| path.starts_with(kept));
            let leads_on = |paths: &[PathBuf]| {
                let mut paths = paths.iter();
                paths.any(|one| *one != path && one.starts_with(&path))
            };
            if walls.hide.contains(&path) {
                continue;
            }
            match (is_kept, leads_on(&walls.keep) || leads_on(&walls.hide)) {
                (_, true) if path.is_dir() => self.open(&path, walls),
                (true, _) => self.read.push(path),
                (false, _) => self.write.push(path),
            }
        }
    }
}

/// The version of Landlock; 0: none. Restricts this process to find out.
pub fn landlock_version() -> u8 {
    let asked = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::Signal)
        .and_then(Ruleset::create)
        .and_then(|rules| rules.restrict_self());
    match asked.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => effective_abi as u8,
        _ => 0,
    }
}
