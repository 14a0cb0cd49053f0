//! `session_status`, `sessions_list`, `sessions_history`, `agents_list`.

mod history;
mod list;
mod status;
mod visible;

use std::sync::Arc;

use chela_core::{AgentId, Clock, Entropy, SessionKey};

use crate::toolbox::ToolboxSettings;
use crate::{Bound, CallTarget, Output, SessionRow, SessionsView, Tool};

use visible::Sight;

/// What the session tools share.
pub(crate) struct Sessions {
    view: Arc<dyn SessionsView>,
    own: SessionKey,
    agent: AgentId,
    sight: Sight,
    bound: Arc<Bound>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// IANA name, for the time of day.
    time_zone: Option<String>,
}

impl Sessions {
    pub(crate) fn new(settings: &ToolboxSettings<'_>, bound: Arc<Bound>) -> Self {
        let zone = settings.view.user_timezone.value.clone();
        Self {
            view: Arc::clone(&settings.sessions),
            own: settings.session.clone(),
            agent: settings.view.id.clone(),
            sight: Sight::of(settings),
            bound,
            clock: Arc::clone(&settings.host.clock),
            entropy: Arc::clone(&settings.host.entropy),
            time_zone: zone.or_else(|| settings.host.facts.time_zone.clone()),
        }
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        self.entropy.as_ref()
    }

    /// A session to write to: one that may be seen, that is not this one and no thread.
    pub(crate) fn another(&self, key: &str) -> Result<SessionKey, Output> {
        let session = self.named(Some(key))?;
        if session == self.own {
            return Err(Output::failed(
                "That is this very session. Name another one from sessions_list.",
            ));
        }
        if session.thread.is_some() {
            return Err(Output::failed(format!(
                "{session} is a thread; nothing is sent into threads. Name its conversation."
            )));
        }
        Ok(session)
    }

    /// The session a call names, where there is one.
    pub(crate) fn target(&self, key: Option<&str>) -> Vec<CallTarget> {
        let found = self.named(key).ok();
        found
            .map(|key| CallTarget::Session(key.to_string()))
            .into_iter()
            .collect()
    }

    fn now(&self) -> u64 {
        self.clock
            .now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    }

    /// The sessions this one may see.
    fn visible(&self) -> Result<Vec<SessionRow>, Output> {
        let all = self.view.sessions().map_err(failed)?;
        Ok(self.sight.visible(&self.own, &self.agent, all))
    }

    /// The session a call names; `current` and nothing are this one. What may not be seen does
    /// not exist.
    fn named(&self, key: Option<&str>) -> Result<SessionKey, Output> {
        let Some(key) = key.map(str::trim).filter(|key| !key.is_empty()) else {
            return Ok(self.own.clone());
        };
        if key == "current" || key == self.own.to_string() {
            return Ok(self.own.clone());
        }
        let visible = self.visible()?;
        visible
            .into_iter()
            .find(|row| row.key.to_string() == key || row.id == key)
            .map(|row| row.key)
            .ok_or_else(|| {
                Output::failed(format!(
                    "There is no session `{key}` that this one may see. Call sessions_list, or use `current`."
                ))
            })
    }
}

fn failed(error: crate::SessionsError) -> Output {
    Output::failed(error.to_string())
}

pub(crate) fn tools(sessions: &Arc<Sessions>) -> Vec<Arc<dyn Tool>> {
    vec![
        list::agents(sessions),
        list::sessions(sessions),
        history::tool(sessions),
    ]
}

pub(crate) fn status_tool(sessions: &Arc<Sessions>) -> Arc<dyn Tool> {
    status::tool(sessions)
}

#[cfg(test)]
mod tests;
