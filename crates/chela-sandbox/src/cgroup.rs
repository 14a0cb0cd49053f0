//! Limits the kernel counts for a command and all it starts together.
//!
//! A group is made for every command, joined by the helper before anything else runs, and ended
//! with the command: whoever is still in it then is ended too. Groups are made beside or beneath
//! the one this program is in, where its user may do that; elsewhere every process has limits of
//! its own and all together are watched.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chela_files::may_write;

use super::CommandBounds;
use super::signals::{ProcessSignal, signal_process};

/// Names of groups begin with this and the process that made them.
const NAME: &str = "chela";
/// What the helpers around a command need themselves.
const HELPERS: u64 = 4;
const MEMORY_OF_HELPERS: u64 = 16 << 20;
/// A share of the processor is counted over this many microseconds.
const PERIOD: u64 = 100_000;

/// Where groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CgroupParent {
    /// One tree for everything: version 2.
    Together { parent: PathBuf },
    /// A tree for each thing that is counted: version 1.
    Apart {
        processes: PathBuf,
        memory: PathBuf,
        processors: Option<PathBuf>,
    },
    /// Nowhere.
    Watching { why: &'static str },
}

impl std::fmt::Display for CgroupParent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Together { .. } => {
                f.write_str("by the kernel, for all processes together (cgroup v2)")
            }
            Self::Apart { .. } => {
                f.write_str("by the kernel, for all processes together (cgroup v1)")
            }
            Self::Watching { why } => write!(
                f,
                "by the kernel for each process; the total is checked ten times a second, \
                    because {why}"
            ),
        }
    }
}

impl CgroupParent {
    /// Looks where this process may make groups. `root` is `/`.
    pub fn find(root: &Path) -> Self {
        let table = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
        let (own, mounts) = (table("proc/self/cgroup"), table("proc/self/mountinfo"));
        if own.is_empty() {
            return Self::Watching {
                why: "this system has no cgroups",
            };
        }
        let tree = |controller| folder(root, controller, &own, &mounts);
        let found = tree(None).and_then(|(top, here)| together(&top, &here));
        let found = found.or_else(|| {
            let usable = |controller| {
                tree(Some(controller))
                    .map(|(_, here)| here)
                    .filter(|here| can_make(here))
            };
            Some(Self::Apart {
                processes: usable("pids")?,
                memory: usable("memory")?,
                processors: usable("cpu"),
            })
        });
        let counting = found.unwrap_or(Self::Watching {
            why: "no cgroup can be created here",
        });
        counting.sweep(root);
        counting
    }

    fn parents(&self) -> Vec<&Path> {
        match self {
            Self::Together { parent } => vec![parent],
            Self::Apart {
                processes,
                memory,
                processors,
            } => [Some(processes), Some(memory), processors.as_ref()]
                .into_iter()
                .flatten()
                .map(PathBuf::as_path)
                .collect(),
            Self::Watching { .. } => Vec::new(),
        }
    }

    /// Whether the share of the processor is counted.
    pub fn limits_processors(&self) -> bool {
        match self {
            Self::Together { parent } => enabled(parent, "cpu"),
            Self::Apart { processors, .. } => processors.is_some(),
            Self::Watching { .. } => false,
        }
    }

    /// Whether swap is counted.
    pub fn limits_swap(&self) -> bool {
        match self {
            Self::Together { .. } => true,
            Self::Apart { memory, .. } => memory.join("memory.memsw.limit_in_bytes").exists(),
            Self::Watching { .. } => false,
        }
    }

