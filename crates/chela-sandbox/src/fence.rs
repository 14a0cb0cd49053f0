//! A command outside the sandbox, kept from what Chela keeps.
//!
//! Outside a command may do what the owner may: it has the network and the whole disk. It has no
//! business with the records that say what the agent may do and who said what, so these cannot be
//! changed by it, nor the keys among them read. What the kernel does about that needs no rights: a
//! tree of mounts of the command's own, with what Chela keeps mounted read-only; bubblewrap, where
//! only that may make one; or rules of Landlock. Read-only commands of Chela go on working inside.
//!
//! What the owner's user may do by other programs stays open: a service manager, a container
//! daemon. And programs that become another user do not work inside, so a command that names one
//! is started without (`sudo`), which its question says.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use chela_config::LoadedConfig;
use chela_config::model::Exec;
use chela_core::{Host, ok_or_debug, ok_or_warn};
use chela_files::{FileMode, create_private_folder, write_file};

use super::PathAccess;
use super::bubblewrap::{self, FenceMounts};
use super::machine::{SandboxBackend, SandboxMachine, WantedBackend};
use super::mount_table::MountTable;
use super::order::{HELPER_COMMAND, HelperOrder, SandboxNamespaces};
use super::plan::in_words;

/// Files of a home with keys, which nobody outside reads either.
const KEYS: &[&str] = &[
    ".env",
    "state/.env",
    "state/gateway.token",
    "state/installation.key",
];

/// Parts of the settings of ssh. It refuses those that do not belong to root or to oneself, and in
/// a tree of one's own root is nobody: the same texts are there as the owner's own.
const SSH_PARTS: &str = "/etc/ssh/ssh_config.d";
/// Below the state folder: those copies.
const SSH_COPIES: &str = "state/fence/ssh_config.d";
/// No part of the settings of ssh is larger.
const MOST_SSH_BYTES: u64 = 1 << 20;

/// Programs that become another user. None of them can where nobody gains rights.
const OTHER_USERS: &[&str] = &[
    "doas", "newgrp", "pkexec", "run0", "runuser", "sg", "su", "sudo", "sudoedit",
];

/// What keeps commands outside the sandbox from what Chela keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFence {
    helper: PathBuf,
    kind: FenceKind,
    access: PathAccess,
    skills: PathBuf,
    /// Where copies of the settings of ssh are, and of which folder.
    ssh: Option<(PathBuf, PathBuf)>,
}

/// How it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FenceKind {
    /// A tree of mounts that the helper makes.
    Mounts,
    /// The same made by bubblewrap.
    Bubblewrap(PathBuf),
    /// Rules of Landlock, of this version.
    Landlock(u8),
}

/// What is to be kept, and with what. What the machine has is looked at when it is first asked for.
#[derive(Debug)]
pub struct FencePlan {
    host: Host,
    access: PathAccess,
    backend: Option<String>,
    switch: FenceSwitch,
    found: OnceLock<Result<StateFence, String>>,
}

/// Whether the config wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceSwitch {
    On,
    Off,
}

impl FenceSwitch {
    pub fn of(exec: &Exec) -> Self {
        match exec.protect_state {
            true => Self::On,
            false => Self::Off,
        }
    }
}

/// Whose commands are kept from it.
#[derive(Debug, Clone, Copy)]
pub struct FenceAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    /// The backend of sandboxes the config names.
    pub backend: Option<&'a str>,
    pub switch: FenceSwitch,
}

/// Whether a program becomes another user, by its name. Root needs no program for that.
pub fn becomes_other_user(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    OTHER_USERS.contains(&name) && !rustix::process::getuid().is_root()
}

impl FencePlan {
    pub fn of(ask: &FenceAsk<'_>) -> Self {
        let home = ask.host.state_dir();
        let mut keep = vec![home.clone(), ask.host.config_file()];
        keep.extend(homes_beside(ask.host, &home));
        keep.extend(ask.loaded.files().map(Path::to_owned));
        let agents = ask.loaded.agents();
        let workspaces = agents.iter().map(|id| ask.loaded.workspace_dir(id).value);
        let mut write: Vec<PathBuf> = workspaces.collect();
        write.push(home.join("skills"));
        Self {
            host: ask.host.clone(),
            access: PathAccess {
                read: Vec::new(),
                write,
                keep,
                hide: KEYS.iter().map(|key| home.join(key)).collect(),
            },
            backend: ask.backend.map(str::to_owned),
            switch: ask.switch,
            found: OnceLock::new(),
        }
    }

