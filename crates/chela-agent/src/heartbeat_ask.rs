//! What a heartbeat asks, and what it is asked about.

use chela_core::{AgentId, Origin, SessionForm, SessionKey, Speaker, Trust, ok_or_warn};
use chela_tools::{AnyRedirect, CallWrites, HeadlessApprover, PreparedCall, RunCall};
use chela_workspace::{BOOT_FILE, CoreFile, Workspace};
use serde_json::{Map, Value};

use crate::agent::{Agents, OpenError};
use crate::assemble::AssembleError;
use crate::blocking_work::on_blocking_thread;
use crate::conversation::{ConversationAsk, take_edits_of};
use crate::prompt_knobs::{PromptKnobs, built_in_heartbeat};
use crate::trust::heartbeat_of;

/// The conversation heartbeats have for themselves, beside the main one.
pub fn heartbeat_session(agent: &AgentId) -> SessionKey {
    SessionKey {
        form: SessionForm::Heartbeat {
            key: "main".to_owned(),
        },
        ..SessionKey::main(agent)
    }
}

impl Agents {
    /// The words of a heartbeat: the operator's own as far as their record lets them be used, else
    /// the built-in ones.
    pub fn heartbeat_prompt(&self, agent: &AgentId) -> Result<String, AssembleError> {
        let custody = self.custody(agent)?;
        let built_in = || built_in_heartbeat().value;
        let Some(view) = self.loaded.agent(agent) else {
            return Ok(built_in());
        };
        let written = PromptKnobs::of(&self.loaded, &view).heartbeat;
        let written = written.filter(|prompt| prompt.origin != Origin::BuiltIn);
        let used = written.and_then(|written| heartbeat_of(&custody, agent, written).0.ok());
        Ok(used.map_or_else(built_in, |used| used.value))
    }

    /// What HEARTBEAT.md of an agent says, without front matter and comments.
    pub fn heartbeat_body(&self, agent: &AgentId) -> Option<String> {
        let view = self.loaded.agent(agent)?;
        let workspace = Workspace::open(&self.host, &view.workspace.value);
        ok_or_warn!(workspace, "the workspace cannot be read")?.heartbeat_body()
    }

    /// Whether an agent is to be asked to do what its BOOT.md says: there is something in it, and
    /// somebody answers for it. What the owner has just written is theirs.
    pub async fn has_boot_orders(self: &std::sync::Arc<Self>, agent: &AgentId) -> bool {
        let (agents, agent) = (std::sync::Arc::clone(self), agent.clone());
        on_blocking_thread(move || {
            let Some(view) = agents.loaded.agent(&agent) else {
                return false;
            };
            let file = view.workspace.value.join(BOOT_FILE);
            let text = std::fs::read_to_string(&file);
            if !text.is_ok_and(|text| !text.trim().is_empty()) {
                return false;
            }
            take_edits_of(&agents, &agent);
            let is_trusted = agents.file_trust().ceiling(&file) >= Trust::Agent;
            if !is_trusted {
                tracing::warn!(%agent, "BOOT.md is not trusted: the agent is not asked; `chela trust diff BOOT.md` shows it");
            }
            is_trusted
        })
        .await
    }

    /// Whether the condition of a task of HEARTBEAT.md holds: its command succeeds. It runs with
    /// nobody there, so what would need a yes does not run; only where somebody answers for the
    /// file; and inside a sandbox without changing anything.
    pub async fn heartbeat_condition(
        self: &std::sync::Arc<Self>,
        agent: &AgentId,
        command: &str,
    ) -> Result<bool, OpenError> {
        let view = self.view(agent)?;
        let file = view.workspace.value.join(CoreFile::Heartbeat.name());
        if self.file_trust().ceiling(&file) < Trust::Agent {
            tracing::warn!(%agent, "HEARTBEAT.md is not trusted: its conditions are not run");
            return Ok(false);
        }
        let conversation = self
            .conversation(ConversationAsk {
                agent: Some(agent.clone()),
                session: Some(heartbeat_session(agent)),
                ..ConversationAsk::new(Speaker::Runtime)
            })
            .await?;
        let toolbox = conversation.toolbox().await?;
        let arguments = Map::from_iter([("command".to_owned(), Value::from(command))]);
        let prepared = match toolbox.prepare("exec", &arguments) {
            Ok(prepared) => prepared,
            Err(refused) => {
                tracing::warn!(%agent, why = refused.text(), "a condition is not run");
                return Ok(false);
            }
        };
        // A condition is no turn: nobody looks at what it changes, so it changes nothing.
        let prepared = PreparedCall {
            tool: conversation.background().commands.only_reading(),
            ..prepared
        };
        let output = toolbox
            .run_prepared(
                &prepared,
                RunCall {
                    id: "heartbeat-condition",
                    arguments: &arguments,
                    targets: &[],
                    writes: &CallWrites::Anything,
                    progress: &|_| {},
                    approver: &HeadlessApprover,
                    redirects: &AnyRedirect,
                    bound: None,
                },
            )
            .await;
        let code = output.details.get("exitCode").and_then(Value::as_i64);
        tracing::info!(%agent, command, ?code, "the condition of a task");
        Ok(code == Some(0))
    }
}
