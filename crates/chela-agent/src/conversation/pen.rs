//! The journal as the tools of one conversation write into it.

use std::sync::{Arc, Mutex, PoisonError};

use chela_core::SessionKey;
use chela_guard::flow::Taint;
use chela_tools::{ChangeId, FileChange};

use super::Seen;
use chela_session::Session;
use chela_session::journal::{Author, Journal, TrustAfter};

/// Writes on behalf of one conversation: it knows which turn runs, and asks the guard what was
/// read so far.
pub(crate) struct Pen {
    journal: Arc<Journal>,
    session: String,
    now: Mutex<Now>,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Now {
    session_id: String,
    turn: String,
}

impl Pen {
    pub(crate) fn new(journal: Arc<Journal>, session: &SessionKey, seen: Arc<Seen>) -> Self {
        Self {
            journal,
            session: session.to_string(),
            now: Mutex::default(),
            seen,
        }
    }

    /// A turn begins.
    pub(crate) fn begin(&self, session: &Session, turn: &str) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Now {
            session_id: session.id.to_string(),
            turn: turn.to_owned(),
        };
    }
}

impl chela_tools::Journal for Pen {
    fn before(&self, change: &FileChange<'_>) -> Result<ChangeId, String> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let author = Author {
            session: &self.session,
            session_id: &now.session_id,
            turn: &now.turn,
            tainted: self.seen.taint() == Taint::Tainted,
        };
        self.journal
            .keep(change, &author, TrustAfter::Follows)
            .map_err(|error| error.to_string())
    }

    fn not_made(&self, change: ChangeId) {
        // What stays on record by mistake is found out when it is to be taken back.
        let _ = self.journal.take_out(change);
    }
}

#[cfg(test)]
mod tests;
