//! The tools of whoever embeds the agent and of servers, which may come and go while a session lasts.

use std::sync::{Arc, MutexGuard};

use chela_core::lock;
use chela_tools::{Tool, ToolNameError, Toolbox, check_own_names};

use super::{ContextBuilder, RequestPrefix};
use crate::assemble::PromptSize;
use crate::scope::ToolUse;

impl ContextBuilder {
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<(), ToolNameError> {
        let mut own = self.locked_tools();
        let mut all = own.clone();
        all.push(tool);
        check_own_names(&all)?;
        *own = all;
        Ok(())
    }

    pub fn remove_tool(&self, name: &str) -> bool {
        let mut own = self.locked_tools();
        let before = own.len();
        own.retain(|tool| &*tool.spec().name != name);
        own.len() < before
    }

    /// Those of whoever embeds the agent, and those of servers.
    pub(super) fn own_tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut own = self.locked_tools().clone();
        if self.scope.ask.tools == ToolUse::AsConfigured && self.scope.agents.has_mcp_servers() {
            own.extend(self.scope.agents.mcp().tools());
        }
        own
    }

    /// Meets tool servers nobody has met before. Gives what went wrong.
    pub async fn meet_new_servers(&self) -> Vec<String> {
        let agents = &self.scope.agents;
        match self.scope.ask.tools == ToolUse::AsConfigured && agents.has_mcp_servers() {
            true => agents.mcp().meet_new_servers().await,
            false => Vec::new(),
        }
    }

    /// The tools a model was told of, with what came and went since.
    pub fn current_tools(&self, prefix: &RequestPrefix) -> Toolbox {
        if self.scope.ask.tools == ToolUse::None || prefix.size == PromptSize::Short {
            return prefix.toolbox.clone();
        }
        let own = self.own_tools().into_iter();
        let granted = own.filter(|tool| self.scope.is_granted(tool.as_ref()));
        prefix.toolbox.with_own(granted.collect())
    }

    fn locked_tools(&self) -> MutexGuard<'_, Vec<Arc<dyn Tool>>> {
        lock(&self.own)
    }
}
