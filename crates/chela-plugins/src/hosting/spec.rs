//! A plugin as a program in walls: what it is started as, and what its grants open to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::Host;
use chela_mcp::{
    McpServerSpec, ServerGrants, ServerPatience, ServerReach, ServerWalls, SpecValue,
    ToolNameFilter,
};
use chela_sandbox::{FolderAccess, WorkFolder};

use crate::grant::PluginGrant;
use crate::installed::InstalledPlugin;
use crate::manifest::{PluginProgram, ProgramKind};
use crate::openclaw;

pub(super) fn of_program(
    host: &Host,
    plugin: &InstalledPlugin,
    program: &PluginProgram,
) -> Result<McpServerSpec, String> {
    let (command, args, shim) = match &program.kind {
        ProgramKind::Command(words) => {
            let mut words = words.iter();
            let command = words.next().ok_or("it names no program")?;
            let args = words.map(|word| in_package(plugin, word)).collect();
            (in_package(plugin, command), args, None)
        }
        ProgramKind::OpenClaw { entry } => {
            let shim = openclaw::lay_out_shim(host).map_err(|error| {
                format!("the shim for OpenClaw's plugins cannot be written: {error}")
            })?;
            let args =
                openclaw::node_arguments(&shim, &plugin.folder.join(entry), &plugin.settings);
            ("node".to_owned(), args, Some(shim))
        }
    };
    let mut spec = spec_of(host, plugin, command, args);
    spec.grants.package.extend(shim);
    Ok(spec)
}

/// A command as a shell runs it.
pub(super) fn of_command(host: &Host, plugin: &InstalledPlugin, command: &str) -> McpServerSpec {
    let args = vec!["-c".to_owned(), command.to_owned()];
    spec_of(host, plugin, "/bin/sh".to_owned(), args)
}

fn spec_of(
    host: &Host,
    plugin: &InstalledPlugin,
    command: String,
    args: Vec<String>,
) -> McpServerSpec {
    let folder = plugin.folder.display().to_string();
    let variables = [
        ("PLUGIN_ROOT", folder.clone()),
        ("CLAUDE_PLUGIN_ROOT", folder),
        ("CHELA_PLUGIN_ID", plugin.id.clone()),
    ];
    McpServerSpec {
        name: plugin.id.clone(),
        prefix: prefix_of(&plugin.id),
        set_up_by: format!("plugins.entries.{}", plugin.id),
        reach: ServerReach::Program {
            command,
            args,
            env: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), SpecValue::Plain(value)))
                .collect(),
            cwd: Some(plugin.folder.clone()),
        },
        grants: grants_of(host, plugin),
        patience: ServerPatience {
            connect: Duration::from_secs(30),
            ..ServerPatience::default()
        },
        filter: ToolNameFilter::default(),
    }
}

/// What its files are called: its log, its folder in the sandbox.
pub(crate) fn prefix_of(id: &str) -> String {
    format!("plugin-{}", id.replace('.', "_"))
}

fn grants_of(host: &Host, plugin: &InstalledPlugin) -> ServerGrants {
    let mut grants = ServerGrants {
        package: vec![plugin.folder.clone()],
        walls: ServerWalls::Always,
        ..ServerGrants::default()
    };
    let folder = |path: &str, access| {
        let path = host.expand(path);
        WorkFolder {
            path: path.canonicalize().unwrap_or(path),
            access,
            closed: Vec::new(),
        }
    };
    for grant in plugin.grants.iter() {
        match grant {
            PluginGrant::Host(name) => grants.hosts.push(name.clone()),
            PluginGrant::Read(path) => grants.folders.push(folder(path, FolderAccess::Read)),
            PluginGrant::Write(path) => grants.folders.push(folder(path, FolderAccess::Write)),
            // One that is not set is none it could know.
            PluginGrant::Env(name) if host.env.contains_key(name) => {
                grants.pass_env.push(name.clone());
            }
            _ => {}
        }
    }
    grants
}

/// A word of a command line: a file of the package stands for itself.
fn in_package(plugin: &InstalledPlugin, word: &str) -> String {
    let root = plugin.folder.display().to_string();
    let word = word
        .replace("${PLUGIN_ROOT}", &root)
        .replace("${CLAUDE_PLUGIN_ROOT}", &root);
    let inner = Path::new(word.trim_start_matches("./"));
    let stays = inner
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    let file: PathBuf = plugin.folder.join(inner);
    match stays && !inner.as_os_str().is_empty() && file.exists() {
        true => file.display().to_string(),
        false => word,
    }
}

/// Whether a program that runs as one may stand for the other.
pub(super) fn is_same(one: &McpServerSpec, other: &McpServerSpec) -> bool {
    one.launch_hash() == other.launch_hash()
        && one.grants.hosts == other.grants.hosts
        && one.grants.pass_env == other.grants.pass_env
        && one.grants.folders == other.grants.folders
}
