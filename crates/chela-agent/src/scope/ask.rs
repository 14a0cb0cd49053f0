//! What is asked of a conversation: which one, and with which tools.

use std::sync::Arc;

use chela_core::{AgentId, SessionKey, Speaker};
use chela_sandbox::WorkFolder;
use chela_tools::Tool;

/// Which conversation is wanted. What is left open follows from the config; who speaks is always
/// said.
#[derive(Debug, Clone)]
pub struct ConversationAsk {
    pub agent: Option<AgentId>,
    pub session: Option<SessionKey>,
    /// A model for this process alone; the session's own choice is kept.
    pub model: Option<String>,
    /// Who writes: whether it is the owner, and the rules per sender.
    pub speaker: Speaker,
    pub channel: Option<String>,
    pub tools: ToolUse,
    /// Tools of whoever embeds the agent. Policy and guard hold for them as for any other.
    pub own: OwnTools,
    /// Tools of the process that runs the agent, such as `gateway`: they have names of Chela's own.
    pub process: OwnTools,
    /// Folders besides the workspace the owner lets it work in; sub-agents do not get them.
    pub folders: Vec<WorkFolder>,
}

impl ConversationAsk {
    /// The main conversation of the default agent with this speaker.
    pub fn new(speaker: Speaker) -> Self {
        Self {
            agent: None,
            session: None,
            model: None,
            speaker,
            channel: None,
            tools: ToolUse::default(),
            own: OwnTools::default(),
            process: OwnTools::default(),
            folders: Vec::new(),
        }
    }
}

/// Tools made elsewhere.
#[derive(Clone, Default)]
pub struct OwnTools(pub Vec<Arc<dyn Tool>>);

impl std::fmt::Debug for OwnTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|tool| &tool.spec().name))
            .finish()
    }
}

/// Whether tools are offered at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolUse {
    #[default]
    AsConfigured,
    None,
}