    /// What there is, or why there is nothing.
    pub fn fence(&self) -> Result<&StateFence, &str> {
        let found = self.found.get_or_init(|| self.look());
        found.as_ref().map_err(String::as_str)
    }

    fn look(&self) -> Result<StateFence, String> {
        if self.switch == FenceSwitch::Off {
            return Err("tools.exec.protectState is off".to_owned());
        }
        let machine = SandboxMachine::of(&self.host);
        let wanted = WantedBackend::read(self.backend.as_deref())?;
        let kind = FenceKind::of(&machine, wanted)?;
        let is_root = rustix::process::getuid().is_root();
        let parts = PathBuf::from(SSH_PARTS);
        let ssh = (!is_root && !matches!(kind, FenceKind::Landlock(_)) && parts.is_dir())
            .then(|| (self.host.state_dir().join(SSH_COPIES), parts));
        Ok(StateFence {
            helper: machine.helper()?.to_owned(),
            kind,
            access: self.access.clone(),
            skills: self.host.state_dir().join("skills"),
            ssh,
        })
    }
}

impl StateFence {
    pub fn kind(&self) -> &FenceKind {
        &self.kind
    }

    /// A program as it is started with this. `starter`: ends when this thread does.
    pub fn wrap(
        &self,
        name: String,
        program: &Path,
        arguments: Vec<OsString>,
        starter: Option<i32>,
    ) -> Result<(PathBuf, Vec<OsString>), String> {
        self.copy_ssh_parts();
        // In a folder that is kept none can be made: skills are made here.
        let made = create_private_folder(&self.skills);
        ok_or_warn!(made, "the folder of skills cannot be made");
        let mut access = as_they_are(&self.access);
        if !matches!(self.kind, FenceKind::Landlock(_)) {
            // What is not there need not be hidden: nothing can be made there.
            access.hide.retain(|path| path.exists());
        }
        let ssh = self.ssh.clone().filter(|(copies, _)| copies.is_dir());
        let order = HelperOrder::fence(name);
        let (order, before) = match &self.kind {
            FenceKind::Mounts => (
                HelperOrder {
                    walls: Some(access),
                    namespaces: SandboxNamespaces::Own,
                    over: ssh.into_iter().collect(),
                    starter,
                    ..order
                },
                None,
            ),
            FenceKind::Landlock(version) => (
                HelperOrder {
                    walls: Some(access),
                    landlock: *version,
                    starter,
                    ..order
                },
                None,
            ),
            FenceKind::Bubblewrap(bwrap) => {
                let words = bubblewrap::fence_arguments(&FenceMounts {
                    access: &access,
                    over: ssh.as_ref(),
                    tied: starter.is_some(),
                });
                (order, Some((bwrap, words)))
            }
        };
        let inside = [HELPER_COMMAND.into(), in_words(&order)?, program.into()];
        let inside = inside.into_iter().chain(arguments);
        Ok(match before {
            None => (self.helper.clone(), inside.collect()),
            Some((bwrap, mut words)) => {
                words.push(self.helper.clone().into());
                words.extend(inside);
                (bwrap.clone(), words)
            }
        })
    }

    /// Copies the parts of ssh's settings where the owner owns them. Without them ssh refuses to
    /// start, which is said by itself.
    fn copy_ssh_parts(&self) {
        let Some((copies, parts)) = &self.ssh else {
            return;
        };
        let made = create_private_folder(copies);
        if ok_or_warn!(made, "the settings of ssh cannot be copied").is_none() {
            return;
        }
        let entries = |folder: &Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.file_name())
                .collect::<BTreeSet<_>>()
        };
        let wanted = entries(parts);
        for name in entries(copies).difference(&wanted) {
            let gone = std::fs::remove_file(copies.join(name));
            ok_or_warn!(gone, "an old copy of the settings of ssh stays");
        }
        for name in wanted {
            let from = parts.join(&name);
            let is_part = from
                .metadata()
                .is_ok_and(|found| found.is_file() && found.len() <= MOST_SSH_BYTES);
            let Some(text) = is_part.then(|| std::fs::read(&from).ok()).flatten() else {
                continue;
            };
            let to = copies.join(&name);
            if std::fs::read(&to).ok().as_ref() != Some(&text) {
                let copied = write_file(&to, &text, FileMode::Private);
                ok_or_warn!(copied, "the settings of ssh cannot be copied");
            }
        }
    }
}

