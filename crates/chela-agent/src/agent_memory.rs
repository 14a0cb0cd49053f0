//! An agent's memory, as its config has it.

use std::sync::Arc;

use chela_config::{AgentView, LoadedConfig};
use chela_core::Host;
use chela_core::secret::Redactor;
use chela_memory::settings::{SourceKind, configured_index_file};
use chela_memory::source::MemoryPlaces;
use chela_memory::transcript::{SessionFacts, SessionMessage, TranscriptError, TranscriptSource};
use chela_memory::{AgentMemory, MemoryParts, MemorySettings, index_file};
use chela_session::SessionError;

use crate::file_trust::FileTrust;
use crate::local::OwnerCalendar;
use crate::vectors::vectors_of;

/// What a memory is made from.
pub struct MemoryAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub trust: &'a FileTrust,
    pub redactor: &'a Redactor,
    /// The agent's conversations; asked for only where the config makes them part of memory.
    pub transcripts: &'a dyn Fn() -> Option<Arc<dyn TranscriptSource>>,
}

/// The memory of an agent. `None` where it is switched off. Nothing is opened yet.
pub fn agent_memory(ask: &MemoryAsk<'_>) -> Option<Arc<AgentMemory>> {
    let settings = MemorySettings::of(ask.view);
    if !settings.enabled {
        return None;
    }
    let view = ask.view;
    let vectors = vectors_of(ask.host, ask.loaded, view, ask.redactor);
    Some(Arc::new(AgentMemory::new(MemoryParts {
        host: ask.host.clone(),
        index_file: configured_index_file(ask.host, view)
            .unwrap_or_else(|| index_file(ask.host, &view.id)),
        places: MemoryPlaces {
            workspace: view.workspace.value.clone(),
            sessions: Some(view.agent_dir.value.join("sessions")),
            ceiling: ask.trust.for_memory(),
            zone: OwnerCalendar::of(ask.host, view.user_timezone.value.as_deref()).for_memory(),
        },
        transcripts: match settings.sources.contains(&SourceKind::Sessions) {
            true => (ask.transcripts)(),
            false => None,
        },
        settings,
        embedder: vectors.embedder,
        provider_problem: vectors.problem,
    })))
}

/// Conversations that cannot be opened: said so, and what memory knows of them stays.
pub(crate) struct ClosedTranscripts(String);

impl ClosedTranscripts {
    pub(crate) fn new(error: &SessionError) -> Self {
        Self(error.to_string())
    }

    fn error(&self, session: &str) -> TranscriptError {
        TranscriptError {
            session: session.to_owned(),
            reason: self.0.clone(),
        }
    }
}

impl TranscriptSource for ClosedTranscripts {
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
        Err(self.error("list"))
    }

    fn messages(
        &self,
        session: &str,
        _: u64,
        _: usize,
    ) -> Result<Vec<SessionMessage>, TranscriptError> {
        Err(self.error(session))
    }
}
