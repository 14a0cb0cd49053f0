//! A sandbox that can be built, and a command on its way inside.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{SandboxScope, WorkspaceAccess};
use chela_core::Host;

use super::bubblewrap::{self, BubblewrapMounts, MemoryMount};
use super::cgroup::{Cgroup, CgroupParent};
use super::egress::EgressHosts;
use super::family::{FamilyLeader, FamilyWatch};
use super::folder::SandboxFolder;
use super::kept::WorkspaceDoors;
use super::order::{
    AllowedSockets, EGRESS_PORT, HELPER_COMMAND, HelperOrder, HelperStage, SandboxNamespaces,
    SignalLimit,
};
use super::written::WriteRecord;
use super::{CommandBounds, PathAccess, SandboxBackend};

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
pub enum NetworkAccess {
    /// Nowhere but to themselves.
    None,
    /// To these hosts, through the proxy.
    Hosts(EgressHosts),
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
    /// Where it is noted what it writes.
    pub written: Option<&'a WriteRecord>,
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
pub struct SandboxPlan {
    pub(super) helper: PathBuf,
    pub backend: SandboxBackend,
    pub access: WorkspaceAccess,
    pub scope: SandboxScope,
    /// Where commands start.
    pub workdir: PathBuf,
    pub workspace: PathBuf,
    /// Other folders that may be written: repositories in them are kept as in the workspace.
    pub(super) writable: Vec<PathBuf>,
    /// Folders inside of those that the owner said no to.
    pub(super) closed: Vec<PathBuf>,
    /// Parts of the config that lie inside of those.
    pub(super) config_parts: Vec<PathBuf>,
    pub(super) folder: SandboxFolder,
    pub walls: PathAccess,
    /// Of what the walls show for reading: compilers below somebody's home.
    pub(super) toolchains: Vec<PathBuf>,
    pub network: NetworkAccess,
    /// Hosts the operator lets a call ask for without a question.
    pub granted: NetworkAccess,
    pub bounds: CommandBounds,
    /// Who counts what commands use.
    pub counting: CgroupParent,
    pub(super) scratch: Vec<MemoryMount>,
    /// As the note beside the folder names who uses it.
    pub(super) session: String,
    /// Variables the operator sets inside.
    pub(super) env: BTreeMap<String, String>,
    /// What the operator should know: settings that are left out.
    pub notes: Vec<String>,
}

impl SandboxPlan {
    /// The sandbox's own folder, which is kept between commands.
    pub fn own_folder(&self) -> &Path {
        &self.folder.root
    }

    /// What of it commands can write.
    pub fn own_folders(&self) -> [PathBuf; 3] {
        [
            self.folder.work(),
            self.folder.home(),
            self.folder.temporary(),
        ]
    }

    /// What else can be read inside, besides the system's own folders and the compilers that
    /// people keep in their home: skills, folders the operator mounts, folders to work in.
    pub fn shown_besides_system(&self) -> Vec<PathBuf> {
        let is_toolchain = |path: &&PathBuf| self.toolchains.iter().any(|shown| shown == *path);
        let read = self.walls.read.iter().filter(|path| !is_toolchain(path));
        let read = read.filter(|path| !PathAccess::is_of_the_system(path));
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let own = real(&self.folder.root);
        let write = self.walls.write.iter();
        let write = write.filter(|path| real(path) != own);
        read.chain(write).cloned().collect()
    }

    /// The compilers that people keep in their home, as they are shown inside.
    pub fn toolchains(&self) -> &[PathBuf] {
        &self.toolchains
    }

    /// The same sandbox with a way to these hosts.
    pub fn reaching(&self, hosts: EgressHosts) -> Result<Self, String> {
        if let SandboxBackend::Landlock {
            namespaces: SandboxNamespaces::Given,
            ..
        } = self.backend
        {
            return Err(
                "Without bubblewrap or user namespaces there is no network inside the \
                        sandbox. Run it with outside: true instead; the owner is asked."
                    .to_owned(),
            );
        }
        Ok(Self {
            network: match hosts.is_empty() {
                true => NetworkAccess::None,
                false => NetworkAccess::Hosts(hosts),
            },
            ..self.clone()
        })
    }

