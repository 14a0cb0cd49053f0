//! The journal as the tools of one conversation write into it.

use std::sync::{Arc, Mutex};

use chela_core::{SessionKey, Trust, lock, ok_or_warn};
use chela_guard::flow::SessionTaint;
use chela_tools::{ChangeId, FileChange};

use crate::file_trust::FileTrust;
use crate::guarding::ProvenanceTracker;
use chela_session::OpenSession;
use chela_session::journal::{ChangeAuthor, FileJournal, TrustAfter};

/// Writes on behalf of one conversation: it knows which turn runs, and asks the guard what was
/// read so far.
pub(crate) struct JournalWriter {
    journal: Arc<FileJournal>,
    session: String,
    now: Mutex<Now>,
    seen: Arc<ProvenanceTracker>,
    files: FileTrust,
}

#[derive(Debug, Default)]
struct Now {
    session_id: String,
    turn: String,
}

impl JournalWriter {
    pub(crate) fn new(
        journal: Arc<FileJournal>,
        session: &SessionKey,
        seen: Arc<ProvenanceTracker>,
        files: FileTrust,
    ) -> Self {
        Self {
            files,
            journal,
            session: session.to_string(),
            now: Mutex::default(),
            seen,
        }
    }

    /// How far what this conversation writes now is trusted.
    pub(crate) fn trust_now(&self) -> Trust {
        match self.seen.taint() {
            SessionTaint::Tainted => Trust::External,
            SessionTaint::Clean => Trust::Agent,
        }
    }

    /// A turn begins.
    pub(crate) fn begin(&self, session: &OpenSession, turn: &str) {
        *lock(&self.now) = Now {
            session_id: session.id.to_string(),
            turn: turn.to_owned(),
        };
    }
}

impl chela_tools::ChangeJournal for JournalWriter {
    fn before(&self, change: &FileChange<'_>) -> Result<ChangeId, String> {
        let now = lock(&self.now);
        let author = ChangeAuthor {
            session: &self.session,
            session_id: &now.session_id,
            turn: &now.turn,
            tainted: self.seen.taint() == SessionTaint::Tainted,
            keeps_own: change
                .keeps
                .is_some_and(|kept| self.files.trust_of_file(kept) >= Trust::Agent),
        };
        self.journal
            .keep(change, &author, TrustAfter::Follows)
            .map_err(|error| error.to_string())
    }

    fn not_made(&self, change: ChangeId) {
        // What stays on record by mistake is found out when it is to be taken back.
        ok_or_warn!(
            self.journal.take_out(change),
            "a change that was not made stays on record"
        );
    }
}

#[cfg(test)]
mod tests;
