//! Whether an agent has heartbeats, and how often.

use std::time::Duration;

use chela_core::AgentId;

use super::lookup::ValueLookup;
use super::{ResolvedValue, ValueProvenance};
use crate::load::LoadedConfig;
use crate::model::{BareUnit, Heartbeat};

/// How often heartbeats come when they are configured without saying.
const EVERY: Duration = Duration::from_secs(30 * 60);

/// Heartbeats of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct HeartbeatView {
    /// `None`: this agent has none.
    pub every: Option<Duration>,
    /// The operator's own prompt, if there is one.
    pub prompt: Option<String>,
    /// All settings, put together.
    pub settings: Heartbeat,
}

impl HeartbeatView {
    pub fn is_on(&self) -> bool {
        self.every.is_some()
    }

    /// How often, as `30m` or `1h30m`.
    pub fn every_in_words(&self) -> Option<String> {
        let seconds = self.every?.as_secs();
        let parts = [
            (seconds / 3600, "h"),
            (seconds / 60 % 60, "m"),
            (seconds % 60, "s"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        Some(
            parts
                .map(|(count, unit)| format!("{count}{unit}"))
                .collect(),
        )
    }
}

/// Heartbeats are off unless configured. If any agent has a block of its own, only such agents
/// have them; otherwise the block for all belongs to one owner: `heartbeat.agentId`, else
/// `systemAgent.agentId`, else the default agent.
pub fn resolve(
    loaded: &LoadedConfig,
    lookup: &ValueLookup,
    id: &AgentId,
) -> ResolvedValue<HeartbeatView> {
    let found = lookup.find("heartbeat");
    let (own, shared) = (found.own.is_some(), found.shared.is_some());
    let settings: ResolvedValue<Heartbeat> = found.merged();
    let any_own = loaded
        .config
        .agents
        .list
        .iter()
        .any(|entry| entry.heartbeat.is_some());
    let concerned = if any_own {
        own
    } else {
        shared && owner(loaded) == *id
    };
    let from = if concerned {
        settings.from
    } else if any_own {
        let why = "only agents with a `heartbeat` of their own have them".to_owned();
        ValueProvenance::Derived { why }
    } else if shared {
        let why = format!("they belong to the agent `{}`", owner(loaded));
        ValueProvenance::Derived { why }
    } else {
        ValueProvenance::Default
    };
    let settings = settings.value;
    let every = match &settings.every {
        Some(every) => every
            .duration(BareUnit::Minutes)
            .filter(|every| !every.is_zero()),
        None => Some(EVERY),
    };
    let prompt = settings
        .prompt
        .clone()
        .filter(|prompt| !prompt.trim().is_empty());
    let value = HeartbeatView {
        every: every.filter(|_| concerned),
        prompt,
        settings,
    };
    ResolvedValue { value, from }
}

fn owner(loaded: &LoadedConfig) -> AgentId {
    let named = loaded.config.agents.defaults.heartbeat.agent_id.as_deref();
    let named = named.or(loaded.config.system_agent.agent_id.as_deref());
    named.map_or_else(|| loaded.default_agent(), AgentId::normalize)
}
