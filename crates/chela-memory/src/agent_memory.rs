//! One open memory per agent, shared by everybody who asks it.
//!
//! The tools, the commands and the chat look at the same notes and the same conversations, so none
//! of them takes for gone what another one knows. What a question has opened and read stays warm
//! for the next one.

mod keeper;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use chela_core::{Host, lock};

use crate::embed::{Embedder, LocalTable};
use crate::memory::{Memory, OpenMemory, WarmMemory};
use crate::settings::{ExtraPath, MemorySettings, SourceKind};
use crate::source::MemoryPlaces;
use crate::store::StoreError;
use crate::transcript::TranscriptSource;

pub use keeper::{KeeperState, MemoryKeeper, VectorWork};

/// What documents are written in. Code is found by tools that know it.
const DOCUMENTS: &str = "**/*.{md,markdown,mdx,txt,org,rst,adoc,tex,csv,tsv}";

/// What a memory is made of. Everything is owned: it goes from thread to thread.
#[derive(Clone)]
pub struct MemoryParts {
    pub host: Host,
    pub index_file: PathBuf,
    pub places: MemoryPlaces,
    pub settings: MemorySettings,
    /// `None` searches by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Why a provider is not used, when one was asked for.
    pub provider_problem: Option<String>,
    /// Conversations that are kept elsewhere than in files. Always there where the settings ask for
    /// conversations.
    pub transcripts: Option<Arc<dyn TranscriptSource>>,
}

impl std::fmt::Debug for MemoryParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryParts")
            .field("index_file", &self.index_file)
            .finish_non_exhaustive()
    }
}

impl MemoryParts {
    /// The documents in the agent's folder, searched as notes are: an index of its own, by the table
    /// that costs nothing.
    pub fn documents(&self) -> Self {
        Self {
            index_file: self.index_file.with_extension("files.sqlite"),
            places: MemoryPlaces {
                sessions: None,
                ..self.places.clone()
            },
            settings: MemorySettings {
                sources: vec![SourceKind::Memory],
                extra_paths: vec![ExtraPath {
                    path: ".".to_owned(),
                    pattern: Some(DOCUMENTS.to_owned()),
                }],
                ..self.settings.clone()
            },
            embedder: Some(Arc::new(LocalTable)),
            provider_problem: None,
            transcripts: None,
            host: self.host.clone(),
        }
    }

    /// A memory of these parts, which goes on with what an earlier use has opened.
    pub(crate) fn open(&self, warm: Option<WarmMemory>) -> Result<Memory<'_>, StoreError> {
        let with = OpenMemory {
            host: &self.host,
            index_file: self.index_file.clone(),
            places: self.places.clone(),
            settings: self.settings.clone(),
            embedder: self.embedder.as_deref(),
        };
        let memory = match warm {
            Some(warm) => Memory::resume(with, warm),
            None => Memory::open(with)?,
        };
        Ok(memory.with_transcripts(self.transcripts.as_deref()))
    }
}

/// The memory of one agent, opened once for a whole process.
#[derive(Debug)]
pub struct AgentMemory {
    parts: MemoryParts,
    /// What questions use; opened by the first.
    reader: Mutex<Option<WarmMemory>>,
    keeper: Mutex<Weak<MemoryKeeper>>,
}

impl AgentMemory {
    /// Cheap: nothing is opened before it is asked for.
    pub fn new(parts: MemoryParts) -> Self {
        Self {
            parts,
            reader: Mutex::new(None),
            keeper: Mutex::new(Weak::new()),
        }
    }

    pub fn parts(&self) -> &MemoryParts {
        &self.parts
    }

    /// Lends the open memory. Other questions wait for it; the keeper does not, and is not waited
    /// for.
    pub fn with<T, E: From<StoreError>>(
        &self,
        use_it: impl FnOnce(&mut Memory<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut reader = lock(&self.reader);
        // The index may have been deleted since: then it is made anew.
        let warm = reader.take().filter(WarmMemory::is_in_place);
        let mut memory = self.parts.open(warm)?;
        let result = use_it(&mut memory);
        *reader = Some(memory.pause());
        result
    }

    /// The same for one user who needs it for long: nothing of it is kept.
    pub fn open(&self) -> Result<Memory<'_>, StoreError> {
        self.parts.open(None)
    }

    /// Keeps the memory up to date, as `sync` says, until everybody who asked for it has dropped
    /// what is returned.
    pub fn keep_current(self: &Arc<Self>) -> Arc<MemoryKeeper> {
        let mut kept = lock(&self.keeper);
        if let Some(keeper) = kept.upgrade() {
            keeper.session_started();
            return keeper;
        }
        let keeper = Arc::new(MemoryKeeper::start(Arc::clone(self)));
        *kept = Arc::downgrade(&keeper);
        keeper
    }
}

#[cfg(test)]
mod tests;
