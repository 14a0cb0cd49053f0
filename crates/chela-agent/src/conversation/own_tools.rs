//! The tools of whoever embeds the agent, which may come and go while a session lasts.

use std::sync::{Arc, MutexGuard, PoisonError};

use chela_tools::{Tool, ToolNameError, Toolbox, check_own_names};

use super::{Conversation, Prefix, ToolUse};
use crate::assemble::Size;

impl Conversation {
    /// Brings in a tool. The model is told with the next message; what a session began with stays
    /// as it is until it is read anew anyway.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<(), ToolNameError> {
        let mut own = self.locked_tools();
        let mut all = own.clone();
        all.push(tool);
        check_own_names(&all)?;
        *own = all;
        Ok(())
    }

    /// Takes a tool away, at once: a call that was not made yet is answered that it is gone. Says
    /// whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        let mut own = self.locked_tools();
        let before = own.len();
        own.retain(|tool| &*tool.spec().name != name);
        own.len() < before
    }

    pub(super) fn own_tools(&self) -> Vec<Arc<dyn Tool>> {
        self.locked_tools().clone()
    }

    /// The tools a model was told of, with what came and went since.
    pub(crate) fn current_tools(&self, prefix: &Prefix) -> Toolbox {
        if self.ask.tools == ToolUse::None || prefix.size == Size::Short {
            return prefix.toolbox.clone();
        }
        let own = self.own_tools().into_iter();
        let granted = own.filter(|tool| self.is_granted(tool.as_ref()));
        prefix.toolbox.with_own(granted.collect())
    }

    fn locked_tools(&self) -> MutexGuard<'_, Vec<Arc<dyn Tool>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
