//! What the session tools know of sessions and agents: asked of whoever keeps them.

use chela_core::{AgentId, SessionKey, Trust};

/// Whoever keeps sessions. Called from a thread that may wait. Which sessions a caller may see
/// is not its concern: the tools ask for all and filter.
pub trait SessionsView: Send + Sync {
    /// Every session that leaves a trace, newest first.
    fn sessions(&self) -> Result<Vec<SessionRow>, SessionsError>;

    /// Messages of a session, oldest first. Keys and passwords are already hidden, signatures
    /// of reasoning left out.
    fn history(&self, ask: &HistoryAsk<'_>) -> Result<HistoryPage, SessionsError>;

    fn status(&self, session: &SessionKey) -> Result<StatusCard, SessionsError>;

    /// Sets the model of a session from the next call on; `None` goes back to the configured
    /// one. Gives the model that will answer.
    fn set_model(&self, session: &SessionKey, model: Option<&str>)
    -> Result<String, SessionsError>;

    /// The agents that `sessions_spawn` may start from here.
    fn agents(&self) -> Vec<AgentRow>;
}

#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    #[error("There is no session {key}. Call sessions_list to see which there are.")]
    Unknown { key: String },
    #[error("{0}")]
    Refused(String),
    #[error("The sessions cannot be read: {0}.")]
    Store(String),
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub key: SessionKey,
    pub agent: AgentId,
    /// Id of the transcript.
    pub id: String,
    /// The session that started this one.
    pub parent: Option<SessionKey>,
    pub label: Option<String>,
    /// `provider/model`.
    pub model: Option<String>,
    /// Seconds since 1970.
    pub updated_at: u64,
    pub context_tokens: Option<u64>,
    pub messages: u64,
    /// How far what stands in it is trusted, its label included: foreign once text from outside
    /// was read in it.
    pub trust: Trust,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryAsk<'a> {
    pub session: &'a SessionKey,
    /// So many of the newest messages are left out.
    pub offset: usize,
    pub limit: usize,
    pub tools: ToolMessages,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMessages {
    Included,
    LeftOut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPage {
    /// Oldest first.
    pub messages: Vec<HistoryMessage>,
    /// Messages of the session in all, counted as asked.
    pub total: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryMessage {
    /// `user`, `assistant`, `tool`.
    pub role: String,
    pub text: String,
    /// Seconds since 1970.
    pub at: Option<u64>,
    pub trust: Trust,
}

/// What is known of a session right now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusCard {
    /// `provider/model` that was chosen.
    pub model: String,
    /// The one that answers in its place, and why.
    pub fallback: Option<(String, String)>,
    /// Tokens of the last request, and of the window.
    pub context_used: Option<u64>,
    pub context_window: Option<u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    /// US dollars, where the model has a price.
    pub cost: Option<f64>,
    pub compactions: u32,
    pub thinking: Option<String>,
    /// What is shown of reasoning and of tool use.
    pub reasoning: Option<String>,
    pub verbose: Option<String>,
    /// How far commands may leave the sandbox, where they may at all.
    pub elevated: Option<String>,
    /// Seconds since 1970.
    pub started_at: Option<u64>,
    /// Background commands that still run, and the like.
    pub tasks: Vec<String>,
}

/// An agent that may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    pub id: AgentId,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// Nothing but the session itself: for runs that keep no sessions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSessions;

impl SessionsView for NoSessions {
    fn sessions(&self) -> Result<Vec<SessionRow>, SessionsError> {
        Ok(Vec::new())
    }

    fn history(&self, ask: &HistoryAsk<'_>) -> Result<HistoryPage, SessionsError> {
        Err(unknown(ask.session))
    }

    fn status(&self, session: &SessionKey) -> Result<StatusCard, SessionsError> {
        Err(unknown(session))
    }

    fn set_model(&self, session: &SessionKey, _: Option<&str>) -> Result<String, SessionsError> {
        Err(unknown(session))
    }

    fn agents(&self) -> Vec<AgentRow> {
        Vec::new()
    }
}

fn unknown(session: &SessionKey) -> SessionsError {
    SessionsError::Unknown {
        key: session.to_string(),
    }
}
