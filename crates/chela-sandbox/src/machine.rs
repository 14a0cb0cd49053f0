//! What this machine allows.

mod probe_memo;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

use chela_core::{Host, lock};
use serde::{Deserialize, Serialize};

use super::cgroup::CgroupParent;
use super::order::{HELPER_COMMAND, HelperOrder, ProbeResult};
use super::{PathAccess, SandboxNamespaces, bubblewrap};
use probe_memo::ProbeMemo;

/// Rules of Landlock before this version leave holes: files could be truncated.
const LEAST_LANDLOCK: u8 = 3;

/// What builds the walls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum SandboxBackend {
    Bwrap {
        program: PathBuf,
    },
    Landlock {
        version: u8,
        namespaces: SandboxNamespaces,
    },
}

impl SandboxBackend {
    /// As the config names it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bwrap { .. } => "bwrap",
            Self::Landlock { .. } => "landlock",
        }
    }

    /// Whether it shows a command a tree of its own, in which something can be left out.
    pub(super) fn has_mounts(&self) -> bool {
        !matches!(
            self,
            Self::Landlock {
                namespaces: SandboxNamespaces::Given,
                ..
            }
        )
    }
}

/// The backend the config names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantedBackend {
    /// What works here.
    Any,
    Bwrap,
    Landlock,
}

impl WantedBackend {
    pub(super) fn read(name: Option<&str>) -> Result<Self, String> {
        match name.map(|name| name.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "auto") => Ok(Self::Any),
            Some("bwrap" | "bubblewrap") => Ok(Self::Bwrap),
            Some("landlock") => Ok(Self::Landlock),
            Some(other) => Err(format!(
                "sandbox.backend `{}` is not supported; use `bwrap` or `landlock`, or remove it \
                 to use what works here",
                chela_core::sanitize::literal(other)
            )),
        }
    }
}

/// Whether a name in the config is one of a backend, or leaves the choice open.
pub fn is_known(name: &str) -> bool {
    WantedBackend::read(Some(name)).is_ok()
}

/// The backends of a machine. Each is tried when it is first asked for, once for the life of
/// this process; walls of bubblewrap that stood are remembered by the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxMachine {
    /// This very program; `None`: its file is not known, so it cannot be started again.
    helper: Option<PathBuf>,
    /// Where programs are looked for.
    path: String,
    memo: Option<ProbeMemo>,
}

/// A backend, or why it cannot be had.
pub type BackendResult = Result<SandboxBackend, String>;

impl SandboxMachine {
    pub fn of(host: &Host) -> Self {
        Self {
            memo: ProbeMemo::of(host),
            ..Self::tried_anew(host)
        }
    }

    /// Takes nobody's word for it, not even that of an earlier process.
    pub fn tried_anew(host: &Host) -> Self {
        Self {
            helper: host.program.clone(),
            path: host.var("PATH").unwrap_or("/usr/bin:/bin").to_owned(),
            memo: None,
        }
    }

    pub fn helper(&self) -> Result<&Path, String> {
        let unknown = "this program cannot find its own file, so it cannot start itself again";
        self.helper.as_deref().ok_or_else(|| unknown.to_owned())
    }

    pub fn bwrap(&self) -> BackendResult {
        on_linux()?;
        let helper = self.helper()?;
        self.once("bwrap", || bwrap(helper, &self.path, self.memo.as_ref()))
    }

    pub fn landlock(&self) -> BackendResult {
        on_linux()?;
        self.probed_here().and_then(landlock_of)
    }

    /// Whether a process may have a tree of mounts of its own here, without bubblewrap.
    pub(super) fn has_own_namespaces(&self) -> Result<bool, String> {
        on_linux()?;
        Ok(self.probed_here()?.own_namespaces)
    }

    /// What the helper finds by itself.
    fn probed_here(&self) -> Result<ProbeResult, String> {
        static FOUND: LazyLock<Mutex<BTreeMap<PathBuf, Result<ProbeResult, String>>>> =
            LazyLock::new(Mutex::default);
        let helper = self.helper()?;
        let mut found = lock(&FOUND);
        let known = found.entry(helper.to_owned());
        known
            .or_insert_with(|| probed(Command::new(helper)))
            .clone()
    }

