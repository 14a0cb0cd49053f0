//! Is a session sandboxed, and how?

use std::path::{Path, PathBuf};

use chela_config::model::{
    Exec, ExecHost, ExecMode, Sandbox, SandboxDocker, SandboxMode, SandboxScope, WorkspaceAccess,
};
use chela_config::{AgentView, LoadedConfig};
use chela_core::{Host, SessionForm, SessionKey};

use super::bounds::plain;
use super::egress::EgressHosts;
use super::folder::SandboxFolder;
use super::machine::{BackendResult, WantedBackend, told_once};
use super::plan::{NetworkAccess, SCOPES_SIGNALS, SandboxPlan};
use super::settings;
use super::{
    CommandBounds, PathAccess, SandboxBackend, SandboxMachine, SandboxNamespaces, toolchains,
};

/// Whose session, and on which machine.
#[derive(Debug, Clone, Copy)]
pub struct SandboxAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    /// The channel the message came through; `None` at the terminal.
    pub channel: Option<&'a str>,
    /// Folders of skills and the like, to be read inside too.
    pub readable: &'a [PathBuf],
    /// Folders besides the workspace the owner lets the session work in.
    pub folders: &'a [WorkFolder],
}

/// A folder besides the workspace that the owner lets an agent work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFolder {
    /// The real path.
    pub path: PathBuf,
    pub access: FolderAccess,
    /// Folders in it that the owner said no to.
    pub closed: Vec<PathBuf>,
}

/// What an agent may do in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderAccess {
    Read,
    Write,
}

/// Whether a session runs inside a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxChoice {
    Yes,
    No,
}

/// Where the commands of a session run.
#[derive(Debug, Clone)]
pub enum SandboxStanding {
    /// On the machine itself, and why.
    Outside {
        why: String,
    },
    /// The session is outside and each command inside, unless the owner lets it out
    /// (`tools.exec.mode: auto`).
    CommandsInside(Box<SandboxPlan>),
    Inside(Box<SandboxPlan>),
    /// It must be sandboxed and cannot be: no command runs.
    Refused {
        why: String,
        access: WorkspaceAccess,
        folder: PathBuf,
    },
}

impl SandboxStanding {
    pub fn sandboxed(&self) -> SandboxChoice {
        match self {
            Self::Outside { .. } | Self::CommandsInside(_) => SandboxChoice::No,
            Self::Inside(_) | Self::Refused { .. } => SandboxChoice::Yes,
        }
    }

    /// The sandbox commands run in, where one can be built.
    pub fn plan(&self) -> Option<&SandboxPlan> {
        match self {
            Self::CommandsInside(plan) | Self::Inside(plan) => Some(plan),
            Self::Outside { .. } | Self::Refused { .. } => None,
        }
    }

    /// What the workspace is to the session; `None` outside.
    pub fn access(&self) -> Option<WorkspaceAccess> {
        match self {
            Self::Outside { .. } | Self::CommandsInside(_) => None,
            Self::Inside(plan) => Some(plan.access),
            Self::Refused { access, .. } => Some(*access),
        }
    }

    /// Makes the sandbox's own folders, where there is a sandbox.
    pub fn make_folders(&self, host: &Host) -> Result<(), String> {
        match self {
            // A sandbox for commands alone is made when the first of them runs.
            Self::Inside(plan) => plan.make_folders(host),
            Self::CommandsInside(_) | Self::Refused { .. } | Self::Outside { .. } => Ok(()),
        }
    }

    /// Where relative paths start: the workspace where it may be written, else the sandbox's own
    /// folder.
    pub fn workdir(&self, workspace: &Path) -> PathBuf {
        match self {
            Self::Inside(plan) => plan.workdir.clone(),
            Self::Refused { access, folder, .. } if *access != WorkspaceAccess::Rw => {
                folder.clone()
            }
            _ => workspace.to_owned(),
        }
    }
}

/// Whether a session is to be sandboxed, whatever the machine allows.
pub fn wants(ask: &SandboxAsk<'_>) -> bool {
    outside(ask, settings_of(ask).mode).is_none()
}

/// The parts of a config that commands could write, by the names they have there.
pub(super) fn config_parts(loaded: &LoadedConfig, walls: &PathAccess) -> Vec<PathBuf> {
    let both_names = |path: &Path| {
        let real = path.canonicalize().ok().filter(|real| real != path);
        std::iter::once(path.to_owned()).chain(real)
    };
    let is_open = |path: &PathBuf| walls.write.iter().any(|folder| path.starts_with(folder));
    let parts = loaded.files().flat_map(both_names).filter(is_open);
    parts.filter(|path| path.exists()).collect()
}

