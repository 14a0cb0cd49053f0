//! Where skills come from, and how far each place is trusted by itself.

use std::path::{Path, PathBuf};

use chela_core::Host;
use serde::Serialize;

use crate::settings::{PluginState, SkillsSettings};

/// A kind of place that holds skills, from the lowest precedence to the highest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// `skills.load.extraDirs`.
    Extra,
    /// Brought along by a plugin.
    Plugin(String),
    /// Compiled into Chela.
    Bundled,
    /// Fetched by `skills add` and not trusted yet.
    Downloaded,
    /// `<state>/skills`.
    Managed,
    /// `~/.agents/skills` and `~/.pi/agent/skills`.
    Personal,
    /// The `skills/` folder of an npm package named in `skills.load.packages`.
    Package(String),
    /// `.agents/skills`, `.pi/skills` or `.claude/skills` of the folder the agent works in.
    Project,
    /// `<workspace>/.agents/skills`.
    WorkspaceAgents,
    /// `<workspace>/skills`.
    Workspace,
    /// `--skill PATH`.
    Explicit,
}

/// How far a place is trusted before anyone looked at what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Compiled in and checked by hash.
    BuiltIn,
    /// The owner put it there.
    Own,
    /// It came with somebody else's files.
    Foreign,
}

impl Source {
    pub fn standing(&self) -> Standing {
        match self {
            Self::Bundled => Standing::BuiltIn,
            Self::Downloaded | Self::Project => Standing::Foreign,
            _ => Standing::Own,
        }
    }

    /// The agent's own skills, which come first when room is short.
    pub fn is_workspace(&self) -> bool {
        matches!(
            self,
            Self::Workspace | Self::WorkspaceAgents | Self::Explicit
        )
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Extra => f.write_str("extra"),
            Self::Plugin(id) => write!(f, "plugin {id}"),
            Self::Bundled => f.write_str("bundled"),
            Self::Downloaded => f.write_str("downloaded"),
            Self::Managed => f.write_str("managed"),
            Self::Personal => f.write_str("personal"),
            Self::Package(name) => write!(f, "package {name}"),
            Self::Project => f.write_str("project"),
            Self::WorkspaceAgents => f.write_str("workspace .agents"),
            Self::Workspace => f.write_str("workspace"),
            Self::Explicit => f.write_str("--skill"),
        }
    }
}

/// A folder that is searched for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub dir: PathBuf,
    pub source: Source,
    /// Decides between roots of the same source: the higher wins.
    pub level: usize,
    /// For the skills of a plugin: whether it is switched on.
    pub plugin: Option<PluginState>,
}

/// The folders an agent's skills are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub state_dir: PathBuf,
    pub workspace: PathBuf,
    /// The folder the agent works in; its own skills are foreign.
    pub project: Option<PathBuf>,
}

/// Fetched skills wait here until they are trusted.
pub(crate) fn quarantine_dir(state_dir: &Path) -> PathBuf {
    state_dir.join("quarantine").join("skills")
}

/// Skills that commands put in place.
pub(crate) fn managed_dir(state_dir: &Path) -> PathBuf {
    state_dir.join("skills")
}

/// All roots, lowest precedence first. A folder named twice counts once, at its highest place;
/// but a folder of the owner's never turns foreign by being the project as well.
pub fn roots(host: &Host, places: &Places, settings: &SkillsSettings, bundled: &Path) -> Vec<Root> {
    let mut found: Vec<Root> = Vec::new();
    let mut add = |dir: PathBuf, source: Source, plugin: Option<PluginState>| {
        found.push(Root {
            dir,
            source,
            level: 0,
            plugin,
        });
    };
    for dir in &settings.load.extra_dirs {
        add(host.expand(dir), Source::Extra, None);
    }
    for plugin in &settings.plugins {
        add(
            plugin.dir.clone(),
            Source::Plugin(plugin.plugin.clone()),
            Some(plugin.state),
        );
    }
    add(bundled.to_owned(), Source::Bundled, None);
    add(quarantine_dir(&places.state_dir), Source::Downloaded, None);
    add(managed_dir(&places.state_dir), Source::Managed, None);
    add(
        host.user_home.join(".pi/agent/skills"),
        Source::Personal,
        None,
    );
    add(
        host.user_home.join(".agents/skills"),
        Source::Personal,
        None,
    );
    for package in &settings.load.packages {
        if let Some(dir) = package_skills(host, places, package) {
            add(dir, Source::Package(package.clone()), None);
        }
    }
    if let Some(project) = &places.project {
        for own in [".claude/skills", ".pi/skills", ".agents/skills"] {
            add(project.join(own), Source::Project, None);
        }
    }
    add(
        places.workspace.join(".agents/skills"),
        Source::WorkspaceAgents,
        None,
    );
    add(places.workspace.join("skills"), Source::Workspace, None);
    for path in &settings.explicit {
        let file = path
            .file_name()
            .is_some_and(|name| name == crate::SKILL_FILE);
        let dir = if file {
            path.parent().unwrap_or(path)
        } else {
            path
        };
        add(dir.to_owned(), Source::Explicit, None);
    }
    distinct(found)
}

fn distinct(found: Vec<Root>) -> Vec<Root> {
    let mut kept: Vec<Root> = Vec::new();
    for root in found {
        match kept.iter().position(|other| other.dir == root.dir) {
            Some(_) if root.source.standing() == Standing::Foreign => {}
            Some(at) => {
                kept.remove(at);
                kept.push(root);
            }
            None => kept.push(root),
        }
    }
    for (level, root) in kept.iter_mut().enumerate() {
        root.level = level;
    }
    kept
}

/// The `skills/` folder of an installed npm package: a path, or a name looked up where npm puts
/// packages.
fn package_skills(host: &Host, places: &Places, package: &str) -> Option<PathBuf> {
    if package.starts_with(['.', '/', '~']) {
        return Some(host.expand_from(package, &places.state_dir).join("skills"));
    }
    let name = package.strip_prefix("npm:").unwrap_or(package);
    let is_name = !name.is_empty() && !name.split('/').any(|part| part.is_empty() || part == "..");
    if !is_name {
        return None;
    }
    let mut folders = vec![
        places.workspace.join("node_modules"),
        places.state_dir.join("node_modules"),
        host.user_home.join(".pi/agent/npm/node_modules"),
        host.user_home.join("node_modules"),
    ];
    let prefix = host
        .var("NPM_CONFIG_PREFIX")
        .or_else(|| host.var("npm_config_prefix"));
    folders.extend(prefix.map(|prefix| host.expand(prefix).join("lib/node_modules")));
    for bin in std::env::split_paths(host.var("PATH").unwrap_or_default()) {
        folders.extend(bin.parent().map(|prefix| prefix.join("lib/node_modules")));
    }
    // A package that is not installed still has a place, so that a report can name it.
    let usual = folders
        .first()
        .map(|folder| folder.join(name).join("skills"));
    folders
        .iter()
        .map(|folder| folder.join(name).join("skills"))
        .find(|dir| dir.is_dir())
        .or(usual)
}
