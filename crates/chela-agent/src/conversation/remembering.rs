//! Memory that keeps itself up to date while a conversation is open.

use std::sync::Arc;

use chela_memory::MemoryKeeper;

use super::Conversation;

impl Conversation {
    /// Starts keeping the agent's memory, as `sync` says, until what is returned is dropped. For
    /// programs that run on; a single answer is searched for when it is asked for.
    pub fn keep_memory(&self) -> Option<Arc<MemoryKeeper>> {
        let memory = self.scope.agents.memory(self.agent())?;
        Some(memory.keep_current())
    }
}