/// Decides for one session. Tries the backends only when one is needed.
pub fn standing(ask: &SandboxAsk<'_>) -> SandboxStanding {
    let settings = settings_of(ask);
    if let Some(why) = outside(ask, settings.mode) {
        return match commands_alone(ask, &settings) {
            None => SandboxStanding::Outside { why },
            Some(Ok(plan)) => SandboxStanding::CommandsInside(Box::new(plan)),
            Some(Err(none)) => SandboxStanding::Outside {
                why: format!("{why}, and {none}"),
            },
        };
    }
    let folder = SandboxFolder::of(ask.host, &settings, ask.view, ask.session);
    let plan = inside(ask, &settings, &folder).and_then(|plan| plan.doors().map(|_| plan));
    match plan {
        Ok(plan) => SandboxStanding::Inside(Box::new(plan)),
        Err(why) => SandboxStanding::Refused {
            why,
            access: settings.workspace_access,
            folder: folder.work(),
        },
    }
}

/// Whether what decides about commands is the sandbox: the default, and `tools.exec.mode: auto`.
pub fn is_auto(exec: &Exec) -> bool {
    let on_host = matches!(exec.host, Some(ExecHost::Gateway | ExecHost::Node));
    matches!(exec.mode, None | Some(ExecMode::Auto)) && !on_host
}

/// The sandbox for the commands of a session that is not sandboxed itself. `None`: the config
/// wants none.
fn commands_alone(ask: &SandboxAsk<'_>, settings: &Sandbox) -> Option<Result<SandboxPlan, String>> {
    is_auto(exec_of(ask)).then(|| {
        let settings = Sandbox {
            workspace_access: WorkspaceAccess::Rw,
            ..settings.clone()
        };
        let folder = SandboxFolder::of(ask.host, &settings, ask.view, ask.session);
        let mut plan = inside(ask, &settings, &folder)?;
        plan.doors()?;
        let shown = plan.walls.shown();
        let toolchains = toolchains::folders(ask.host).into_iter();
        let hidden = toolchains.filter(|folder| !shown.has(folder));
        let mut toolchains = PathAccess {
            read: hidden.collect(),
            ..PathAccess::default()
        };
        toolchains.name_both_ways();
        plan.toolchains = toolchains.read;
        plan.walls.read.extend(plan.toolchains.iter().cloned());
        plan.env.extend(toolchains::variables(ask.host));
        // Limits nobody chose are those of a guest; here the owner's own work runs.
        if settings.docker == SandboxDocker::default() {
            plan.bounds = plan.bounds.roomy();
        }
        plan.granted = std::mem::replace(&mut plan.network, NetworkAccess::None);
        Ok(plan)
    })
}

fn exec_of<'a>(ask: &SandboxAsk<'a>) -> &'a Exec {
    let own = ask.view.tools.value.exec.as_ref();
    own.unwrap_or(&ask.loaded.config.tools.exec)
}

/// Who shares a sandbox with all shares its settings too; only whether to be in it stays the
/// agent's own.
fn settings_of(ask: &SandboxAsk<'_>) -> Sandbox {
    let own = ask.view.sandbox.value.clone();
    let shared = &ask.loaded.config.agents.defaults.sandbox;
    match own.scope == SandboxScope::Shared {
        true => Sandbox {
            mode: own.mode,
            scope: own.scope,
            workspace_access: own.workspace_access,
            ..shared.clone()
        },
        false => own,
    }
}

/// Why a session is not sandboxed.
fn outside(ask: &SandboxAsk<'_>, mode: SandboxMode) -> Option<String> {
    /// Where the owner sits at the machine itself.
    const LOCAL: &[&str] = &["cli", "terminal", "tui", "webchat"];
    match mode {
        SandboxMode::Off => Some("sandbox.mode is off".to_owned()),
        SandboxMode::All => None,
        SandboxMode::NonMain => {
            let is_main = matches!(
                ask.session.form,
                SessionForm::Main { .. } | SessionForm::Global
            );
            // Somebody who writes from outside is not the main session, even where they share it.
            let is_local = ask.channel.is_none_or(|channel| {
                LOCAL
                    .iter()
                    .any(|local| local.eq_ignore_ascii_case(channel))
            });
            (is_main && is_local)
                .then(|| "sandbox.mode is non-main, and this is the main session".to_owned())
        }
    }
}

