//! Memory that keeps itself up to date while a conversation is open.

use std::sync::Arc;

use chela_memory::transcript::TranscriptSource;
use chela_memory::{Keep, Keeper, MemorySettings};

use super::Conversation;
use crate::toolset;
use crate::vectors::vectors_of;

impl Conversation {
    /// Starts keeping the agent's memory, as `sync` says, until what is returned is dropped. For
    /// programs that run on; a single answer is searched for when it is asked for.
    pub fn keep_memory(&self) -> Option<Keeper> {
        let settings = MemorySettings::of(&self.view);
        let agents = &self.agents;
        settings.enabled.then(|| {
            Keeper::start(Keep {
                host: agents.host.clone(),
                index_file: toolset::memory_index(&agents.host, &self.view),
                places: toolset::memory_places(&self.view, &agents.file_trust()),
                settings,
                embedder: vectors_of(&agents.host, &agents.loaded, &self.view, &agents.redactor())
                    .embedder,
                transcripts: Some(Arc::clone(&self.sessions) as Arc<dyn TranscriptSource>),
            })
        })
    }
}
