//! What is inspected: a prompt, and what it was made of.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::{AgentId, SessionKey};
use chela_model::ToolSchema;
use chela_prompt::{Prompt, PromptInput};
use chela_skills::AgentSkills;
use chela_workspace::{BootstrapSettings, FileReport, OwnerNotice};
use serde::Serialize;

/// A prompt and everything that is known about how it came to be.
#[derive(Debug, Clone)]
pub struct Assembled {
    pub agent: AgentId,
    pub session: SessionKey,
    pub workspace: PathBuf,
    pub bootstrap: BootstrapSettings,
    pub input: PromptInput,
    pub prompt: Prompt,
    /// Every file that is in the prompt or might have been.
    pub files: Vec<FileReport>,
    /// What the owner should know besides.
    pub notices: Vec<OwnerNotice>,
    pub limits: Limits,
    pub sandbox: SandboxState,
    pub context_window: Option<usize>,
    /// Every skill that was found, listed or not.
    pub skills: Arc<AgentSkills>,
    /// The tools as they go with the request, besides the prompt.
    pub tools: Vec<ToolSchema>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub per_file: String,
    pub total: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxState {
    pub mode: String,
    pub sandboxed: bool,
}