fn inside(
    ask: &SandboxAsk<'_>,
    settings: &Sandbox,
    folder: &SandboxFolder,
) -> Result<SandboxPlan, String> {
    let machine = SandboxMachine::of(ask.host);
    let backend = backend(
        settings.backend.as_deref(),
        || machine.bwrap(),
        || machine.landlock(),
    )?;
    let mut notes = Vec::new();
    let workspace = &ask.view.workspace.value;
    let hidden = [ask.host.user_home.clone(), ask.host.state_dir()];
    let hidden: Vec<&Path> = hidden.iter().map(PathBuf::as_path).collect();
    let mut walls = PathAccess::of_the_system(&hidden);
    walls.write.push(folder.root.clone());
    match settings.workspace_access {
        WorkspaceAccess::None => {}
        WorkspaceAccess::Ro => walls.read.push(workspace.clone()),
        WorkspaceAccess::Rw => walls.write.push(workspace.clone()),
    }
    if settings.workspace_access != WorkspaceAccess::None {
        opens_too_much(ask.host, workspace)?;
    }
    walls.read.extend(ask.readable.iter().cloned());
    let closed: Vec<PathBuf> = ask
        .folders
        .iter()
        .flat_map(|folder| folder.closed.iter().cloned())
        .collect();
    if let Some(closed) = closed.first()
        && !backend.has_mounts()
    {
        return Err(format!(
            "{} must stay closed inside a folder that is open, which takes bubblewrap or user \
             namespaces",
            ask.host.compact(closed)
        ));
    }
    for folder in ask.folders {
        check_work_folder(ask.host, &folder.path)?;
        match folder.access {
            FolderAccess::Read => walls.read.push(folder.path.clone()),
            FolderAccess::Write => walls.write.push(folder.path.clone()),
        }
    }
    binds(ask.host, settings, &mut walls, &mut notes);
    walls.name_both_ways();
    notes.extend(shortcomings(
        &backend,
        settings.workspace_access,
        &ask.host.compact(workspace),
    ));
    let counting = SandboxMachine::counting();
    notes.extend(settings::without_effect(settings, &backend, counting));
    let network = network(settings, &backend, &mut notes);
    let exec = exec_of(ask);
    Ok(SandboxPlan {
        helper: machine.helper()?.to_owned(),
        backend,
        access: settings.workspace_access,
        scope: settings.scope,
        workdir: match settings.workspace_access {
            WorkspaceAccess::Rw => workspace.clone(),
            _ => folder.work(),
        },
        workspace: workspace.clone(),
        writable: ask
            .folders
            .iter()
            .filter(|folder| folder.access == FolderAccess::Write)
            .map(|folder| folder.path.clone())
            .collect(),
        closed,
        folder: folder.clone(),
        config_parts: config_parts(ask.loaded, &walls),
        walls,
        toolchains: Vec::new(),
        network,
        granted: NetworkAccess::None,
        bounds: CommandBounds::of(&settings.docker, exec.timeout_seconds, &mut notes),
        counting: counting.clone(),
        scratch: settings::scratch(&settings.docker, &mut notes),
        session: ask.session.to_string(),
        env: settings
            .docker
            .env
            .iter()
            .map(|(name, value)| (name.clone(), plain(&value.0)))
            .collect(),
        notes,
    })
}

/// Bubblewrap where it works, else Landlock; or the one the config names.
pub(super) fn backend(
    wanted: Option<&str>,
    bwrap: impl FnOnce() -> BackendResult,
    landlock: impl FnOnce() -> BackendResult,
) -> BackendResult {
    match WantedBackend::read(wanted)? {
        WantedBackend::Any => bwrap().or_else(|no_bwrap| {
            landlock().map_err(|no_landlock| {
                let why = told_once(&[&no_bwrap, &no_landlock]);
                format!("no sandbox can be built on this machine: {why}")
            })
        }),
        WantedBackend::Bwrap => bwrap(),
        WantedBackend::Landlock => landlock(),
    }
}

