//! Who wants the process to start over: a change of the config, or the agent on the owner's word.

use std::sync::Mutex;

use chela_agent::prelude::{AgentId, SessionKey};
use chela_core::lock;
use tokio::sync::Notify;

/// Why the process is to start over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartAsk {
    pub why: String,
    /// The session that asked: it hears when the process is back.
    pub session: Option<(AgentId, SessionKey)>,
}

/// Where a restart is asked for.
#[derive(Debug, Default)]
pub(crate) struct RestartDesk {
    asked: Mutex<Option<RestartAsk>>,
    rang: Notify,
}

impl RestartDesk {
    /// Asks for a restart; the first one to ask says why.
    pub fn ask(&self, ask: RestartAsk) {
        tracing::info!(why = ask.why, "a restart is asked for");
        lock(&self.asked).get_or_insert(ask);
        self.rang.notify_one();
    }

    /// Until somebody asks.
    pub async fn wait(&self) -> RestartAsk {
        loop {
            if let Some(ask) = lock(&self.asked).clone() {
                return ask;
            }
            self.rang.notified().await;
        }
    }
}
