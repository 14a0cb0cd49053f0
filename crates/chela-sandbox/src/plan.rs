//! A sandbox that can be built, and a command on its way inside.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{SandboxScope, WorkspaceAccess};
use chela_core::Host;

use super::bubblewrap::{self, Mounts, Scratch};
use super::cgroup::{Cgroup, Counting};
use super::egress::Hosts;
use super::family::{FamilyWatch, Leader};
use super::folder::Folder;
use super::order::{EGRESS_PORT, HELPER_COMMAND, Namespaces, Order, Signals, Sockets, Stage};
use super::{Backend, Bounds, Walls};

/// From this version on Landlock keeps signals inside.
pub(super) const SCOPES_SIGNALS: u8 = 6;

/// Variables of the owner that go along: how a terminal and a language look.
const VARIABLES: &[&str] = &[
    "CHELA_SHELL",
    "COLORTERM",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PAGER",
    "PATH",
    "TERM",
    "TZ",
    "USER",
];

/// Where commands may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Nowhere but to themselves.
    None,
    /// To these hosts, through the proxy.
    Hosts(Hosts),
}

/// A command as it would run without a sandbox.
#[derive(Debug, Clone, Copy)]
pub struct BareCommand<'a> {
    /// The very file to run.
    pub program: &'a Path,
    /// What it is told its name is.
    pub name: &'a OsStr,
    pub arguments: &'a [OsString],
    /// Where it starts.
    pub folder: &'a Path,
    pub timeout: Duration,
}

/// The same command, as it is started to run inside.
#[derive(Debug)]
pub struct WrappedCommand {
    pub program: PathBuf,
    pub name: OsString,
    pub arguments: Vec<OsString>,
    pub watch: FamilyWatch,
    /// What the kernel counts it by.
    pub group: Option<Arc<Cgroup>>,
}

/// A sandbox that can be built.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) helper: PathBuf,
    pub backend: Backend,
    pub access: WorkspaceAccess,
    pub scope: SandboxScope,
    /// Where commands start.
    pub workdir: PathBuf,
    pub workspace: PathBuf,
    pub(super) folder: Folder,
    pub walls: Walls,
    pub network: Network,
    pub bounds: Bounds,
    /// Who counts what commands use.
    pub counting: Counting,
    pub(super) scratch: Vec<Scratch>,
    /// As the note beside the folder names who uses it.
    pub(super) session: String,
    /// Variables the operator sets inside.
    pub(super) env: BTreeMap<String, String>,
    /// What the operator should know: settings that are left out.
    pub notes: Vec<String>,
}

impl Plan {
    /// The sandbox's own folder, which is kept between commands.
    pub fn own_folder(&self) -> &Path {
        &self.folder.root
    }

    /// Makes the folders the sandbox needs.
    pub fn make_folders(&self, host: &Host) -> Result<(), String> {
        self.folder.make()?;
        self.folder.note_use(host.unix_millis(), &self.session);
        Ok(())
    }

