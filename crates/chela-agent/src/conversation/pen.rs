//! The journal as the tools of one conversation write into it.

use std::path::PathBuf;
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
    /// What would be written, while nothing is.
    drafts: Mutex<Option<Vec<Draft>>>,
}

/// A file as a call would leave it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub path: PathBuf,
    /// `None`: it would be gone.
    pub after: Option<Vec<u8>>,
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
            drafts: Mutex::default(),
        }
    }

    /// From now on changes are refused, and kept as drafts.
    pub(crate) fn begin_draft(&self) {
        *self.drafts.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }

    /// Changes are made again. Gives what would have been written.
    pub(crate) fn end_draft(&self) -> Vec<Draft> {
        let mut drafts = self.drafts.lock().unwrap_or_else(PoisonError::into_inner);
        drafts.take().unwrap_or_default()
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
        if let Some(drafts) = &mut *self.drafts.lock().unwrap_or_else(PoisonError::into_inner) {
            drafts.push(Draft {
                path: change.path.to_owned(),
                after: change.after.map(<[u8]>::to_vec),
            });
            return Err("it waits for the owner".to_owned());
        }
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