    /// The same sandbox for a command that is to find something out and change nothing: it can write
    /// the sandbox's own folder, and the rest only read.
    pub fn only_reading(&self) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let own = real(&self.folder.root);
        let mut plan = self.clone();
        let (write, read): (Vec<_>, Vec<_>) = std::mem::take(&mut plan.walls.write)
            .into_iter()
            .partition(|path| real(path) == own);
        plan.walls.write = write;
        plan.walls.read.extend(read);
        plan.writable.clear();
        if plan.access == WorkspaceAccess::Rw {
            plan.access = WorkspaceAccess::Ro;
        }
        plan
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
        if let NetworkAccess::Hosts(_) = self.network {
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
        let is_closed = self.closed.iter().any(|closed| folder.starts_with(closed));
        (is_closed || !self.walls.shown().has(folder)).then(|| {
            format!(
                "The folder {} is not inside the sandbox. Commands run in {} and below.",
                chela_core::sanitize::literal(&folder.display().to_string()),
                self.workdir.display()
            )
        })
    }

    /// What of the workspace stays as it is or is hidden. The owner's `git` runs what a
    /// repository's config and hooks say, so nothing inside may write them; behind a socket
    /// somebody outside may listen.
    pub fn doors(&self) -> Result<WorkspaceDoors, String> {
        let mut doors = self.workspace_doors()?;
        for root in &self.writable {
            self.add_doors(root, WorkspaceAccess::Rw, &mut doors)?;
        }
        Ok(doors)
    }

    fn workspace_doors(&self) -> Result<WorkspaceDoors, String> {
        if self.access == WorkspaceAccess::None {
            return Ok(WorkspaceDoors::default());
        }
        let mut doors = WorkspaceDoors::default();
        for root in self.workspace_names() {
            self.add_doors(&root, self.access, &mut doors)?;
        }
        if self.access != WorkspaceAccess::Rw {
            doors.repositories.clear();
            doors.links.clear();
        }
        Ok(doors)
    }

    fn add_doors(
        &self,
        root: &Path,
        access: WorkspaceAccess,
        doors: &mut WorkspaceDoors,
    ) -> Result<(), String> {
        let found = WorkspaceDoors::below(root);
        if let Some(link) = found.links.iter().find(|link| **link == root.join(".git"))
            && access == WorkspaceAccess::Rw
        {
            return Err(format!(
                "{} is a link, and whoever replaces it decides what git runs outside the \
                     sandbox; make it a folder, or set sandbox.workspaceAccess to ro",
                link.display()
            ));
        }
        doors.repositories.extend(found.repositories);
        doors.links.extend(found.links);
        doors.sockets.extend(found.sockets);
        Ok(())
    }

    /// Under which paths the workspace is there inside.
    fn workspace_names(&self) -> Vec<PathBuf> {
        let real = self.workspace.canonicalize().ok();
        let real = real.filter(|real| *real != self.workspace);
        std::iter::once(self.workspace.clone())
            .chain(real)
            .collect()
    }

    /// The walls around one command, with what is in the workspace now.
    fn walls_now(&self) -> Result<PathAccess, String> {
        let mut doors = self
            .doors()
            .map_err(|why| format!("The sandbox is not built: {why}."))?;
        doors.repositories.extend(self.config_parts.iter().cloned());
        let mut walls = self.walls.clone();
        if self.backend.has_mounts() {
            for root in self.workspace_names().iter().chain(&self.writable) {
                walls.write.extend(doors.ways_from(root));
            }
        }
        walls.keep = doors.repositories;
        walls.hide = doors.sockets;
        walls.hide.extend(self.closed.iter().cloned());
        Ok(walls)
    }

