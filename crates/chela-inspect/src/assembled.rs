//! What is inspected: a prompt, and what it was made of.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::{AgentId, ContentHash, Origin, SessionKey};
use chela_model::{AnswerForm, ToolSchema};
use chela_prompt::{Prompt, PromptInput};
use chela_skills::AgentSkills;
use chela_workspace::{BootstrapSettings, FileReport, OwnerNotice};
use serde::Serialize;

/// A prompt and everything that is known about how it came to be.
#[derive(Debug, Clone)]
pub struct AssembledPrompt {
    pub agent: AgentId,
    pub session: SessionKey,
    pub workspace: PathBuf,
    pub bootstrap: BootstrapSettings,
    pub input: PromptInput,
    pub prompt: Prompt,
    /// Every file that is in the prompt or might have been.
    pub files: Vec<FileReport>,
    /// The notice in the prompt about files that are not whole, by what it is known by.
    pub cut_notice: Option<ContentHash>,
    /// What the owner should know besides.
    pub notices: Vec<OwnerNotice>,
    pub limits: FileLimits,
    pub sandbox: SandboxState,
    pub context_window: Option<usize>,
    /// Every skill that was found, listed or not.
    pub skills: Arc<AgentSkills>,
    /// The tools as they go with the request, besides the prompt.
    pub tools: Vec<ToolSchema>,
    /// The tools that can be called and that a model is not told of until it looks for them.
    pub deferred: Vec<ToolSchema>,
    /// The tools the policy keeps out, and why.
    pub left_out: Vec<(String, String)>,
    pub shape: RequestShape,
}

/// What the endpoint is sent besides the words of a person: the request before the first message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestShape {
    /// The wire format: `openai-completions` and the like; empty where no model is configured.
    pub wire: String,
    /// The system text as it is sent.
    pub system: String,
    /// Each tool as it is sent, in the order of [`AssembledPrompt::tools`].
    pub tool_texts: Vec<String>,
    pub tool_place: ToolPlace,
    /// What answers are held to, where the endpoint knows no tools.
    pub answer_form: Option<AnswerForm>,
    /// What the first message begins with.
    pub message_head: String,
}

/// Where an endpoint is told of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolPlace {
    /// Beside the system text, in the endpoint's own form.
    #[default]
    Beside,
    /// In the system text: it knows no tools.
    InSystem,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileLimits {
    pub per_file: String,
    pub total: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxState {
    pub mode: String,
    /// Whether the session with all its tools is inside.
    pub sandboxed: bool,
    /// Where its commands run: `host`, `sandbox` or, where the sandbox cannot be built, `refused`.
    pub exec: String,
}

/// Where the schemas of tools stand: beside the sections.
pub const TOOLS: &str = "tools";

/// Whose words a tool is described in.
pub(crate) fn tool_origin(name: &str) -> String {
    match chela_tools::policy::is_built_in(name) {
        true => Origin::BuiltIn.to_string(),
        false => format!("tool:{name}"),
    }
}