impl FenceKind {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mounts => "mounts",
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock(_) => "landlock",
        }
    }

    /// What works here, the one with the fewest effects on commands first.
    fn of(machine: &SandboxMachine, wanted: WantedBackend) -> Result<Self, String> {
        let mounts = || match machine.has_own_namespaces()? {
            true => Ok(Self::Mounts),
            false => Err("nobody may make namespaces of their own here".to_owned()),
        };
        let bubblewrap = || match machine.bwrap()? {
            SandboxBackend::Bwrap { program } => Ok(Self::Bubblewrap(program)),
            SandboxBackend::Landlock { .. } => Err("bubblewrap was not found".to_owned()),
        };
        let landlock = || match machine.landlock()? {
            SandboxBackend::Landlock { version, .. } => Ok(Self::Landlock(version)),
            SandboxBackend::Bwrap { .. } => Err("Landlock was not found".to_owned()),
        };
        match wanted {
            WantedBackend::Bwrap => bubblewrap(),
            WantedBackend::Landlock => mounts().or_else(|_: String| landlock()),
            WantedBackend::Any => mounts().or_else(|no_mounts| {
                bubblewrap().or_else(|no_bubblewrap| {
                    landlock().map_err(|no_landlock: String| {
                        format!("{no_mounts}, {no_bubblewrap}, and {no_landlock}")
                    })
                })
            }),
        }
    }
}

impl std::fmt::Display for FenceKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Mounts => "by mounts of their own",
            Self::Bubblewrap(_) => "by mounts that bubblewrap makes",
            Self::Landlock(_) => {
                "by rules of Landlock, with which they cannot create anything directly in the \
                 folders that lead there, such as your home folder"
            }
        })
    }
}

/// The paths as the kernel knows them now. What lies in a folder that is kept needs nothing of its
/// own; of what may be written only what lies in there is of interest.
fn as_they_are(access: &PathAccess) -> PathAccess {
    let mut keep = real(&access.keep);
    keep.retain(|path| path.exists());
    let folders = keep.clone();
    let is_within = |path: &Path| {
        let mut folders = folders.iter();
        folders.any(|folder| folder != path && path.starts_with(folder))
    };
    keep.retain(|path| !is_within(path));
    let mut write = real(&access.write);
    write.retain(|path| path.is_dir() && is_within(path));
    let mut hide = real(&access.hide);
    // A disk may be mounted in more than one place.
    if let Some(table) = ok_or_debug!(MountTable::read(), "what is mounted is not known") {
        for paths in [&mut keep, &mut hide] {
            let others = paths.iter().flat_map(|path| table.other_names(path));
            let others: Vec<PathBuf> = others.collect();
            paths.extend(others);
        }
    }
    PathAccess {
        read: Vec::new(),
        write,
        keep,
        hide,
    }
}

/// The homes of other profiles: what one agent is let do is no word about the others.
fn homes_beside(host: &Host, home: &Path) -> Vec<PathBuf> {
    let (Some(name), Some(folder)) = (home.file_name(), home.parent()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let of_profile = host.profile().map(|profile| format!("-{profile}"));
    let usual = of_profile.and_then(|end| name.strip_suffix(&end).map(str::to_owned));
    let usual = usual.unwrap_or_else(|| name.into_owned());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_home = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let rest = name.as_deref().and_then(|name| name.strip_prefix(&usual));
        let is_named = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']));
        is_named && path.join("state").is_dir()
    };
    entries.map(|entry| entry.path()).filter(is_home).collect()
}

/// Real paths, by which the kernel knows them, each once. One that is not there is known by its folder.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = paths.iter().map(|path| {
        path.canonicalize().unwrap_or_else(|_| {
            let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
            match (folder, path.file_name()) {
                (Some(folder), Some(name)) => folder.join(name),
                _ => path.clone(),
            }
        })
    });
    let real: BTreeSet<PathBuf> = real.collect();
    real.into_iter().collect()
}
