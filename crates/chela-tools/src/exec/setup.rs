//! What the commands of a session are made from.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{BareUnit, Exec};
use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{AgentId, Host, lock};
use chela_guard::flow::SessionTaint;
use chela_sandbox::{FenceAsk, FencePlan, FenceSwitch, SandboxStanding};
use serde_json::{Map, Value};

use super::ExecTool;
use crate::approvals::{ApprovalEntry, FolderDoubts, NoDoubts};
use crate::handles::{NoHandles, SecretHandles};
use crate::process::{EndNotices, ProcessTool, ProcessesSetup, SessionProcesses};
use crate::{ElevationState, Tool};

/// What the commands of a session are made from.
#[derive(Clone)]
pub struct CommandsSetup {
    pub host: Host,
    pub agent: AgentId,
    pub config: Exec,
    /// Where commands start, unless the user is elsewhere.
    pub workspace: PathBuf,
    /// The folder the user started the agent in: commands start there, as paths do.
    pub started_in: Option<PathBuf>,
    /// Folder of this session for long output.
    pub spool: PathBuf,
    /// Most characters of output shown at once.
    pub most_shown: usize,
    /// A question to the owner lapses after this long.
    pub expires_after: Duration,
    /// Knows the values that no command may see, and takes them out of what they print.
    pub redactor: Arc<Redactor>,
    /// Secrets that commands may have by name.
    pub handles: Arc<dyn SecretHandles>,
    /// Where they run.
    pub sandbox: Arc<SandboxStanding>,
    /// What keeps those outside the sandbox from Chela's own files.
    pub fence: Arc<FencePlan>,
    /// Whether a call may ask to leave the sandbox at all (`tools.elevated.enabled`).
    pub leaving: SandboxLeaving,
    /// Knows which files were written after text from outside was read.
    pub doubts: Arc<dyn FolderDoubts>,
}

/// Whether leaving the sandbox can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxLeaving {
    Never,
    /// Each time it is decided anew.
    Possible,
}

/// Whose commands they are to be.
#[derive(Debug)]
pub struct CommandsAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    /// Folder of the session for long output.
    pub spool: PathBuf,
    pub sandbox: SandboxStanding,
}

/// The tools for commands, and the commands themselves. When the last clone of `processes` goes,
/// every command of the session ends.
#[derive(Debug, Clone)]
pub struct CommandTools {
    pub exec: Arc<ExecTool>,
    pub process: Arc<ProcessTool>,
    pub processes: SessionProcesses,
}

impl std::fmt::Debug for CommandsSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandsSetup")
            .field("agent", &self.agent)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

impl CommandsSetup {
    /// The settings of one agent.
    pub fn of(ask: CommandsAsk<'_>) -> Self {
        let CommandsAsk {
            host,
            loaded,
            view,
            spool,
            sandbox,
        } = ask;
        let config = &loaded.config;
        let exec = view.tools.value.exec.as_ref().unwrap_or(&config.tools.exec);
        let expires_after = config
            .guard
            .approvals
            .expires_after
            .duration(BareUnit::Seconds);
        let mut own = host.clone();
        own.env = loaded.env().clone();
        Self {
            host: own,
            agent: view.id.clone(),
            config: exec.clone(),
            workspace: view.workspace.value.clone(),
            started_in: None,
            spool,
            most_shown: 16_000,
            expires_after: expires_after.unwrap_or(Duration::from_secs(600)),
            redactor: Arc::default(),
            handles: Arc::new(NoHandles),
            leaving: match (&sandbox, config.tools.elevated.enabled) {
                (SandboxStanding::Inside(_) | SandboxStanding::Refused { .. }, Some(true)) => {
                    SandboxLeaving::Possible
                }
                _ => SandboxLeaving::Never,
            },
            sandbox: Arc::new(sandbox),
            fence: Arc::new(FencePlan::of(&FenceAsk {
                host,
                loaded,
                backend: view.sandbox.value.backend.as_deref(),
                switch: FenceSwitch::of(exec),
            })),
            doubts: Arc::new(NoDoubts),
        }
    }
}

impl CommandTools {
    pub fn new(setup: CommandsSetup) -> Self {
        let config = &setup.config;
        let notices = match (config.notify_on_exit, config.notify_on_exit_empty_success) {
            (false, _) => EndNotices::None,
            (true, false) => EndNotices::Noteworthy,
            (true, true) => EndNotices::All,
        };
        let processes = SessionProcesses::new(ProcessesSetup {
            host: setup.host.clone(),
            spool_dir: setup.spool.clone(),
            keep_finished: Duration::from_millis(config.cleanup_ms),
            notices,
            most_shown: setup.most_shown,
            redactor: Arc::clone(&setup.redactor),
        });
        let exec = Arc::new(ExecTool::new(setup, processes.clone()));
        Self {
            process: Arc::new(ProcessTool::new(processes.clone(), Arc::clone(&exec.gate))),
            exec,
            processes,
        }
    }

    /// What keeps those outside the sandbox from Chela's own files.
    pub fn fence(&self) -> &FencePlan {
        &self.exec.setup.fence
    }

    /// Where they run.
    pub fn sandbox(&self) -> &Arc<SandboxStanding> {
        &self.exec.setup.sandbox
    }

    /// The folder a call would start in; `None` where that is none.
    pub fn start_of(&self, arguments: &Map<String, Value>) -> Option<PathBuf> {
        self.exec.start_of(arguments)
    }

    /// How far commands may leave the sandbox from now on. Until this is said, not at all.
    pub fn elevate(&self, elevation: ElevationState) {
        *lock(&self.exec.elevation) = elevation;
    }

    /// Commands that need no approval while the skills that are in use are: what the owner granted
    /// them.
    pub fn grant(&self, granted: Vec<ApprovalEntry>) {
        self.exec.gate.grant(granted);
    }

    /// Whether text from outside was read in the session, as far as is known now.
    pub fn note_taint(&self, taint: SessionTaint) {
        *lock(&self.exec.taint) = taint;
    }

    /// `exec` for a command that is to find something out: what runs inside a sandbox can change
    /// nothing of what it is shown. Outside of one only what the owner allowed runs, as ever.
    pub fn only_reading(&self) -> Arc<dyn Tool> {
        let setup = &self.exec.setup;
        let sandbox = match &*setup.sandbox {
            SandboxStanding::Inside(plan) => SandboxStanding::Inside(Box::new(plan.only_reading())),
            SandboxStanding::CommandsInside(plan) => {
                SandboxStanding::CommandsInside(Box::new(plan.only_reading()))
            }
            other => other.clone(),
        };
        let setup = CommandsSetup {
            sandbox: Arc::new(sandbox),
            ..setup.clone()
        };
        Arc::new(ExecTool::new(setup, self.processes.clone()))
    }

    /// For the toolbox.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![
            Arc::clone(&self.exec) as Arc<dyn Tool>,
            Arc::clone(&self.process) as Arc<dyn Tool>,
        ]
    }
}
