//! What the session tools are told about sessions.

use std::sync::Arc;

use chela_config::model;
use chela_core::{AgentId, SessionKey, Trust};
use chela_ledger::UsageScope;
use chela_model::ModelMessage;
use chela_store::block_on;
use chela_tools::{
    AgentRow, HistoryAsk, HistoryMessage, HistoryPage, SessionRow, SessionsError, SessionsView,
    StatusCard, ToolMessages,
};

use crate::agent::Agents;
use crate::agent::words_of;
use crate::entry_trust::holds_foreign;
use crate::scope::ConversationScope;
use chela_session::{
    EntryBody, ModelSource, OpenSession, SessionError, SessionFilter, SessionInfo, SessionOverride,
    Sessions, TranscriptEntry,
};

/// The sessions of every agent, as one agent's tools see them.
struct AgentSessions {
    agents: Arc<Agents>,
    agent: AgentId,
}

pub(super) fn sessions_view(scope: &ConversationScope) -> Arc<dyn SessionsView> {
    sessions_view_of(&scope.agents, &scope.view.id)
}

/// The same for whoever is in no conversation.
pub(crate) fn sessions_view_of(agents: &Arc<Agents>, agent: &AgentId) -> Arc<dyn SessionsView> {
    Arc::new(AgentSessions {
        agents: Arc::clone(agents),
        agent: agent.clone(),
    })
}

impl SessionsView for AgentSessions {
    fn sessions(&self) -> Result<Vec<SessionRow>, SessionsError> {
        let mut rows = Vec::new();
        for agent in self.agents.loaded.agents() {
            let Some(sessions) =
                Sessions::open_existing(&self.agents.host, &agent).map_err(store)?
            else {
                continue;
            };
            let all = block_on(sessions.list(&SessionFilter::default())).map_err(store)?;
            let foreign = block_on(sessions.foreign_sessions()).map_err(store)?;
            let key_of = |id: &chela_session::SessionId| {
                all.iter()
                    .find(|info| info.session_id == *id)
                    .map(|info| info.key.clone())
            };
            rows.extend(all.iter().map(|info| SessionRow {
                key: info.key.clone(),
                agent: agent.clone(),
                id: info.session_id.as_str().to_owned(),
                parent: info.parent.as_ref().and_then(key_of),
                label: info.name().map(str::to_owned),
                model: info.settings.model.clone(),
                updated_at: info.updated / 1_000,
                context_tokens: (info.totals.context > 0).then_some(info.totals.context),
                messages: info.entries,
                trust: match foreign.contains(info.session_id.as_str()) {
                    true => Trust::External,
                    false => Trust::Agent,
                },
            }));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.updated_at));
        Ok(rows)
    }

    fn history(&self, ask: &HistoryAsk<'_>) -> Result<HistoryPage, SessionsError> {
        let (sessions, session) = self.find(ask.session)?;
        let view = self.agents.view(&self.agent_of(ask.session)).ok();
        let owners = view
            .map(|view| view.owner_allow_from.value.clone())
            .unwrap_or_default();
        // From the first foreign text on, whatever is said may follow it.
        let mut tainted = false;
        let branch = block_on(sessions.branch(&session)).map_err(store)?;
        let messages: Vec<HistoryMessage> = branch
            .iter()
            .filter_map(|entry| {
                let is_foreign = holds_foreign(&entry.body, &owners);
                tainted |= is_foreign;
                history_message(entry, ask.tools, tainted, is_foreign)
            })
            .collect();
        let total = messages.len();
        let end = total.saturating_sub(ask.offset);
        let start = end.saturating_sub(ask.limit);
        Ok(HistoryPage {
            messages: messages.get(start..end).unwrap_or_default().to_vec(),
            total,
        })
    }

    fn status(&self, session: &SessionKey) -> Result<StatusCard, SessionsError> {
        let (sessions, found) = self.find(session)?;
        let info = block_on(sessions.info(&found)).map_err(store)?;
        Ok(self.card(&info))
    }

    fn set_model(
        &self,
        session: &SessionKey,
        model: Option<&str>,
    ) -> Result<String, SessionsError> {
        let (sessions, found) = self.find(session)?;
        let agent = self.agent_of(session);
        let refuse = |error: &dyn std::fmt::Display| SessionsError::Refused(format!("{error}."));
        let view = self.agents.view(&agent).map_err(|error| refuse(&error))?;
        let chain = self
            .agents
            .chain(&view, model)
            .map_err(|error| refuse(&error))?;
        let reference = chain.primary().reference().to_owned();
        let choice = model.map(|_| (reference.clone(), ModelSource::User));
        block_on(sessions.set(&found, SessionOverride::Model(choice))).map_err(store)?;
        Ok(reference)
    }

    fn agents(&self) -> Vec<AgentRow> {
        let Ok(own) = self.agents.view(&self.agent) else {
            return Vec::new();
        };
        let allowed = own.subagents.value.allow_agents.clone().unwrap_or_default();
        let all = self.agents.loaded.agents();
        all.into_iter()
            .filter(|id| {
                *id == self.agent
                    || allowed
                        .iter()
                        .any(|name| name == "*" || name == id.as_str())
            })
            .filter_map(|id| {
                let view = self.agents.view(&id).ok()?;
                Some(AgentRow {
                    name: (view.name.value.clone()).or_else(|| view.identity.value.name.clone()),
                    description: view.description.value.clone(),
                    id,
                })
            })
            .collect()
    }
}