/// What a backend does not let commands do, or does not hide, that others would.
fn shortcomings(backend: &SandboxBackend, access: WorkspaceAccess, workspace: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let SandboxBackend::Landlock {
        version,
        namespaces,
    } = backend
    else {
        return notes;
    };
    if *namespaces == SandboxNamespaces::Given {
        notes.push(
            "without bubblewrap or user namespaces, modes, owners and attributes of files cannot \
             be changed inside (chmod fails), and commands can see that a file outside exists, \
             but not read it"
                .to_owned(),
        );
        if access == WorkspaceAccess::Rw {
            notes.push(format!(
                "commands cannot add anything to {workspace} itself, nor to a folder in it that \
                 leads to a repository, only to other folders in them: otherwise their .git \
                 could not be protected"
            ));
        }
    }
    if *version < SCOPES_SIGNALS {
        notes.push(format!(
            "version {version} of Landlock does not keep signals inside, so commands can send \
             none, not even to their own processes"
        ));
    }
    notes
}

/// A workspace that has the home or state folder inside cannot be shown without them.
/// Why a folder must not be opened to an agent: what decides over the agent lies in it.
pub fn opens_too_much(host: &Host, workspace: &Path) -> Result<(), String> {
    let real = workspace.canonicalize();
    let real = real.as_deref().unwrap_or(workspace);
    for (what, path) in [
        ("the home folder", host.user_home.clone()),
        ("Chela's home", host.state_dir()),
        ("the config", host.config_file()),
    ] {
        let path = path.canonicalize().unwrap_or(path);
        if path.starts_with(real) {
            return Err(format!(
                "{} contains {what}, which must stay out of reach; choose a separate folder, or \
                 set sandbox.workspaceAccess to none",
                host.compact(workspace)
            ));
        }
    }
    Ok(())
}

/// Whether commands may work in a folder besides the workspace: neither around what Chela keeps nor
/// inside of it, where trust, approvals and keys are.
pub fn check_work_folder(host: &Host, folder: &Path) -> Result<(), String> {
    opens_too_much(host, folder)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match real(folder).starts_with(real(&host.state_dir())) {
        true => Err(format!(
            "{} belongs to what Chela keeps, which must stay out of reach; choose another folder",
            host.compact(folder)
        )),
        false => Ok(()),
    }
}

/// `sandbox.docker.binds`, where a folder keeps its place.
fn binds(host: &Host, settings: &Sandbox, walls: &mut PathAccess, notes: &mut Vec<String>) {
    for bind in &settings.docker.binds {
        let mut parts = bind.split(':');
        let source = host.expand(parts.next().unwrap_or_default());
        let (mut target, mut read_only) = (source.clone(), false);
        for part in parts {
            match part.trim() {
                "ro" => read_only = true,
                "rw" | "" => {}
                path => target = host.expand(path),
            }
        }
        let shown = chela_core::sanitize::literal(bind).into_owned();
        let inner = source.starts_with(&host.user_home)
            || source.starts_with(host.state_dir())
            || host.user_home.starts_with(&source)
            || host.state_dir().starts_with(&source);
        if target != source {
            notes.push(format!(
                "sandbox.docker.binds `{shown}` is ignored: a folder keeps its path inside"
            ));
        } else if inner && !settings.docker.dangerously_allow_external_bind_sources {
            notes.push(format!(
                "sandbox.docker.binds `{shown}` is ignored: it opens the home folder; \
                 dangerouslyAllowExternalBindSources allows it"
            ));
        } else if read_only {
            walls.read.push(source);
        } else {
            walls.write.push(source);
        }
    }
}

fn network(settings: &Sandbox, backend: &SandboxBackend, notes: &mut Vec<String>) -> NetworkAccess {
    let named = settings.docker.network.trim();
    if !named.is_empty() && named != "none" {
        notes.push(format!(
            "sandbox.docker.network `{}` is for containers; list the hosts in sandbox.egress",
            chela_core::sanitize::literal(named)
        ));
    }
    let hosts = EgressHosts::of(&settings.egress, notes);
    if hosts.is_empty() {
        return NetworkAccess::None;
    }
    if let SandboxBackend::Landlock {
        namespaces: SandboxNamespaces::Given,
        ..
    } = backend
    {
        notes.push(
            "sandbox.egress is ignored: without bubblewrap or user namespaces the network cannot \
             be limited to these hosts, so there is none"
                .to_owned(),
        );
        return NetworkAccess::None;
    }
    NetworkAccess::Hosts(hosts)
}

#[cfg(test)]
mod tests;