    /// Where groups of processes can be counted.
    pub fn counting() -> &'static CgroupParent {
        static FOUND: LazyLock<CgroupParent> = LazyLock::new(|| CgroupParent::find(Path::new("/")));
        &FOUND
    }

    fn once(&self, name: &'static str, try_it: impl FnOnce() -> BackendResult) -> BackendResult {
        type Known = BTreeMap<(Option<PathBuf>, String, bool, &'static str), BackendResult>;
        static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
        let remembers = self.memo.is_some();
        let key = (self.helper.clone(), self.path.clone(), remembers, name);
        let mut known = lock(&KNOWN);
        known.entry(key).or_insert_with(try_it).clone()
    }
}

/// Both backends are walls of the Linux kernel. Elsewhere there is none, and nothing is started
/// to find that out.
fn on_linux() -> Result<(), String> {
    match cfg!(target_os = "linux") {
        true => Ok(()),
        false => Err(format!(
            "{} has no sandbox that Chela can use: Landlock and bubblewrap are parts of Linux",
            std::env::consts::OS
        )),
    }
}

fn bwrap(helper: &Path, path: &str, memo: Option<&ProbeMemo>) -> BackendResult {
    let program = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("bwrap"))
        .find(|program| program.is_file())
        .ok_or("bubblewrap (`bwrap`) is not installed")?;
    let programs = [program.as_path(), helper];
    if let Some(backend) = memo.and_then(|memo| memo.recall(&programs)) {
        return Ok(backend);
    }
    let mut command = Command::new(&program);
    command.args(bubblewrap::arguments(&bubblewrap::BubblewrapMounts {
        walls: &PathAccess::of_the_system(&[]),
        helper,
        egress: None,
        folder: Path::new("/"),
        scratch: &[],
        memory: 1 << 20,
    }));
    command.arg(bubblewrap::HELPER);
    probed(command)
        .map_err(|why| format!("bubblewrap is installed but does not work here: {why}"))?;
    let backend = SandboxBackend::Bwrap {
        program: program.clone(),
    };
    if let Some(memo) = memo {
        memo.keep(&programs, &backend);
    }
    Ok(backend)
}

/// What can be built with what a kernel has. Older rules leave holes that nothing else closes;
/// what newer ones add, the filter of system calls does without them.
fn landlock_of(found: ProbeResult) -> BackendResult {
    match found.landlock {
        0 => Err("this kernel has no Landlock, or it is turned off".to_owned()),
        version if version < LEAST_LANDLOCK => Err(format!(
            "this kernel has version {version} of Landlock; {LEAST_LANDLOCK} (Linux 6.2) is needed"
        )),
        version => Ok(SandboxBackend::Landlock {
            version,
            namespaces: match found.own_namespaces {
                true => SandboxNamespaces::Own,
                false => SandboxNamespaces::Given,
            },
        }),
    }
}

/// Has the helper say what it finds where it runs.
fn probed(mut command: Command) -> Result<ProbeResult, String> {
    let order = serde_json::to_string(&HelperOrder::probe()).map_err(|error| error.to_string())?;
    let output = command
        .arg(HELPER_COMMAND)
        .arg(order)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().unwrap_or("it gave no reason");
        chela_core::sanitize::literal(said).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::{ProbeResult, SandboxBackend, SandboxNamespaces, landlock_of};

    #[test]
    fn every_version_of_landlock_is_used_or_refused() {
        for (version, own_namespaces, used) in [
            (0, true, None),
            (1, true, None),
            (2, true, None),
            (3, true, Some(SandboxNamespaces::Own)),
            (3, false, Some(SandboxNamespaces::Given)),
            (5, false, Some(SandboxNamespaces::Given)),
            (6, true, Some(SandboxNamespaces::Own)),
            (9, false, Some(SandboxNamespaces::Given)),
        ] {
            let found = landlock_of(ProbeResult {
                landlock: version,
                own_namespaces,
            });
            match (found, used) {
                (Ok(SandboxBackend::Landlock { namespaces, .. }), Some(expected)) => {
                    assert_eq!(namespaces, expected, "{version}");
                }
                (Err(why), None) => assert!(why.contains("Landlock"), "{why}"),
                (found, _) => panic!("{version} {own_namespaces}: {found:?}"),
            }
        }
    }
}
