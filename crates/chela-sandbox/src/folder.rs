//! The folder a sandbox keeps between commands.

use std::path::{Path, PathBuf};

use chela_config::AgentView;
use chela_config::model::{Sandbox, SandboxScope};
use chela_core::{ContentHash, Host, SessionKey};
use chela_files::create_private_folder;

/// The folders of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxFolder {
    pub root: PathBuf,
}

impl SandboxFolder {
    /// Shared as `sandbox.scope` says. Made when the first command runs.
    pub fn of(host: &Host, settings: &Sandbox, view: &AgentView, session: &SessionKey) -> Self {
        let name = match settings.scope {
            SandboxScope::Agent => format!("agent-{}", view.id.as_str()),
            SandboxScope::Shared => "shared".to_owned(),
            SandboxScope::Session => {
                let key = session.to_string().to_ascii_lowercase();
                format!("session-{:.16}", ContentHash::of(key).to_string())
            }
        };
        Self {
            root: Self::all(host, settings).join(name),
        }
    }

    /// Where all of them are.
    pub fn all(host: &Host, settings: &Sandbox) -> PathBuf {
        match &settings.workspace_root {
            Some(root) => host.expand_from(root, &host.state_dir()),
            None => host.state_dir().join("sandboxes"),
        }
    }

    /// Where commands work when the workspace cannot be written.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The home folder inside.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Makes what is missing, for nobody else to look into.
    pub fn make(&self) -> Result<(), String> {
        [self.work(), self.home(), self.temporary()]
            .iter()
            .try_for_each(|folder| make(folder))
    }
}

fn make(folder: &Path) -> Result<(), String> {
    create_private_folder(folder).map_err(|error| {
        format!(
            "The sandbox's folder {} cannot be made: {error}. Check who owns it.",
            folder.display()
        )
    })
}
