//! Which prompt is asked for, and why there may be none.

use std::sync::Arc;

use chela_config::model::{ElevatedLevel, ReasoningVisibility, ThinkingLevel};
use chela_core::{AgentId, SessionKey};
use chela_model::{ModelTarget, ToolSchema};
use chela_prompt::{ApprovalWay, PromptMode, RenderError};
use chela_sandbox::SandboxStanding;
use chela_session::SessionSettings;
use chela_workspace::TurnPosition;

use super::hook_text::HookPrompt;
use super::subagent_text::SubagentShare;
use crate::installation_secret::SecretError;
use crate::toolset::{PromptSize, SessionTools};

/// Which prompt is wanted. What is left open follows from the agent and the session.
#[derive(Debug, Clone, Default)]
pub struct PromptRequest {
    pub agent: Option<AgentId>,
    pub session: Option<SessionKey>,
    pub mode: Option<PromptMode>,
    pub channel: Option<String>,
    pub machine: MachineMention,
    /// `provider/model` that will read it, where it is not the configured one.
    pub model: Option<String>,
    /// The same, where it is at hand: it knows what a server said about itself.
    pub target: Option<ModelTarget>,
    /// `None`: as the model can bear it.
    pub size: Option<PromptSize>,
    /// The tools of a session that is under way. `None`: those the agent would get now.
    pub tools: Option<SessionTools>,
    /// The one skill to list. `None`: all there are.
    pub skill: Option<String>,
    /// What hooks want of it.
    pub hooks: HookPrompt,
    pub levels: ChosenLevels,
    /// How a yes is had. `None`: as the kind of session has it.
    pub approvals: Option<ApprovalWay>,
    /// What a sub-agent that is under way was given.
    pub share: Option<SubagentShare>,
    /// Whether the session was answered before.
    pub position: TurnPosition,
    pub purpose: PromptPurpose,
    /// Where the commands of a session that is under way run. `None`: where they would now.
    pub standing: Option<Arc<SandboxStanding>>,
}

/// What a prompt is put together for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptPurpose {
    /// To be looked at: with the request it would be part of (`AssembledPrompt::shape`).
    #[default]
    Report,
    /// To be sent: the request is made from it later, and its shape is left empty.
    Turn,
}

impl PromptRequest {
    /// With the tools a model is told of.
    #[must_use]
    pub(crate) fn with_tools(mut self, listed: &[ToolSchema]) -> Self {
        self.tools.get_or_insert_default().listed = listed.to_vec();
        self
    }
}

/// What was chosen for a session over the config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChosenLevels {
    pub thinking: Option<ThinkingLevel>,
    pub reasoning: Option<ReasoningVisibility>,
    pub elevated: Option<ElevatedLevel>,
}

/// Whether the prompt speaks of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MachineMention {
    #[default]
    This,
    /// Nothing that differs from machine to machine: for prompts kept under version control.
    Anywhere,
}

/// Why no prompt could be put together.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    #[error("there is no agent `{agent}`; there is {}", known.join(", "))]
    NoAgent { agent: String, known: Vec<String> },
    #[error(
        "session `{session}` belongs to agent `{owner}`, not to `{agent}`; leave one of the two out"
    )]
    OtherAgent {
        session: String,
        owner: String,
        agent: AgentId,
    },
    #[error("there is no skill `{skill}` in the prompt of agent `{agent}`")]
    NoSkill { skill: String, agent: AgentId },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl From<&SessionSettings> for ChosenLevels {
    fn from(settings: &SessionSettings) -> Self {
        Self {
            thinking: settings.thinking,
            reasoning: settings.reasoning,
            elevated: settings.elevated,
        }
    }
}
