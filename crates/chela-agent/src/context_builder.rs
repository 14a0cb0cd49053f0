//! What a model is sent of a conversation: the prefix that does not move, the tools, and what is
//! kept of what was said.

mod called_skills;
mod files_in_prefix;
mod found_tools;
mod own_tools;
mod prefix;
mod prepared_messages;
mod pruning;
mod sessions_view;
mod skill_bound;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use chela_core::lock;
use chela_session::{ContextReplay, OpenSession, SessionId, TranscriptEntry};
use chela_tools::policy::ToolNames;
use chela_tools::{ChildSpawner, PolicyAsk, Tool, ToolRules, Toolbox};

use crate::agent::OpenError;
use crate::assemble::HookPrompt;
use crate::background::BackgroundWork;
use crate::file_custody::JournalWriter;
use crate::scope::ConversationScope;
use crate::transcript::Transcript;
use prepared_messages::PreparedMessages;
use skill_bound::SkillsInUse;

pub(crate) use called_skills::ForkedSkill;
pub(crate) use found_tools::{add_offers, found_in};
pub(crate) use prefix::{PromptKind, RequestPrefix};
pub(crate) use pruning::SendableMessages;
pub(crate) use sessions_view::sessions_view_of;
pub(crate) use skill_bound::SkillInUse;

/// Makes what a model is sent.
pub(crate) struct ContextBuilder {
    scope: Arc<ConversationScope>,
    transcript: Arc<Transcript>,
    background: Arc<BackgroundWork>,
    journal: Arc<JournalWriter>,
    spawner: Arc<dyn ChildSpawner>,
    /// Tools of whoever embeds the agent, as they are now.
    own: Mutex<Vec<Arc<dyn Tool>>>,
    state: Mutex<State>,
    sent: Arc<Mutex<SentConversation>>,
    bounds: Mutex<SkillsInUse>,
    /// The skills were looked at for the turn that begins.
    skills_seen: AtomicBool,
}

/// What a context builder is made of.
pub(crate) struct ContextParts {
    pub scope: Arc<ConversationScope>,
    pub transcript: Arc<Transcript>,
    pub background: Arc<BackgroundWork>,
    pub journal: Arc<JournalWriter>,
    /// What starts sub-agents for the conversation.
    pub spawner: Arc<dyn ChildSpawner>,
}

#[derive(Default)]
struct State {
    /// The prefix of the session, as long as it is this one.
    prefix: Option<(SessionId, Arc<RequestPrefix>)>,
    /// What hooks want of its prompt.
    hooks: HookPrompt,
    /// The only tools hooks leave for this turn, by whose word.
    narrowed: Vec<(String, Vec<String>)>,
}

/// What the newest request was made of: the next one adds to its end.
#[derive(Default)]
struct SentConversation {
    session: Option<SessionId>,
    replay: ContextReplay,
    messages: PreparedMessages,
}

impl ContextBuilder {
    /// `branch` is what was said in the session so far.
    pub fn new(parts: ContextParts, branch: &[TranscriptEntry]) -> Self {
        Self {
            own: Mutex::new(parts.scope.ask.own.0.clone()),
            scope: parts.scope,
            transcript: parts.transcript,
            background: parts.background,
            journal: parts.journal,
            spawner: parts.spawner,
            state: Mutex::default(),
            sent: Arc::default(),
            bounds: Mutex::new(SkillsInUse::of(branch)),
            skills_seen: AtomicBool::new(false),
        }
    }

    /// The tools of this session.
    pub async fn toolbox(&self) -> Result<Toolbox, OpenError> {
        let prefix = self.prefix().await?;
        Ok(self.current_tools(&prefix))
    }

    /// The message's own limits on tools: they are enforced when a tool runs, so that the list a
    /// model was told of does not move.
    pub fn policy_now(&self, model: Option<(&str, &str)>) -> ToolRules {
        self.narrowed(self.bounded(ToolRules::of(&PolicyAsk {
            loaded: &self.scope.agents.loaded,
            view: &self.scope.view,
            session: &self.scope.key,
            provider: model.map(|(provider, _)| provider),
            model: model.map(|(_, model)| model),
            sender: self.scope.ask.speaker.sender(),
            sandboxed: self.background.commands.sandbox().sandboxed(),
        })))
    }

    /// What hooks want of the prompt of this session, from now on, and which tools they leave.
    pub fn begin_with(&self, hooks: HookPrompt, narrowed: Vec<(String, Vec<String>)>) {
        let mut state = self.state();
        state.hooks = hooks;
        state.narrowed = narrowed;
    }

    /// The skills have just been looked at.
    pub fn note_skills_seen(&self) {
        self.skills_seen.store(true, Ordering::Release);
    }

    fn hook_prompt(&self) -> HookPrompt {
        self.state().hooks.clone()
    }

    /// A policy under what hooks leave of the tools.
    fn narrowed(&self, policy: ToolRules) -> ToolRules {
        let narrowed = self.state().narrowed.clone();
        narrowed.into_iter().fold(policy, |policy, (hook, tools)| {
            policy.only(format!("the hook {hook}"), ToolNames::new(tools))
        })
    }

    fn kept_prefix(&self, session: &OpenSession) -> Option<Arc<RequestPrefix>> {
        let state = self.state();
        let (of, prefix) = state.prefix.as_ref()?;
        (*of == session.id).then(|| Arc::clone(prefix))
    }

    fn keep_prefix(&self, session: &OpenSession, prefix: &Arc<RequestPrefix>) {
        self.state().prefix = Some((session.id.clone(), Arc::clone(prefix)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
