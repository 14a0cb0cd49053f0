//! A sub-agent that is being started: its session, its models, its receipt, its record.

use std::sync::Arc;

use chela_config::AgentView;
use chela_config::model::ThinkingLevel;
use chela_core::{AgentId, ContentHash, Origin, SessionKey};
use chela_ledger::AuditKind;
use chela_tools::{Context, Receipt, Refused, SpawnAsk, ToolNeed};
use serde_json::json;

use super::super::Grant;
use super::{Nest, paths_of, refused};
use crate::conversation::{Conversation, ConversationAsk, Role};
use chela_session::{Body, Custom, Entry, Inherited, ModelSource, Override, Session, Source};

/// The kind of entry that keeps the grant of a session.
const GRANT: &str = "subagent-grant";
/// A conversation longer than this is not handed on.
const LONGEST_FORK: u64 = 100_000;

/// A sub-agent that is being started.
pub(super) struct Start<'a> {
    pub nest: &'a Nest,
    pub ask: &'a SpawnAsk,
    pub parent: &'a Session,
    pub grant: &'a Grant,
    pub key: &'a SessionKey,
    pub run: &'a str,
}

/// The conversation, what it knows of the parent's, and what is not as it was asked for.
pub(super) type Opened = (Arc<Conversation>, String, Vec<String>);

impl Start<'_> {
    pub fn label(&self) -> String {
        const MOST: usize = 60;
        let text = self.ask.label.as_deref().unwrap_or(&self.ask.task);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MOST).collect()
    }

    /// Makes the session of the child and opens it.
    pub async fn open(&self, agent: &AgentId, view: &AgentView) -> Result<Opened, Refused> {
        let nest = self.nest;
        let sessions = nest.agents.sessions(agent).map_err(refused)?;
        let mut warnings = Vec::new();
        let mut context = "isolated".to_owned();
        if *agent == nest.view.id {
            let most = match self.ask.context {
                Context::Fork => LONGEST_FORK,
                Context::Isolated => 0,
            };
            let forked = sessions
                .fork(self.parent, self.key, most)
                .await
                .map_err(refused)?;
            match (self.ask.context, forked.inherited) {
                (Context::Isolated, _) => {}
                (Context::Fork, Inherited::Branch { entries }) => {
                    context = format!("fork of {entries} entries");
                }
                (Context::Fork, Inherited::Nothing { tokens }) => warnings.push(format!(
                    "this conversation has about {tokens} tokens, too many to hand on ({LONGEST_FORK}); it starts isolated"
                )),
            }
        }
        let role = Role {
            grant: self.grant.clone(),
            source: Source::Session,
            seen: Some(nest.seen.child()),
        };
        let ask = ConversationAsk {
            agent: Some(agent.clone()),
            session: Some(self.key.clone()),
            model: None,
            speaker: nest.ask.speaker.on_behalf(),
            channel: nest.ask.channel.clone(),
            tools: nest.ask.tools,
            own: nest.ask.own.clone(),
        };
        let talk = Conversation::open_as(Arc::clone(&nest.agents), ask, role)
            .await
            .map_err(refused)?;
        let session = talk.session();
        let set = async |change| sessions.set(&session, change).await.map_err(refused);
        set(Override::Label(Some(self.label()))).await?;
        let (model, thinking) = self.levels(view, &mut warnings).await;
        if let Some(model) = model {
            set(Override::Model(Some((model, ModelSource::User)))).await?;
        }
        if thinking.is_some() {
            set(Override::Thinking(thinking)).await?;
        }
        talk.refresh_settings().await.map_err(refused)?;
        let kept = Custom {
            custom_type: GRANT.to_owned(),
            data: json!({ "key": self.key.to_string(), "grant": self.grant }),
        };
        sessions
            .append(&session, Body::Custom(kept))
            .await
            .map_err(refused)?;
        Ok((Arc::new(talk), context, warnings))
    }

    /// The model and the thinking level: those asked for, those of the config, the caller's.
    async fn levels(
        &self,
        view: &AgentView,
        warnings: &mut Vec<String>,
    ) -> (Option<String>, Option<ThinkingLevel>) {
        let nest = self.nest;
        let settings = &nest.view.subagents.value;
        let own = nest
            .sessions
            .info(self.parent)
            .await
            .map(|info| info.settings)
            .unwrap_or_default();
        let callers = || {
            let chosen = nest.ask.model.clone().or(own.model.clone());
            let chain = nest.agents.chain(&nest.view, chosen.as_deref()).ok();
            chain.map(|chain| chain.primary().reference().to_owned())
        };
        let mut usable = |name: &str| match nest.agents.chain(view, Some(name)) {
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
    ) -> Result<Receipt, Refused> {
        let prefix = talk.prefix().await.map_err(refused)?;
        let host = &self.nest.agents.host;
        let files = prefix
            .sections
            .iter()
            .filter_map(|mark| match &mark.origin {
                Origin::File { path, .. } => Some(path.clone()),
                _ => None,
            });
        let tools: Vec<String> = prefix.tools.iter().map(|tool| tool.name.clone()).collect();
        let has_folders = prefix
            .toolbox
            .tools()
            .any(|tool| tool.needs().contains(&ToolNeed::Folders));
        let paths = match paths_of(&self.nest.agents.loaded, &talk.view) {
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
        Ok(Receipt {
            run: self.run.to_owned(),
            session: self.key.clone(),
            agent: talk.view.id.to_string(),
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
    pub fn put_on_record(&self, receipt: &Receipt) -> Result<(), Refused> {
        let ledger = self.nest.agents.ledger().ok_or_else(|| {
            Refused("Nothing was started: the ledger cannot be written. Tell the user.".to_owned())
        })?;
        let body = json!({
            "run": self.run,
            "parent": self.nest.key.to_string(),
            "parentSession": self.parent.id.as_str(),
            "child": self.key.to_string(),
            "agent": receipt.agent,
            "model": receipt.model,
            "context": receipt.context,
            "task": ContentHash::of(&self.ask.task),
            "grant": self.grant,
        });
        chela_store::block_on(ledger.append(AuditKind::Spawn, &body))
            .map(drop)
            .map_err(|error| Refused(format!("Nothing was started: {error}. Tell the user.")))
    }
}

/// The grant a session was started with, from its transcript.
pub(crate) fn kept_grant(branch: &[Entry], key: &SessionKey) -> Option<Grant> {
    let key = key.to_string();
    branch.iter().rev().find_map(|entry| match &entry.body {
        Body::Custom(custom)
            if custom.custom_type == GRANT && custom.data["key"] == key.as_str() =>
        {
            serde_json::from_value(custom.data["grant"].clone()).ok()
        }
        _ => None,
    })
}
