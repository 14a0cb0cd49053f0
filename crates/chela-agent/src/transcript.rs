//! The session a conversation is in, and what is known of it: what was chosen for it, how full
//! its context is, who answered last.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use chela_core::{lock, ok_or_warn};
use chela_model::{FallbackChain, ResolveError, ThinkingEffort, Usage};
use chela_session::{
    OpenSession, ResetReason, SessionError, SessionInfo, SessionSettings, Sessions,
};

use crate::agent::SessionNoting;
use crate::scope::ConversationScope;
use crate::surface::ContextMeter;

/// The session of a conversation. Another one takes its place when it begins anew.
pub(crate) struct Transcript {
    scope: Arc<ConversationScope>,
    pub sessions: Arc<Sessions>,
    state: Mutex<State>,
}

/// A session that took the place of another because somebody asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBeginning {
    pub session: OpenSession,
    /// The note that was written of the one before.
    pub note: Option<PathBuf>,
}

struct State {
    session: OpenSession,
    /// What was chosen for it, as of the last turn or command.
    settings: SessionSettings,
    title: Option<String>,
    last: Usage,
    meter: ContextMeter,
    /// Who answered last in place of the chosen model, and why.
    fallback: Option<(String, String)>,
}

impl Transcript {
    pub fn new(
        scope: Arc<ConversationScope>,
        sessions: Arc<Sessions>,
        session: OpenSession,
        info: SessionInfo,
    ) -> Self {
        Self {
            scope,
            sessions,
            state: Mutex::new(State {
                session,
                settings: info.settings,
                title: info.display_name,
                last: Usage::default(),
                meter: ContextMeter {
                    used: info.totals.context,
                    window: None,
                },
                fallback: None,
            }),
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut lock(&self.state))
    }

    pub fn session(&self) -> OpenSession {
        self.with(|state| state.session.clone())
    }

    pub async fn info(&self) -> Result<SessionInfo, SessionError> {
        self.sessions.info(&self.session()).await
    }

    /// What was chosen for this session over the config.
    pub fn settings(&self) -> SessionSettings {
        self.with(|state| state.settings.clone())
    }

    pub fn title(&self) -> Option<String> {
        self.with(|state| state.title.clone())
    }

    /// Another process may have chosen something else meanwhile.
    pub async fn refresh_settings(&self) -> Result<(), SessionError> {
        self.take_settings(self.info().await?);
        Ok(())
    }

    fn take_settings(&self, info: SessionInfo) {
        self.with(|state| {
            state.settings = info.settings;
            state.title = info.display_name;
        });
    }

    /// How full the context was at the last call.
    pub fn meter(&self) -> ContextMeter {
        self.with(|state| state.meter)
    }

    pub fn set_context_used(&self, used: u64) {
        self.with(|state| state.meter.used = used);
    }

    pub fn last_usage(&self) -> Usage {
        self.with(|state| state.last)
    }

    pub fn fallback(&self) -> Option<(String, String)> {
        self.with(|state| state.fallback.clone())
    }

    /// A model has answered.
    pub fn note_answer(
        &self,
        usage: Usage,
        meter: ContextMeter,
        fallback: Option<(String, String)>,
    ) {
        self.with(|state| {
            state.last = usage;
            state.meter = meter;
            state.fallback = fallback;
        });
    }

    /// The models that answer here now.
    pub fn chain(&self) -> Result<FallbackChain, ResolveError> {
        let chosen = match &self.scope.ask.model {
            Some(model) => Some(model.clone()),
            None => self.settings().model,
        };
        self.scope.agents.chain(&self.scope.view, chosen.as_deref())
    }

    /// How long the model thinks first: as the session says, else the config.
    pub fn thinking(&self) -> ThinkingEffort {
        let own = self.settings().thinking;
        own.or(self.scope.view.thinking.value)
            .map_or(ThinkingEffort::Off, |level| thinking_named(level.as_str()))
    }

    /// The session as it stands now: begins anew where the reset rules say so.
    pub async fn roll_over(&self) -> Result<OpenSession, SessionError> {
        let scope = &self.scope;
        let (session, info) = self
            .sessions
            .current_with_info(&scope.key, &scope.reset_rules())
            .await?;
        let moved = self.with(|state| {
            let moved = state.session.id != session.id;
            if moved {
                state.meter = ContextMeter::default();
            }
            state.session = session.clone();
            moved
        });
        match info {
            Some(info) => self.take_settings(info),
            None => self.refresh_settings().await?,
        }
        if moved {
            tracing::info!(key = %scope.key, session = session.id.as_str(), "the session starts \
                over");
            scope.agents.assembler.refresh(&scope.view.id);
            self.note_replaced().await;
        }
        Ok(session)
    }

    /// Begins anew under the same key. The old conversation is kept.
    pub async fn begin_anew(&self) -> Result<NewBeginning, SessionError> {
        let old = self.session();
        let session = self.sessions.reset(&old, ResetReason::Asked).await?;
        self.with(|state| {
            state.meter = ContextMeter::default();
            state.last = Usage::default();
            state.session = session.clone();
        });
        self.refresh_settings().await?;
        self.scope.agents.assembler.refresh(&self.scope.view.id);
        let note = self.write_note_of(&old).await;
        Ok(NewBeginning { session, note })
    }

    /// The session that was left behind when this one began, if one was.
    pub async fn note_replaced(&self) {
        let Some((old, _)) = self.session().replaced else {
            return;
        };
        let old = self.sessions.by_id(old.as_str()).await;
        if let Some(Some(old)) = ok_or_warn!(old, "no note of the session that ended") {
            self.write_note_of(&old).await;
        }
    }

    /// Writes a note of a session of this key.
    async fn write_note_of(&self, session: &OpenSession) -> Option<PathBuf> {
        let scope = &self.scope;
        let noting = SessionNoting {
            agents: &scope.agents,
            view: &scope.view,
            key: &scope.key,
            sessions: &self.sessions,
        };
        noting.write(session).await
    }
}

/// A thinking level by its name in the config.
pub(crate) fn thinking_named(level: &str) -> ThinkingEffort {
    match level {
        "minimal" => ThinkingEffort::Minimal,
        "low" => ThinkingEffort::Low,
        "medium" | "adaptive" => ThinkingEffort::Medium,
        "high" => ThinkingEffort::High,
        "xhigh" | "max" => ThinkingEffort::XHigh,
        _ => ThinkingEffort::Off,
    }
}
