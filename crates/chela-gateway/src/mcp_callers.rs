//! Callers of `/mcp`: who they are by their tokens, and how their questions are worked on.

use std::sync::Arc;

use chela_agent::caller_tokens::{CallerTokens, ServedScope, ServedScopes};
use chela_agent::served_agent::{AskBoard, AskDesk, AskFuture, AskedQuestion};
use chela_core::{Host, ok_or_warn};

use crate::lanes::WorkLanes;
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource, WorkStatus};

/// Where it is served.
pub(crate) const MCP_PATH: &str = "/mcp";
/// The channel callers speak on.
const CHANNEL: &str = "mcp";

/// Who calls, as the token says.
#[derive(Debug, Clone)]
pub(crate) struct McpCaller {
    pub name: String,
    pub scopes: ServedScopes,
    /// The agent it is about; `None`: the default one.
    pub agent: Option<String>,
}

impl McpCaller {
    /// Whose a token is.
    pub fn of_token(host: &Host, token: &str) -> Option<Self> {
        let tokens = CallerTokens::load(host);
        let tokens = ok_or_warn!(tokens, "no caller of /mcp can be let in")?;
        let (name, caller) = tokens.find(token)?;
        Some(Self {
            name: name.to_owned(),
            scopes: caller.scopes.clone(),
            agent: caller.agent.clone(),
        })
    }

    /// Whoever shows the owner's token may have everything; what is said to the agent is a program's
    /// word all the same.
    pub fn with_owners_token() -> Self {
        let all = ServedScope::ALL.iter().map(|scope| scope.as_str());
        Self {
            name: "owner-token".to_owned(),
            scopes: ServedScopes::parse(all).unwrap_or_default(),
            agent: None,
        }
    }
}

/// Runs the questions of callers as any other work: queued, counted, on record.
pub(crate) struct LanesDesk(pub WorkLanes);

impl LanesDesk {
    pub fn board(lanes: &WorkLanes) -> Arc<AskBoard> {
        AskBoard::new(Self(lanes.clone()))
    }
}

impl AskDesk for LanesDesk {
    fn ask(&self, question: AskedQuestion) -> AskFuture {
        let lanes = self.0.clone();
        Box::pin(async move {
            let item = WorkItem {
                id: format!("{CHANNEL}:{}", lanes.host().random_hex(16)),
                agent: question.agent,
                session: question.session,
                source: WorkSource::Sender {
                    channel: CHANNEL.to_owned(),
                    id: question.caller,
                },
                text: question.message,
                external: Vec::new(),
                images: Vec::new(),
                delivery: DeliveryTarget::None,
                text_trust: None,
                options: WorkOptions::default(),
            };
            let id = item.id.clone();
            lanes
                .submit(item)
                .await
                .map_err(|error| error.to_string())?;
            let outcome = lanes
                .wait_for(&id)
                .await
                .map_err(|error| error.to_string())?;
            match outcome.status {
                WorkStatus::Answered | WorkStatus::Silent | WorkStatus::Stopped => {
                    Ok(outcome.reply)
                }
                WorkStatus::Failed | WorkStatus::Dropped => {
                    let why = outcome.error.unwrap_or_else(|| "it failed".to_owned());
                    Err(format!("The agent could not answer: {why}."))
                }
            }
        })
    }
}
