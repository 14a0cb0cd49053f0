//! The folders that are searched for skills.

use std::path::{Path, PathBuf};

use chela_config::{AgentView, LoadedConfig};
use chela_core::Host;

use crate::settings::SkillsSettings;
use crate::source::{PluginState, SkillSource, SourceStanding};

/// Programs that keep skills of the same format in the home folder. What lies there was chosen for
/// them, not for this agent.
const NEIGHBOURS: [(&str, &str); 3] = [
    ("Claude", ".claude/skills"),
    ("Codex", ".codex/skills"),
    ("OpenClaw", ".openclaw/skills"),
];

/// A folder that is searched for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    pub dir: PathBuf,
    pub source: SkillSource,
    /// Decides between roots of the same source: the higher wins.
    pub level: usize,
    /// For the skills of a plugin: whether it is switched on.
    pub plugin: Option<PluginState>,
}

/// The folders an agent's skills are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPlaces {
    pub state_dir: PathBuf,
    pub workspace: PathBuf,
    /// The folder the agent works in; its own skills are foreign.
    pub project: Option<PathBuf>,
}

impl SkillPlaces {
    /// The folders of an agent. The folder it works in counts as a project unless it is one of
    /// the owner's own places.
    pub fn of(loaded: &LoadedConfig, agent: &AgentView) -> Self {
        let host = loaded.host();
        let state_dir = host.state_dir();
        let workspace = agent.workspace.value.clone();
        let own = [&host.user_home, &state_dir, &workspace].contains(&&host.cwd);
        let project = (!own && host.cwd.parent().is_some()).then(|| host.cwd.clone());
        Self {
            state_dir,
            workspace,
            project,
        }
    }
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
pub fn roots(
    host: &Host,
    places: &SkillPlaces,
    settings: &SkillsSettings,
    bundled: &Path,
) -> Vec<SkillRoot> {
    let mut found: Vec<SkillRoot> = Vec::new();
    let mut add = |dir: PathBuf, source: SkillSource, plugin: Option<PluginState>| {
        found.push(SkillRoot {
            dir,
            source,
            level: 0,
            plugin,
        });
    };
    for (program, folder) in NEIGHBOURS {
        let source = SkillSource::Neighbour(program.to_owned());
        add(host.user_home.join(folder), source, None);
    }
    for dir in &settings.load.extra_dirs {
        add(host.expand(dir), SkillSource::Extra, None);
    }
    for plugin in &settings.plugins {
        add(
            plugin.dir.clone(),
            SkillSource::Plugin(plugin.plugin.clone()),
            Some(plugin.state),
        );
    }
    add(bundled.to_owned(), SkillSource::Bundled, None);
    add(
        quarantine_dir(&places.state_dir),
        SkillSource::Downloaded,
        None,
    );
    add(managed_dir(&places.state_dir), SkillSource::Managed, None);
    add(
        host.user_home.join(".pi/agent/skills"),
        SkillSource::Personal,
        None,
    );
    add(
        host.user_home.join(".agents/skills"),
        SkillSource::Personal,
        None,
    );
    for package in &settings.load.packages {
        if let Some(dir) = package_skills(host, places, package) {
            add(dir, SkillSource::Package(package.clone()), None);
        }
    }
    if let Some(project) = &places.project {
        for own in [".claude/skills", ".pi/skills", ".agents/skills"] {
            add(project.join(own), SkillSource::Project, None);
        }
    }
    add(
        places.workspace.join(".agents/skills"),
        SkillSource::WorkspaceAgents,
        None,
    );
    add(
        places.workspace.join("skills"),
        SkillSource::Workspace,
        None,
    );
    for path in &settings.explicit {
        let file = path
            .file_name()
            .is_some_and(|name| name == crate::SKILL_FILE);
        let dir = if file {
            path.parent().unwrap_or(path)
        } else {
            path
        };
        add(dir.to_owned(), SkillSource::Explicit, None);
    }
    distinct(found)
}

fn distinct(found: Vec<SkillRoot>) -> Vec<SkillRoot> {
    let mut kept: Vec<SkillRoot> = Vec::new();
    for root in found {
        match kept.iter().position(|other| other.dir == root.dir) {
            Some(_) if root.source.standing() == SourceStanding::Foreign => {}
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
fn package_skills(host: &Host, places: &SkillPlaces, package: &str) -> Option<PathBuf> {
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