impl AgentSessions {
    fn agent_of(&self, key: &SessionKey) -> AgentId {
        key.agent
            .as_deref()
            .and_then(|agent| AgentId::parse(agent).ok())
            .unwrap_or_else(|| self.agent.clone())
    }

    fn find(&self, key: &SessionKey) -> Result<(Arc<Sessions>, OpenSession), SessionsError> {
        let unknown = || SessionsError::Unknown {
            key: key.to_string(),
        };
        let agent = self.agent_of(key);
        if !self.agents.loaded.agents().contains(&agent) {
            return Err(unknown());
        }
        let sessions = self.agents.sessions(&agent).map_err(store)?;
        let session = block_on(sessions.look_up(key))
            .map_err(store)?
            .ok_or_else(unknown)?;
        Ok((sessions, session))
    }

    fn card(&self, info: &SessionInfo) -> StatusCard {
        let agent = self.agent_of(&info.key);
        let view = self.agents.view(&agent).ok();
        let chain = view
            .as_ref()
            .and_then(|view| self.agents.chain(view, info.settings.model.as_deref()).ok());
        let model = chain.as_ref().map(|chain| chain.primary().info());
        let usage = info.totals.usage();
        let session = info.session_id.to_string();
        let spent = block_on(self.agents.spent_on(UsageScope::Session(&session)));
        // Without a price there is nothing to tell.
        let spent = spent.filter(|sum| sum.requests > sum.unpriced);
        let thinking = info
            .settings
            .thinking
            .or(view.as_ref().and_then(|view| view.thinking.value))
            .map(model::ThinkingLevel::as_str);
        let levels = view.as_ref().map(|view| {
            let settings = &info.settings;
            let may_leave = view.elevated.value.enabled == Some(true);
            let elevated = settings.elevated.unwrap_or(view.elevated_default.value);
            (
                settings.reasoning.unwrap_or(view.reasoning.value),
                settings.verbose.unwrap_or(view.verbose.value),
                may_leave.then_some(elevated),
            )
        });
        StatusCard {
            model: model
                .map(|model| model.reference.clone())
                .unwrap_or_default(),
            fallback: None,
            context_used: (info.totals.context > 0).then_some(info.totals.context),
            context_window: model.and_then(|model| model.context_window),
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cache_read,
            cost: spent.map(|sum| sum.cost as f64 / 1e6),
            compactions: u32::try_from(info.totals.compactions).unwrap_or(u32::MAX),
            thinking: thinking.map(str::to_owned),
            reasoning: levels.map(|(reasoning, ..)| reasoning.to_string()),
            verbose: levels.map(|(_, verbose, _)| verbose.to_string()),
            elevated: levels
                .and_then(|(.., elevated)| elevated)
                .map(|level| level.to_string()),
            started_at: Some(info.started / 1_000),
            tasks: Vec::new(),
        }
    }
}

fn history_message(
    entry: &TranscriptEntry,
    tools: ToolMessages,
    tainted: bool,
    is_foreign: bool,
) -> Option<HistoryMessage> {
    let EntryBody::Message { message, meta } = &entry.body else {
        return None;
    };
    let (role, trust) = match message {
        ModelMessage::User { .. } if is_foreign => ("user", Trust::External),
        ModelMessage::User { .. } => ("user", Trust::Owner),
        ModelMessage::Assistant { .. } if tainted => ("assistant", Trust::External),
        ModelMessage::Assistant { .. } => ("assistant", Trust::Agent),
        ModelMessage::ToolResult { .. } if tools == ToolMessages::LeftOut => return None,
        ModelMessage::ToolResult { .. } => ("tool", Trust::External),
    };
    let text = words_of(message, meta.lead);
    (!text.trim().is_empty()).then(|| HistoryMessage {
        role: role.to_owned(),
        text,
        at: Some(entry.at / 1_000),
        trust: meta
            .label
            .as_ref()
            .map_or(trust, |label| label.trust.join(trust)),
    })
}

fn store(error: SessionError) -> SessionsError {
    SessionsError::Store(error.to_string())
}
