//! Where skills come from, and how far each place is trusted by itself.

use serde::Serialize;

/// A kind of place that holds skills, from the lowest precedence to the highest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillSource {
    /// The folder in which another program keeps its skills, such as `~/.claude/skills`.
    Neighbour(String),
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
pub enum SourceStanding {
    /// Compiled in and checked by hash.
    BuiltIn,
    /// The owner put it there.
    Own,
    /// It came with somebody else's files.
    Foreign,
}

impl SkillSource {
    pub fn standing(&self) -> SourceStanding {
        match self {
            Self::Bundled => SourceStanding::BuiltIn,
            Self::Downloaded | Self::Project | Self::Neighbour(_) | Self::Plugin(_) => {
                SourceStanding::Foreign
            }
            _ => SourceStanding::Own,
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

impl std::fmt::Display for SkillSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Neighbour(program) => write!(f, "of {program}"),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginState {
    Enabled,
    Disabled,
}
