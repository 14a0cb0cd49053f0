//! How a conversation is opened: its session is found, and its parts are made.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chela_core::ok_or_warn;
use chela_guard::flow::Provenance;
use chela_session::MessageSource;
use chela_tools::check_own_names;

use super::Conversation;
use super::spawning::SubagentSpawner;
use super::taking_edits::take_edits_of;
use crate::agent::{Agents, OpenError};
use crate::background::BackgroundWork;
use crate::context_builder::{ContextBuilder, ContextParts};
use crate::file_custody::{FileCustody, JournalWriter};
use crate::file_doubts::JournalDoubts;
use crate::guarding::Guarding;
use crate::sandbox;
use crate::scope::{ConversationAsk, ConversationScope, reset_rules};
use crate::subagents::SessionGrant;
use crate::toolset;
use crate::transcript::Transcript;
use crate::turn_control::TurnControl;

/// On whose behalf a conversation is held.
#[derive(Debug, Clone)]
pub(super) struct ConversationRole {
    pub grant: SessionGrant,
    /// Who speaks to it.
    pub source: MessageSource,
    /// What whoever started it had seen.
    pub seen: Option<Provenance>,
}

impl Default for ConversationRole {
    fn default() -> Self {
        Self {
            grant: SessionGrant::whole(),
            source: MessageSource::Person,
            seen: None,
        }
    }
}

impl Agents {
    /// Opens a conversation, which begins or goes on.
    pub async fn conversation(
        self: &Arc<Self>,
        ask: ConversationAsk,
    ) -> Result<Conversation, OpenError> {
        Conversation::open_as(Arc::clone(self), ask, ConversationRole::default()).await
    }
}

impl Conversation {
    pub(super) async fn open_as(
        agents: Arc<Agents>,
        ask: ConversationAsk,
        role: ConversationRole,
    ) -> Result<Self, OpenError> {
        check_own_names(&ask.own.0)?;
        let (agent, key) = agents
            .assembler
            .who_of(ask.agent.as_ref(), ask.session.as_ref())?;
        let view = agents.view(&agent)?;
        if role.source == MessageSource::Person {
            take_edits_of(&agents, &agent);
        }
        let sessions = agents.sessions(&agent)?;
        let rules = reset_rules(&agents, &key, ask.channel.as_deref());
        let session = sessions.current(&key, &rules).await?;
        let info = sessions.info(&session).await?;
        // A sub-agent has what it was given when it was started, whoever talks to it later.
        let branch = sessions.branch(&session).await?;
        let kept = match key.is_subagent() {
            true => SessionGrant::kept_in(&branch, &key),
            false => None,
        };
        let scope = Arc::new(ConversationScope {
            grant: kept.map_or(role.grant.clone(), |kept| kept.meet(&role.grant)),
            source: role.source,
            agents,
            view,
            key,
            ask,
        });
        let transcript = Transcript::new(Arc::clone(&scope), sessions, session, info);
        let transcript = Arc::new(transcript);
        let guarding = Guarding::new(Arc::clone(&scope), Arc::clone(&transcript), role.seen);
        let background = open_background(&scope)?;
        let journal = Arc::new(JournalWriter::new(
            scope.agents.journal(&agent),
            &scope.key,
            Arc::clone(&guarding.provenance),
            scope.agents.file_trust(),
        ));
        let custody = FileCustody::new(
            Arc::clone(&scope.agents),
            agent,
            background.commands.processes.clone(),
            Arc::clone(&journal),
        );
        let spawner = SubagentSpawner {
            scope: Arc::clone(&scope),
            sessions: Arc::clone(&transcript.sessions),
            runs: Arc::clone(&background.runs),
            seen: Arc::clone(&guarding.provenance),
        };
        let context = ContextParts {
            scope: Arc::clone(&scope),
            transcript: Arc::clone(&transcript),
            background: Arc::clone(&background),
            journal,
            spawner: Arc::new(spawner),
        };
        transcript.note_replaced().await;
        Ok(Self {
            custody: Arc::new(custody),
            context: ContextBuilder::new(context, &branch),
            background,
            guarding,
            transcript,
            scope,
            control: Arc::new(TurnControl::default()),
            turn: tokio::sync::Mutex::default(),
            models_known: AtomicBool::new(false),
        })
    }
}

/// The commands of a conversation and the sandbox they run in.
fn open_background(scope: &Arc<ConversationScope>) -> Result<Arc<BackgroundWork>, OpenError> {
    let agents = &scope.agents;
    let skills = agents.assembler.skills(&scope.view.id)?;
    let place = sandbox::SandboxedSession {
        host: &agents.host,
        loaded: &agents.loaded,
        view: &scope.view,
        key: &scope.key,
        channel: scope.ask.channel.as_deref(),
        skills: &skills,
        folders: &scope.ask.folders,
    };
    let secrecy = toolset::SecretHandling {
        handles: agents.handles(&scope.view.id),
        redactor: agents.redactor(),
    };
    let commands = toolset::commands(
        &place,
        scope.spool(),
        &secrecy,
        Arc::new(JournalDoubts {
            journal: agents.journal(&scope.view.id),
            workspace: real_path(&scope.view.workspace.value),
        }),
    );
    // Without them commands and file tools say what is wrong when they are used.
    ok_or_warn!(
        commands.sandbox().make_folders(&agents.host),
        "the sandbox has no folders"
    );
    Ok(Arc::new(BackgroundWork::new(Arc::clone(scope), commands)))
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
