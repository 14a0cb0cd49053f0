//! `session_status`, `sessions_list`, `sessions_history`, `agents_list`.

mod history;
mod list;
mod status;
mod visible;

use std::sync::Arc;

use chela_config::model::TimeFormat;
use chela_core::{AgentId, Clock, ContentHash, Entropy, Origin, SessionKey, Trust};
use chela_guard::{ExternalSource, LabelledText};

use crate::{CallTarget, OutputBound, SessionRow, SessionsView, Tool, ToolOutput};

pub(crate) use visible::SessionSight;

/// Whether there is anybody else to have to do with: another agent, another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionCompany {
    #[default]
    Alone,
    Others,
}

/// What the session tools share.
pub(crate) struct SessionToolset {
    pub view: Arc<dyn SessionsView>,
    pub own: SessionKey,
    pub agent: AgentId,
    pub sight: SessionSight,
    pub bound: Arc<OutputBound>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// IANA name, for the time of day.
    pub time_zone: Option<String>,
    pub time_format: TimeFormat,
}

impl SessionToolset {
    /// What another session said, as what `tool` brought. It is no order of the owner's here.
    pub fn label(&self, tool: &str, session: &str, text: String, trust: Trust) -> LabelledText {
        let origin = Origin::Tool {
            call: format!("{tool} {session}"),
            hash: ContentHash::of(&text),
        };
        match trust {
            Trust::External => {
                let source = ExternalSource::Api {
                    name: format!("session {session}"),
                };
                LabelledText::external(&text, &source, origin, self.entropy.as_ref())
            }
            trust => LabelledText::local(text, trust.min(Trust::Agent), origin),
        }
    }

    /// A session to write to: one that may be seen, that is not this one and no thread.
    pub(crate) fn another(&self, key: &str) -> Result<SessionKey, ToolOutput> {
        let session = self.named(Some(key))?;
        if session == self.own {
            return Err(ToolOutput::failed(
                "That is this very session. Name another one from sessions_list.",
            ));
        }
        if session.thread.is_some() {
            return Err(ToolOutput::failed(format!(
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
    fn visible(&self) -> Result<Vec<SessionRow>, ToolOutput> {
        let all = self.view.sessions().map_err(failed)?;
        Ok(self.sight.visible(&self.own, &self.agent, all))
    }

    /// The session a call names; `current` and nothing are this one. What may not be seen does
    /// not exist.
    fn named(&self, key: Option<&str>) -> Result<SessionKey, ToolOutput> {
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
                ToolOutput::failed(format!(
                    "There is no session `{key}` that this one may see. Call sessions_list, or use `current`."
                ))
            })
    }
}

fn failed(error: crate::SessionsError) -> ToolOutput {
    ToolOutput::failed(error.to_string())
}

pub(crate) fn tools(sessions: &Arc<SessionToolset>) -> Vec<Arc<dyn Tool>> {
    vec![
        list::agents(sessions),
        list::sessions(sessions),
        history::tool(sessions),
    ]
}

pub(crate) fn status_tool(sessions: &Arc<SessionToolset>) -> Arc<dyn Tool> {
    status::tool(sessions)
}

#[cfg(test)]
mod tests;