    /// A group for one command; `None` where there can be none.
    pub fn group(&self, bounds: &CommandBounds) -> io::Result<Option<Cgroup>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME}-{}-{count}", std::process::id());
        let mut group = Cgroup { parts: Vec::new() };
        for parent in self.parents() {
            let part = parent.join(&name);
            std::fs::create_dir(&part)?;
            group.parts.push(part);
        }
        if group.parts.is_empty() {
            return Ok(None);
        }
        for (file, value, need) in self.limits(bounds) {
            for part in &group.parts {
                match std::fs::write(part.join(file), &value) {
                    Err(error) if need == Need::Must && self.belongs(part, file) => {
                        return Err(error);
                    }
                    _ => {}
                }
            }
        }
        Ok(Some(group))
    }

    /// Whether a file is one of this part.
    fn belongs(&self, part: &Path, file: &str) -> bool {
        match self {
            Self::Together { .. } => true,
            Self::Apart { processes, .. } => {
                part.parent() == Some(processes.as_path()) && file.starts_with("pids.")
                    || part.join(file).exists()
            }
            Self::Watching { .. } => false,
        }
    }

    fn limits(&self, bounds: &CommandBounds) -> Vec<(&'static str, String, Need)> {
        let processes = (bounds.processes + HELPERS).to_string();
        let memory = bounds.memory + MEMORY_OF_HELPERS;
        let swap = bounds.memory_and_swap.saturating_sub(bounds.memory);
        let share = bounds
            .processor_percent
            .map(|percent| percent * PERIOD / 100);
        let mut limits = vec![("pids.max", processes, Need::Must)];
        match self {
            Self::Together { .. } => {
                limits.push(("memory.max", memory.to_string(), Need::Must));
                limits.push(("memory.swap.max", swap.to_string(), Need::MayLack));
                limits.push(("memory.oom.group", "1".to_owned(), Need::MayLack));
                if let Some(share) = share {
                    limits.push(("cpu.max", format!("{share} {PERIOD}"), Need::MayLack));
                }
            }
            Self::Apart { .. } => {
                let both = (memory + swap).to_string();
                limits.push(("memory.limit_in_bytes", memory.to_string(), Need::Must));
                limits.push(("memory.memsw.limit_in_bytes", both, Need::MayLack));
                if let Some(share) = share {
                    limits.push(("cpu.cfs_period_us", PERIOD.to_string(), Need::MayLack));
                    limits.push(("cpu.cfs_quota_us", share.to_string(), Need::MayLack));
                }
            }
            Self::Watching { .. } => {}
        }
        limits
    }

    /// Takes away what programs left that were ended themselves.
    fn sweep(&self, root: &Path) {
        for parent in self.parents() {
            let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
            for entry in entries {
                let name = entry.file_name();
                let maker = name
                    .to_str()
                    .and_then(|name| name.strip_prefix(NAME)?.strip_prefix('-'))
                    .and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
                if maker.is_some_and(|pid| !root.join(format!("proc/{pid}")).exists()) {
                    let left = Cgroup {
                        parts: vec![entry.path()],
                    };
                    left.end();
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Must,
    /// Not every kernel has it.
    MayLack,
}

/// The group of one command, in every tree there is. Ends with the value.
#[derive(Debug)]
pub struct Cgroup {
    parts: Vec<PathBuf>,
}

impl Cgroup {
    /// Where a process writes `0` to join.
    pub fn entrances(&self) -> Vec<PathBuf> {
        let parts = self.parts.iter();
        parts.map(|part| part.join("cgroup.procs")).collect()
    }

    /// Whether the kernel ended someone for want of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        let files = ["memory.events", "memory.oom_control"];
        let files = self
            .parts
            .iter()
            .flat_map(|part| files.map(|file| part.join(file)));
        files
            .filter_map(|file| std::fs::read_to_string(file).ok())
            .any(|text| {
                text.lines()
                    .filter_map(|line| line.strip_prefix("oom_kill "))
                    .any(|count| count.trim() != "0")
            })
    }

    /// Ends everyone in it. Nobody can be born meanwhile.
    pub fn end(&self) {
        for part in &self.parts {
            for (file, value) in [("pids.max", "0"), ("cgroup.kill", "1")] {
                // Not every tree has both.
                let file = std::fs::File::options().write(true).open(part.join(file));
                let _ = file.and_then(|mut file| file.write_all(value.as_bytes()));
            }
        }
        for _ in 0..200 {
            let mut is_empty = true;
            for part in &self.parts {
                let inside = std::fs::read_to_string(part.join("cgroup.procs"));
                for pid in inside.unwrap_or_default().lines() {
                    is_empty = false;
                    if let Ok(pid) = pid.parse() {
                        // Whoever has ended by itself is not in the next list.
                        let _ = signal_process(pid, ProcessSignal::Kill);
                    }
                }
            }
            let gone = is_empty
                && self.parts.iter().all(|part| {
                    let removed = std::fs::remove_dir(part);
                    removed.is_ok() || !part.exists()
                });
            if gone {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// Joins groups, by their entrances.
pub fn join(entrances: &[PathBuf]) -> Result<(), String> {
    entrances.iter().try_for_each(|entrance| {
        std::fs::write(entrance, "0")
            .map_err(|error| format!("the sandbox has no limits: {}: {error}", entrance.display()))
    })
}

/// The nearest group whose children are counted. The one this program is in can have none.
fn together(top: &Path, here: &Path) -> Option<CgroupParent> {
    let parent = here
        .ancestors()
        .take_while(|folder| folder.starts_with(top))
        .find(|folder| enabled(folder, "pids") && enabled(folder, "memory"))?;
    can_make(parent).then(|| CgroupParent::Together {
        parent: parent.to_owned(),
    })
}

fn enabled(folder: &Path, controller: &str) -> bool {
    std::fs::read_to_string(folder.join("cgroup.subtree_control"))
        .is_ok_and(|list| list.split_whitespace().any(|name| name == controller))
}

/// Whether groups can be made in a folder, and processes of this group moved there.
fn can_make(folder: &Path) -> bool {
    if !may_write(&folder.join("cgroup.procs")) {
        return false;
    }
    let trial = folder.join(format!("{NAME}-{}-try", std::process::id()));
    let made = std::fs::create_dir(&trial).is_ok();
    made && std::fs::remove_dir(&trial).is_ok()
}

/// The top of a tree and the folder of this process in it. `None`: the tree of version 2.
fn folder(
    root: &Path,
    controller: Option<&str>,
    own: &str,
    mounts: &str,
) -> Option<(PathBuf, PathBuf)> {
    let mut groups = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?, parts.next()?, parts.next()?))
    });
    let (_, _, path) = groups.find(|(number, names, _)| match controller {
        None => *number == "0" && names.is_empty(),
        Some(controller) => names.split(',').any(|name| name == controller),
    })?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (kind, options) = (
            after.split(' ').next()?,
            after.split(' ').nth(2).unwrap_or_default(),
        );
        let fits = match controller {
            None => kind == "cgroup2",
            Some(controller) => {
                kind == "cgroup" && options.split(',').any(|option| option == controller)
            }
        };
        let mut fields = before.split(' ').skip(3);
        let (mounted, point) = (fields.next()?, fields.next()?);
        let beneath = Path::new(path).strip_prefix(mounted).ok()?;
        let top = root.join(point.trim_start_matches('/'));
        fits.then(|| (top.clone(), top.join(beneath)))
    })
}

#[cfg(test)]
mod tests;
