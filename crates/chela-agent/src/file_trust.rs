//! How far the text of a file is trusted.
//!
//! One answer for everybody who reads files: the file tools, memory, the notes a session begins
//! with. It only ever lowers what the place of a file says.

use std::path::Path;
use std::sync::Arc;

use chela_core::Trust;
use chela_memory::source::Ceiling;
use chela_tools::place::TrustOf;
use chela_workspace::trust::Custody;

use chela_session::journal::{Journal, JournalError};

/// What is known about who wrote the files.
#[derive(Debug, Clone, Default)]
pub struct FileTrust {
    /// Of every agent: workspaces may be shared.
    pub journals: Vec<Arc<Journal>>,
    /// Who wrote the files that shape each agent.
    pub custodies: Vec<Arc<Custody>>,
}

impl FileTrust {
    /// The most a file may be trusted. What was written in a turn that had read foreign text is
    /// foreign, and so is everything while nobody can say.
    pub fn ceiling(&self, path: &Path) -> Trust {
        match path.canonicalize() {
            Ok(real) => self.ceiling_of_real(&real),
            Err(_) => self.ceiling_of_real(path),
        }
    }

    fn ceiling_of_real(&self, path: &Path) -> Trust {
        let foreign = |journal: &Arc<Journal>| journal.is_foreign(path).unwrap_or(true);
        let written = match self.journals.iter().any(foreign) {
            true => Trust::External,
            false => Trust::Operator,
        };
        let here = |custody: &&Arc<Custody>| path.starts_with(custody.root());
        let custodies = self.custodies.iter().filter(here);
        custodies
            .filter_map(|custody| custody.ceiling(path))
            .fold(written, Trust::join)
    }

    /// How far a file of the workspace is trusted, by its real path: as the agent's own, or less.
    pub fn trust_of_file(&self, path: &Path) -> Trust {
        self.ceiling_of_real(path).min(Trust::Agent)
    }

    /// The owner stands for a file as it is. Says whether it was foreign.
    pub fn vouch(&self, path: &Path) -> Result<bool, JournalError> {
        let mut was_foreign = false;
        for journal in &self.journals {
            was_foreign |= journal.vouch(path)?;
        }
        Ok(was_foreign)
    }

    /// How far files are trusted, for the file tools.
    pub fn for_tools(&self) -> TrustOf {
        let known = self.clone();
        Arc::new(move |path| known.trust_of_file(path))
    }

    /// The same, for memory.
    pub fn for_memory(&self) -> Ceiling {
        let known = self.clone();
        Ceiling::new(move |path| known.ceiling(path))
    }
}
