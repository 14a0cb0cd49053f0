//! A sub-agent that is being started: its session, its models, its receipt, its record.

use std::sync::Arc;

use chela_config::AgentView;
use chela_config::model::ThinkingLevel;
use chela_core::{AgentId, ContentHash, Origin, SessionKey, ok_or_warn};
use chela_ledger::AuditKind;
use chela_tools::{ChildContext, SpawnAsk, SpawnReceipt, SpawnRefused, ToolNeed};
use serde_json::json;

use super::{SubagentSpawner, refused};
use crate::conversation::Conversation;
use crate::conversation::opening::ConversationRole;
use crate::scope::{ConversationAsk, paths_of};
use crate::subagents::SessionGrant;
use chela_session::{InheritedContext, MessageSource, ModelSource, OpenSession, SessionOverride};

/// A conversation longer than this is not handed on.
const LONGEST_FORK: u64 = 100_000;

/// A sub-agent that is being started.
pub(super) struct SubagentStart<'a> {
    pub spawner: &'a SubagentSpawner,
    pub ask: &'a SpawnAsk,
    pub parent: &'a OpenSession,
    pub grant: &'a SessionGrant,
    pub key: &'a SessionKey,
    pub run: &'a str,
}

/// The conversation, what it knows of the parent's, and what is not as it was asked for.
pub(super) type OpenedChild = (Arc<Conversation>, String, Vec<String>);

