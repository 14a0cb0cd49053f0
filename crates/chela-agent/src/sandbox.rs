//! Where the commands of a session run, and what its prompt says of that.

use std::path::PathBuf;

use chela_config::model::{ExecMode, SandboxDocker, WorkspaceAccess};
use chela_config::{AgentView, LoadedConfig};
use chela_core::{Host, SessionKey};
use chela_prompt as prompt;
use chela_sandbox::{
    NetworkAccess, SandboxAsk, SandboxPlan, SandboxStanding, WorkFolder, standing, wants,
};
use chela_skills::AgentSkills;

/// Whose session.
#[derive(Debug, Clone, Copy)]
pub struct SandboxedSession<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub key: &'a SessionKey,
    /// The channel the message came through; `None` at the terminal.
    pub channel: Option<&'a str>,
    /// Their folders are read inside too.
    pub skills: &'a AgentSkills,
    /// Folders besides the workspace the owner lets it work in.
    pub folders: &'a [WorkFolder],
}

impl SandboxedSession<'_> {
    pub fn standing(&self) -> SandboxStanding {
        let readable: Vec<PathBuf> = self
            .skills
            .listed()
            .into_iter()
            .filter_map(|skill| skill.file.parent())
            .map(PathBuf::from)
            .collect();
        standing(&self.ask(&readable))
    }

    fn ask<'a>(&'a self, readable: &'a [PathBuf]) -> SandboxAsk<'a> {
        SandboxAsk {
            host: self.host,
            loaded: self.loaded,
            view: self.view,
            session: self.key,
            channel: self.channel,
            readable,
            folders: self.folders,
        }
    }

    /// What the prompt says. Nothing, where commands run on the machine itself.
    pub fn facts(&self, standing: &SandboxStanding) -> Option<prompt::SandboxFacts> {
        if let SandboxStanding::CommandsInside(plan) = standing {
            return Some(prompt::SandboxFacts {
                extent: prompt::SandboxExtent::Commands,
                walls: Some(prompt::SandboxWalls {
                    limits: chosen_limits(self.view, plan),
                    ..walls(plan)
                }),
                ..prompt::SandboxFacts::default()
            });
        }
        let access = standing.access()?;
        let shown = |path: &std::path::Path| path.display().to_string();
        Some(prompt::SandboxFacts {
            access: Some(access_of(access)),
            agent_mount: (access == WorkspaceAccess::Ro).then(|| shown(&self.view.workspace.value)),
            elevated: self.elevated(),
            walls: match standing {
                SandboxStanding::Inside(plan) => Some(walls(plan)),
                _ => None,
            },
            missing: match standing {
                SandboxStanding::Refused { why, .. } => Some(why.clone()),
                _ => None,
            },
            ..prompt::SandboxFacts::default()
        })
    }

    /// The same without looking at this machine: what the config wants, whatever can be had.
    pub fn anywhere(&self) -> Option<prompt::SandboxFacts> {
        let ask = self.ask(&[]);
        let settings = &self.view.sandbox.value;
        wants(&ask).then(|| prompt::SandboxFacts {
            access: Some(access_of(settings.workspace_access)),
            elevated: self.elevated(),
            ..prompt::SandboxFacts::default()
        })
    }

    /// Who asks decides at the time of a call; the prompt says what the operator allows at all.
    fn elevated(&self) -> Option<prompt::ElevatedExec> {
        let own = self.view.tools.value.elevated.as_ref();
        let is_on = self.loaded.config.tools.elevated.enabled == Some(true)
            && own.and_then(|own| own.enabled) != Some(false)
            && !self.key.is_subagent();
        if !is_on {
            return None;
        }
        let exec = self.view.tools.value.exec.as_ref();
        let exec = exec.unwrap_or(&self.loaded.config.tools.exec);
        Some(prompt::ElevatedExec {
            permission: prompt::ElevatedPermission::Allowed,
            // The level may change while the session lasts; what stands here may not.
            level: None,
            full: match exec.mode == Some(ExecMode::Full) {
                true => prompt::FullAccess::Available,
                false => prompt::FullAccess::Blocked(prompt::FullAccessBlock::HostPolicy),
            },
        })
    }
}

fn access_of(access: WorkspaceAccess) -> prompt::WorkspaceAccess {
    match access {
        WorkspaceAccess::None => prompt::WorkspaceAccess::None,
        WorkspaceAccess::Ro => prompt::WorkspaceAccess::ReadOnly,
        WorkspaceAccess::Rw => prompt::WorkspaceAccess::ReadWrite,
    }
}

/// The limits somebody chose. Those nobody did leave room for ordinary work: whoever meets one is
/// told of it then.
fn chosen_limits(view: &AgentView, plan: &SandboxPlan) -> String {
    match view.sandbox.value.docker == SandboxDocker::default() {
        true => String::new(),
        false => plan.bounds.to_string(),
    }
}

fn walls(plan: &SandboxPlan) -> prompt::SandboxWalls {
    prompt::SandboxWalls {
        hosts: match &plan.network {
            NetworkAccess::None => Vec::new(),
            NetworkAccess::Hosts(hosts) => hosts.texts().map(str::to_owned).collect(),
        },
        limits: plan.bounds.to_string(),
    }
}
