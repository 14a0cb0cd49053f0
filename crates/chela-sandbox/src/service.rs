//! Walls around a program that serves agents for longer than one command: a tool server, a plugin.
//!
//! It gets nothing of what an agent's commands get: no workspace, no folder, no host, but for what its
//! owner named. Its own folder is kept between starts and belongs to nobody else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_config::LoadedConfig;
use chela_config::model::{SandboxScope, WorkspaceAccess};
use chela_core::Host;

use super::bounds::plain;
use super::decide::{backend, check_work_folder, config_parts};
use super::egress::EgressHosts;
use super::folder::SandboxFolder;
use super::kept::WorkspaceDoors;
use super::plan::{NetworkAccess, SandboxPlan};
use super::{
    CommandBounds, FolderAccess, PathAccess, SandboxMachine, WorkFolder, settings, toolchains,
};

/// Seconds of processor time one process of a service may use before it is ended.
const CPU_SECONDS: u64 = 3_600;

/// What a service is to be shown.
#[derive(Debug)]
pub struct ServiceAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    /// Names its folder: letters, digits, `-` and `_`.
    pub name: &'a str,
    /// Files and folders it cannot start without, such as its program.
    pub readable: &'a [PathBuf],
    /// Folders its owner named.
    pub folders: &'a [WorkFolder],
    /// Hosts its owner named.
    pub hosts: EgressHosts,
}

impl SandboxPlan {
    /// The walls around a service. The error says why there are none.
    pub fn for_service(ask: ServiceAsk<'_>) -> Result<Self, String> {
        let ServiceAsk { host, loaded, .. } = ask;
        let settings = &loaded.config.agents.defaults.sandbox;
        let machine = SandboxMachine::of(host);
        let backend = backend(
            settings.backend.as_deref(),
            || machine.bwrap(),
            || machine.landlock(),
        )?;
        let folder = SandboxFolder {
            root: SandboxFolder::all(host, settings).join(format!("service-{}", ask.name)),
        };
        let hidden = [host.user_home.clone(), host.state_dir()];
        let hidden: Vec<&Path> = hidden.iter().map(PathBuf::as_path).collect();
        let mut walls = PathAccess::of_the_system(&hidden);
        walls.write.push(folder.root.clone());
        for given in ask.folders {
            check_service_folder(host, loaded, &given.path)?;
            match given.access {
                FolderAccess::Read => walls.read.push(given.path.clone()),
                FolderAccess::Write => walls.write.push(given.path.clone()),
            }
        }
        let toolchains = toolchains::folders(host).into_iter();
        let besides = toolchains.chain(ask.readable.iter().cloned());
        let shown = walls.shown();
        let unseen: Vec<PathBuf> = besides.filter(|path| !shown.has(path)).collect();
        walls.read.extend(unseen);
        walls.name_both_ways();
        let mut notes = Vec::new();
        let bounds = CommandBounds::of(&settings.docker, CPU_SECONDS, &mut notes);
        let counting = SandboxMachine::counting();
        let mut env: BTreeMap<String, String> = toolchains::variables(host);
        let inside = settings.docker.env.iter();
        env.extend(inside.map(|(name, value)| (name.clone(), plain(&value.0))));
        let scratch = settings::scratch(&settings.docker, &mut notes);
        let plan = Self {
            helper: machine.helper()?.to_owned(),
            backend,
            access: WorkspaceAccess::None,
            scope: SandboxScope::Shared,
            workdir: folder.work(),
            workspace: folder.work(),
            writable: written_folders(ask.folders),
            closed: Vec::new(),
            config_parts: config_parts(loaded, &walls),
            walls,
            toolchains: Vec::new(),
            network: NetworkAccess::None,
            granted: NetworkAccess::None,
            bounds,
            counting: counting.clone(),
            scratch,
            session: format!("service {}", ask.name),
            env,
            notes,
            folder,
        };
        let plan = match ask.hosts.is_empty() {
            true => plan,
            false => plan.reaching(ask.hosts).map_err(|_| {
                "without bubblewrap or user namespaces the network cannot be limited to the hosts \
                 it was given"
                    .to_owned()
            })?,
        };
        plan.doors().map(|_: WorkspaceDoors| plan)
    }
}

fn written_folders(folders: &[WorkFolder]) -> Vec<PathBuf> {
    let written = folders.iter();
    let written = written.filter(|folder| folder.access == FolderAccess::Write);
    written.map(|folder| folder.path.clone()).collect()
}

/// A folder that a service may be shown: what Chela keeps stays out of reach, but for the
/// workspaces in it, which their owner can give away.
fn check_service_folder(host: &Host, loaded: &LoadedConfig, folder: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder_real = real(folder);
    let is_workspace = loaded
        .agents()
        .iter()
        .filter_map(|agent| loaded.agent(agent))
        .any(|view| folder_real.starts_with(real(&view.workspace.value)));
    match is_workspace {
        true => Ok(()),
        false => check_work_folder(host, folder),
    }
}

#[cfg(test)]
mod tests {
    use chela_config::LoadedConfig;
    use chela_core::Host;

    use super::check_service_folder;

    #[test]
    fn what_chela_keeps_is_shown_to_no_service() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let loaded = chela_config::load(&host);
        let check = |path: &str| {
            let folder = home.path().join(path);
            std::fs::create_dir_all(&folder).unwrap();
            check_service_folder(&host, &loaded, &folder)
        };
        let _: &LoadedConfig = &loaded;
        assert_eq!(check("docs"), Ok(()));
        assert_eq!(check(".chela/workspace"), Ok(()));
        assert_eq!(check(".chela/workspace/notes"), Ok(()));
        for closed in ["", ".chela", ".chela/state", ".chela/keys", ".."] {
            assert!(check(closed).is_err(), "{closed}");
        }
    }
}