impl SubagentStart<'_> {
    pub fn label(&self) -> String {
        const MOST: usize = 60;
        let text = self.ask.label.as_deref().unwrap_or(&self.ask.task);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MOST).collect()
    }

    /// Makes the session of the child and opens it.
    pub async fn open(
        &self,
        agent: &AgentId,
        view: &AgentView,
    ) -> Result<OpenedChild, SpawnRefused> {
        let spawner = self.spawner;
        let sessions = spawner.scope.agents.sessions(agent).map_err(refused)?;
        let mut warnings = Vec::new();
        let mut context = "isolated".to_owned();
        if *agent == spawner.scope.view.id {
            let most = match self.ask.context {
                ChildContext::Fork => LONGEST_FORK,
                ChildContext::Isolated => 0,
            };
            let forked = sessions
                .fork(self.parent, self.key, most)
                .await
                .map_err(refused)?;
            match (self.ask.context, forked.inherited) {
                (ChildContext::Isolated, _) => {}
                (ChildContext::Fork, InheritedContext::Branch { entries }) => {
                    context = format!("fork of {entries} entries");
                }
                (ChildContext::Fork, InheritedContext::Nothing { tokens }) => warnings.push(format!(
                    "this conversation has about {tokens} tokens, too many to hand on ({LONGEST_FORK}); it starts isolated"
                )),
            }
        }
        let role = ConversationRole {
            grant: self.grant.clone(),
            source: MessageSource::Session,
            seen: Some(spawner.seen.child()),
        };
        let ask = ConversationAsk {
            agent: Some(agent.clone()),
            session: Some(self.key.clone()),
            model: None,
            speaker: spawner.scope.ask.speaker.on_behalf(),
            channel: spawner.scope.ask.channel.clone(),
            tools: spawner.scope.ask.tools,
            own: spawner.scope.ask.own.clone(),
            process: crate::scope::OwnTools::default(),
            folders: Vec::new(),
        };
        let talk = Conversation::open_as(Arc::clone(&spawner.scope.agents), ask, role)
            .await
            .map_err(refused)?;
        let session = talk.session();
        let set = async |change| sessions.set(&session, change).await.map_err(refused);
        set(SessionOverride::Label(Some(self.label()))).await?;
        let (model, thinking) = self.levels(view, &mut warnings).await;
        if let Some(model) = model {
            set(SessionOverride::Model(Some((model, ModelSource::User)))).await?;
        }
        if thinking.is_some() {
            set(SessionOverride::Thinking(thinking)).await?;
        }
        talk.transcript.refresh_settings().await.map_err(refused)?;
        sessions
            .append(&session, self.grant.entry_for(self.key))
            .await
            .map_err(refused)?;
        Ok((Arc::new(talk), context, warnings))
    }

    /// A model may choose among those the owner set up: for a provider, for agents, for
    /// sub-agents. The owner may try others; whoever wrote what a model reads may not.
    pub fn check_model(&self, view: &AgentView) -> Result<(), SpawnRefused> {
        let Some(name) = self.ask.model.as_deref() else {
            return Ok(());
        };
        let agents = &self.spawner.scope.agents;
        let reference = |name: &str| {
            let chain = agents.chain(view, Some(name)).ok()?;
            Some(chain.primary().reference().to_owned())
        };
        // What names no model at all is told of with the receipt.
        let Some(asked) = reference(name) else {
            return Ok(());
        };
        let mut known: Vec<String> = agents
            .models
            .list()
            .into_iter()
            .map(|info| info.reference)
            .collect();
        let of_subagents = self.spawner.scope.view.subagents.value.model.iter();
        let of_subagents = of_subagents.flat_map(|choice| {
            let fallbacks = choice.fallbacks().iter().map(String::as_str);
            choice.primary().into_iter().chain(fallbacks)
        });
        known.extend(of_subagents.filter_map(reference));
        known.extend(self.spawner.scope.ask.model.as_deref().and_then(reference));
        match known.contains(&asked) {
            true => Ok(()),
            false => Err(SpawnRefused(format!(
                "Nothing was started: the owner has not set up the model `{name}`. Leave `model` out, or name one of these: {}.",
                known.join(", ")
            ))),
        }
    }

    /// The model and the thinking level: those asked for, those of the config, the caller's.
    async fn levels(
        &self,
        view: &AgentView,
        warnings: &mut Vec<String>,
    ) -> (Option<String>, Option<ThinkingLevel>) {
        let spawner = self.spawner;
        let settings = &spawner.scope.view.subagents.value;
        let own = spawner.sessions.info(self.parent).await;
        let own = ok_or_warn!(own, "a sub-agent starts without the session's settings")
            .map(|info| info.settings)
            .unwrap_or_default();
        let callers = || {
            let chosen = spawner.scope.ask.model.clone().or(own.model.clone());
            let chain = spawner
                .scope
                .agents
                .chain(&spawner.scope.view, chosen.as_deref())
                .ok();
            chain.map(|chain| chain.primary().reference().to_owned())
        };
        let mut usable = |name: &str| match spawner.scope.agents.chain(view, Some(name)) {
            Ok(chain) => Some(chain.primary().reference().to_owned()),
            Err(error) => {
                warnings.push(format!("model `{name}` cannot be used: {error}"));
                None
            }
        };
        let asked = self.ask.model.as_deref().and_then(&mut usable);
        let configured = || settings.model.as_ref().and_then(|choice| choice.primary());
        let model = asked
            .or_else(|| configured().and_then(&mut usable))
            .or_else(callers);
        let level = |word: Option<&str>| word.and_then(ThinkingLevel::from_word);
        if let Some(word) = &self.ask.thinking
            && level(Some(word)).is_none()
        {
            warnings.push(format!("thinking `{word}` is not one of the levels"));
        }
        let thinking = level(self.ask.thinking.as_deref())
            .or_else(|| level(settings.thinking.as_deref()))
            .or(own.thinking);
        (model, thinking)
    }

    /// What the child really has: read from what it will be sent.
    pub async fn receipt(
        &self,
        talk: &Conversation,
        context: String,
        warnings: Vec<String>,
    ) -> Result<SpawnReceipt, SpawnRefused> {
        let prefix = talk.context.prefix().await.map_err(refused)?;
        let host = &self.spawner.scope.agents.host;
        let files = prefix
            .text
            .sections
            .iter()
            .filter_map(|mark| match &mark.origin {
                Origin::File { path, .. } => Some(path.clone()),
                _ => None,
            });
        let tools: Vec<String> = prefix
            .text
            .tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect();
        let has_folders = prefix
            .toolbox
            .tools()
            .any(|tool| tool.needs().contains(&ToolNeed::Folders));
        let paths = match paths_of(&self.spawner.scope.agents.loaded, &talk.scope.view) {
            _ if !has_folders => Vec::new(),
            None => vec!["everywhere".to_owned()],
            Some(paths) => paths.iter().map(|path| host.compact(path)).collect(),
        };
        let mut budget: Vec<String> = Vec::new();
        if let Some(steps) = self.grant.steps() {
            budget.push(format!("{steps} model calls"));
        }
        if let Some(seconds) = self.grant.seconds() {
            budget.push(format!("{seconds} seconds"));
        }
        if let Some(payer) = self.grant.payer() {
            budget.push(format!(
                "spending counts against session {} of agent {}",
                payer.session, payer.agent
            ));
        }
        let depth = self.key.subagent_depth();
        Ok(SpawnReceipt {
            run: self.run.to_owned(),
            session: self.key.clone(),
            agent: talk.scope.view.id.to_string(),
            model: prefix.model.clone().unwrap_or_default(),
            context,
            tools,
            paths,
            files: files.collect(),
            budget,
            trust: self.grant.trust(),
            depth,
            deepest: depth + self.grant.levels() as usize,
            warnings,
        })
    }

    /// No sub-agent starts without a record.
    pub async fn put_on_record(&self, receipt: &SpawnReceipt) -> Result<(), SpawnRefused> {
        let ledger = self.spawner.scope.agents.ledger().ok_or_else(|| {
            SpawnRefused(
                "Nothing was started: the ledger cannot be written. Tell the user.".to_owned(),
            )
        })?;
        let body = json!({
            "run": self.run,
            "parent": self.spawner.scope.key.to_string(),
            "parentSession": self.parent.id.as_str(),
            "child": self.key.to_string(),
            "agent": receipt.agent,
            "model": receipt.model,
            "context": receipt.context,
            "task": ContentHash::of(&self.ask.task),
            "grant": self.grant,
        });
        let booked = ledger.append(AuditKind::Spawn, &body).await;
        booked
            .map(drop)
            .map_err(|error| SpawnRefused(format!("Nothing was started: {error}. Tell the user.")))
    }
}