    /// The owner's variables without what leads outside.
    pub fn variables(&self, owner: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut env: BTreeMap<String, String> = owner
            .iter()
            .filter(|(name, _)| VARIABLES.contains(&name.as_str()) || name.starts_with("LC_"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.walls.narrow_path(&mut env);
        let own = [
            ("HOME", self.folder.home()),
            ("TMPDIR", self.folder.temporary()),
            // Beside a script it would change what the script's folder is known by.
            (
                "PYTHONPYCACHEPREFIX",
                self.folder.temporary().join("pycache"),
            ),
        ];
        env.extend(own.map(|(name, path)| (name.to_owned(), path.display().to_string())));
        if let Network::Hosts(_) = self.network {
            let proxy = format!("http://127.0.0.1:{EGRESS_PORT}");
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                env.insert(name.to_owned(), proxy.clone());
                env.insert(name.to_ascii_lowercase(), proxy.clone());
            }
            for name in ["NO_PROXY", "no_proxy"] {
                env.insert(name.to_owned(), "127.0.0.1,localhost,::1".to_owned());
            }
        }
        env.extend(self.env.clone());
        env
    }

    /// Why a command may not start in a folder.
    pub fn refuses_folder(&self, folder: &Path) -> Option<String> {
        (!self.walls.shows(folder)).then(|| {
            format!(
                "The folder {} is not inside the sandbox. Commands run in {} and below.",
                chela_core::sanitize::literal(&folder.display().to_string()),
                self.workdir.display()
            )
        })
    }

    /// What is in the workspace and stays as it is. The owner's `git` runs what a repository's
    /// config and hooks say, so nothing inside may write them.
    pub fn kept(&self) -> Result<Vec<PathBuf>, String> {
        if self.access != WorkspaceAccess::Rw {
            return Ok(Vec::new());
        }
        let repository = self.workspace.join(".git");
        match repository.symlink_metadata() {
            Err(_) => Ok(Vec::new()),
            Ok(found) if found.is_symlink() => Err(format!(
                "{} is a link, and whoever replaces it decides what git runs outside; make it a \
                 folder, or set sandbox.workspaceAccess to ro",
                repository.display()
            )),
            Ok(_) => Ok(vec![repository]),
        }
    }

    /// The same command, started inside. `egress` is the socket of the proxy.
    pub fn wrap(
        &self,
        command: &BareCommand<'_>,
        egress: Option<&Path>,
    ) -> Result<WrappedCommand, String> {
        let walls = Walls {
            keep: self
                .kept()
                .map_err(|why| format!("The sandbox is not built: {why}."))?,
            ..self.walls.clone()
        };
        let group = self.counting.group(&self.bounds).map_err(|error| {
            format!("The command was not run: its limits cannot be set up: {error}.")
        })?;
        let entrances = group.as_ref().map(Cgroup::entrances).unwrap_or_default();
        let order = self.order(command, walls.clone(), egress);
        let order = Order {
            groups: match self.backend {
                Backend::Landlock { .. } => entrances.clone(),
                Backend::Bwrap { .. } => Vec::new(),
            },
            ..order
        };
        let mut inside = vec![HELPER_COMMAND.into(), in_words(&order)?];
        inside.push(command.program.into());
        inside.extend(command.arguments.iter().cloned());
        let (program, name, arguments) = match &self.backend {
            Backend::Bwrap { program } => {
                let mut arguments = bubblewrap::arguments(&Mounts {
                    walls: &walls,
                    helper: &self.helper,
                    egress,
                    folder: command.folder,
                    scratch: &self.scratch,
                    memory: self.bounds.memory,
                });
                arguments.push(bubblewrap::HELPER.into());
                arguments.extend(inside);
                match entrances.is_empty() {
                    true => (program.clone(), "bwrap".into(), arguments),
                    false => {
                        let join = in_words(&Order::join(entrances))?;
                        let mut words = vec![HELPER_COMMAND.into(), join, program.into()];
                        words.extend(arguments);
                        (self.helper.clone(), "chela".into(), words)
                    }
                }
            }
            Backend::Landlock { .. } => (self.helper.clone(), "chela".into(), inside),
        };
        Ok(WrappedCommand {
            program,
            name,
            arguments,
            watch: FamilyWatch {
                leader: match self.backend {
                    Backend::Bwrap { .. } => Leader::Command,
                    Backend::Landlock { .. } => Leader::Supervisor,
                },
                // The helpers count too.
                processes: usize::try_from(self.bounds.processes).unwrap_or(usize::MAX) + 3,
                memory: Some(self.bounds.memory),
            },
            group: group.map(Arc::new),
        })
    }

    fn order(&self, command: &BareCommand<'_>, walls: Walls, egress: Option<&Path>) -> Order {
        let name = command.name.to_string_lossy().into_owned();
        let order = Order {
            stage: Stage::Supervise,
            name,
            bounds: Bounds {
                cpu_seconds: self
                    .bounds
                    .cpu_seconds
                    .min(command.timeout.as_secs().max(1)),
                processor_percent: match self.counting.limits_processors() {
                    true => None,
                    false => self.bounds.processor_percent,
                },
                ..self.bounds
            },
            walls: None,
            landlock: 0,
            namespaces: Namespaces::Given,
            sockets: Sockets::Local,
            signals: Signals::Fenced,
            egress: None,
            groups: Vec::new(),
        };
        match self.backend {
            Backend::Bwrap { .. } => Order {
                egress: egress.map(|_| PathBuf::from(bubblewrap::EGRESS)),
                ..order
            },
            Backend::Landlock {
                version,
                namespaces,
            } => Order {
                landlock: version,
                walls: Some(match namespaces {
                    Namespaces::Own => walls,
                    Namespaces::Given => walls.beside_what_is_kept(),
                }),
                namespaces,
                sockets: match namespaces {
                    Namespaces::Own => Sockets::Local,
                    Namespaces::Given => Sockets::None,
                },
                signals: match version >= SCOPES_SIGNALS {
                    true => Signals::Fenced,
                    false => Signals::Denied,
                },
                egress: egress.map(Path::to_owned),
                ..order
            },
        }
    }
}

/// An order as the argument that carries it.
fn in_words(order: &Order) -> Result<OsString, String> {
    serde_json::to_string(order)
        .map(OsString::from)
        .map_err(|error| format!("The sandbox cannot be described: {error}"))
}