    /// The same command, started inside. `egress` is the socket of the proxy.
    pub fn wrap(
        &self,
        command: &BareCommand<'_>,
        egress: Option<&Path>,
    ) -> Result<WrappedCommand, String> {
        let walls = self.walls_now()?;
        let group = self.counting.group(&self.bounds).map_err(|error| {
            format!("The command was not run: its limits cannot be set up: {error}.")
        })?;
        let entrances = group.as_ref().map(Cgroup::entrances).unwrap_or_default();
        let order = self.order(command, walls.clone(), egress);
        let notes = command.written.map(|record| record.path().to_owned());
        let order = match self.backend {
            SandboxBackend::Landlock { .. } => HelperOrder {
                groups: entrances.clone(),
                notes: notes.clone(),
                ..order
            },
            // Neither can be reached any more where the helper is then.
            SandboxBackend::Bwrap { .. } => order,
        };
        let mut inside = vec![HELPER_COMMAND.into(), in_words(&order)?];
        inside.push(command.program.into());
        inside.extend(command.arguments.iter().cloned());
        let (program, name, arguments) = match &self.backend {
            SandboxBackend::Bwrap { program } => {
                let mut arguments = bubblewrap::arguments(&BubblewrapMounts {
                    walls: &walls,
                    helper: &self.helper,
                    egress,
                    folder: command.folder,
                    scratch: &self.scratch,
                    memory: self.bounds.memory,
                });
                arguments.push(bubblewrap::HELPER.into());
                arguments.extend(inside);
                match entrances.is_empty() && notes.is_none() {
                    true => (program.clone(), "bwrap".into(), arguments),
                    false => {
                        let join = in_words(&HelperOrder::join(entrances, notes))?;
                        let mut words = vec![HELPER_COMMAND.into(), join, program.into()];
                        words.extend(arguments);
                        (self.helper.clone(), "chela".into(), words)
                    }
                }
            }
            SandboxBackend::Landlock { .. } => (self.helper.clone(), "chela".into(), inside),
        };
        Ok(WrappedCommand {
            program,
            name,
            arguments,
            watch: FamilyWatch {
                leader: match self.backend {
                    SandboxBackend::Bwrap { .. } => FamilyLeader::Command,
                    SandboxBackend::Landlock { .. } => FamilyLeader::Supervisor,
                },
                // The helpers count too.
                processes: usize::try_from(self.bounds.processes).unwrap_or(usize::MAX) + 3,
                memory: Some(self.bounds.memory),
            },
            group: group.map(Arc::new),
        })
    }

    fn order(
        &self,
        command: &BareCommand<'_>,
        walls: PathAccess,
        egress: Option<&Path>,
    ) -> HelperOrder {
        let name = command.name.to_string_lossy().into_owned();
        let order = HelperOrder {
            stage: HelperStage::Supervise,
            name,
            bounds: CommandBounds {
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
            namespaces: SandboxNamespaces::Given,
            sockets: AllowedSockets::Local,
            signals: SignalLimit::Fenced,
            egress: None,
            groups: Vec::new(),
            starter: None,
            notes: None,
            over: Vec::new(),
        };
        match self.backend {
            SandboxBackend::Bwrap { .. } => HelperOrder {
                egress: egress.map(|_| PathBuf::from(bubblewrap::EGRESS)),
                ..order
            },
            SandboxBackend::Landlock {
                version,
                namespaces,
            } => HelperOrder {
                landlock: version,
                walls: Some(match namespaces {
                    SandboxNamespaces::Own => walls,
                    SandboxNamespaces::Given => walls.beside_what_is_kept(),
                }),
                namespaces,
                sockets: match namespaces {
                    SandboxNamespaces::Own => AllowedSockets::Local,
                    SandboxNamespaces::Given => AllowedSockets::None,
                },
                signals: match version >= SCOPES_SIGNALS {
                    true => SignalLimit::Fenced,
                    false => SignalLimit::Denied,
                },
                egress: egress.map(Path::to_owned),
                ..order
            },
        }
    }
}

/// An order as the argument that carries it.
pub(super) fn in_words(order: &HelperOrder) -> Result<OsString, String> {
    serde_json::to_string(order)
        .map(OsString::from)
        .map_err(|error| format!("The sandbox cannot be described: {error}"))
}
