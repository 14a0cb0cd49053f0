//! Where an agent's workspace is.

use std::path::{Path, PathBuf};

use chela_core::{AgentId, Host, vars};
use serde::Serialize;

/// What is known about an agent when its workspace is looked for.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceChoice<'a> {
    pub agent: &'a AgentId,
    pub standing: Standing,
    /// The agent's own `workspace` key.
    pub own: Option<&'a str>,
    /// `agents.defaults.workspace`.
    pub defaults: Option<&'a str>,
}

/// Whether an agent is the one that answers when none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    Default,
    Extra,
}

/// A workspace folder and what decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceLocation {
    pub dir: PathBuf,
    pub from: LocationSource,
}

/// What decided where a workspace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LocationSource {
    /// The agent's own `workspace` key.
    AgentConfig,
    /// `agents.defaults.workspace`.
    DefaultsConfig,
    /// `CHELA_WORKSPACE`.
    Environment,
    /// The state folder.
    StateFolder,
}

/// The workspace of an agent: its own key, then `agents.defaults.workspace`, then
/// `CHELA_WORKSPACE`, then the state folder. Other agents than the default one live in a folder
/// of their own beside or below it.
///
/// Relative paths in the config start at the config file's folder, so that a service finds the
/// same workspace wherever it is started; in the environment they start at the current folder.
pub fn workspace_location(host: &Host, choice: &WorkspaceChoice<'_>) -> WorkspaceLocation {
    let config_file = host.config_file();
    let config_dir = config_file.parent().unwrap_or(&host.cwd);
    if let Some(own) = not_blank(choice.own) {
        let dir = tidy(&host.expand_from(own, config_dir));
        return WorkspaceLocation {
            dir,
            from: LocationSource::AgentConfig,
        };
    }
    if let Some(base) = not_blank(choice.defaults) {
        let base = tidy(&host.expand_from(base, config_dir));
        let dir = match choice.standing {
            Standing::Default => base,
            Standing::Extra => base.join(choice.agent.as_str()),
        };
        return WorkspaceLocation {
            dir,
            from: LocationSource::DefaultsConfig,
        };
    }
    match (choice.standing, host.var(vars::WORKSPACE)) {
        (Standing::Default, Some(path)) => WorkspaceLocation {
            dir: tidy(&host.expand(path)),
            from: LocationSource::Environment,
        },
        (Standing::Default, None) => in_state(host, "workspace".to_owned()),
        (Standing::Extra, _) => in_state(host, format!("workspace-{}", choice.agent)),
    }
}

fn in_state(host: &Host, name: String) -> WorkspaceLocation {
    WorkspaceLocation {
        dir: host.state_dir().join(name),
        from: LocationSource::StateFolder,
    }
}

fn not_blank(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

/// Without `.` parts; `..` stays, since it may cross a symlink.
fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::{LocationSource, Standing, WorkspaceChoice, workspace_location};
    use chela_core::{AgentId, Host, vars};

    fn located(
        host: &Host,
        standing: Standing,
        own: Option<&str>,
        defaults: Option<&str>,
    ) -> (String, LocationSource) {
        let agent = AgentId::parse("research").unwrap();
        let choice = WorkspaceChoice {
            agent: &agent,
            standing,
            own,
            defaults,
        };
        let found = workspace_location(host, &choice);
        (found.dir.display().to_string(), found.from)
    }

    #[test]
    fn the_nearest_answer_wins() {
        use LocationSource::*;
        let mut host = Host::fixed("/home/me");
        host.cwd = "/tmp/here".into();
        let default = |host: &Host, own, defaults| located(host, Standing::Default, own, defaults);
        assert_eq!(
            default(&host, None, None),
            ("/home/me/.chela/workspace".into(), StateFolder)
        );
        host.env.insert(vars::PROFILE.into(), "work".into());
        assert_eq!(
            default(&host, None, None),
            ("/home/me/.chela-work/workspace".into(), StateFolder)
        );
        host.env.insert(vars::WORKSPACE.into(), "ws".into());
        assert_eq!(
            default(&host, None, None),
            ("/tmp/here/ws".into(), Environment)
        );
        assert_eq!(
            default(&host, None, Some("~/a/./b")),
            ("/home/me/a/b".into(), DefaultsConfig)
        );
        assert_eq!(
            default(&host, Some("x"), Some("~/a")),
            ("/home/me/.chela-work/x".into(), AgentConfig)
        );
        assert_eq!(
            default(&host, Some("  "), Some(" ")),
            ("/tmp/here/ws".into(), Environment)
        );
    }

    #[test]
    fn other_agents_get_folders_of_their_own() {
        let mut host = Host::fixed("/home/me");
        host.env.insert(vars::WORKSPACE.into(), "/ws".into());
        let extra = |own, defaults| located(&host, Standing::Extra, own, defaults).0;
        assert_eq!(extra(None, None), "/home/me/.chela/workspace-research");
        assert_eq!(extra(None, Some("/base")), "/base/research");
        assert_eq!(extra(Some("~/mine"), Some("/base")), "/home/me/mine");
    }
}
