//! The changes on record.

use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use chela_store::{ChangeQuery, ChangeRecord};
use serde::Serialize;

use super::{FileJournal, JournalError};

/// One change to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalChange {
    pub id: i64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The key of the session it was made in.
    pub session: String,
    pub session_id: String,
    pub turn: String,
    pub call: String,
    /// `undo` where a change was taken back.
    pub tool: String,
    pub path: PathBuf,
    /// The file whose text lives on in this one.
    pub keeps: Option<PathBuf>,
    /// What changed, in lines.
    pub what: String,
    /// The turn had read text from outside.
    pub tainted: bool,
    /// `None`: there was no file.
    pub before: Option<ContentHash>,
    /// `None`: there is no file any more.
    pub after: Option<ContentHash>,
    /// The change that took it back.
    pub undone: Option<i64>,
    #[serde(skip)]
    pub(super) foreign_before: bool,
    /// It was made in another home, of which this one is a copy.
    pub elsewhere: bool,
}

/// Which changes to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListAsk {
    /// The newest so many.
    pub limit: usize,
}

impl FileJournal {
    /// The newest changes, the newest first.
    pub fn list(&self, ask: ListAsk) -> Result<Vec<JournalChange>, JournalError> {
        self.find(ChangeQuery::Newest {
            limit: ask.limit as u64,
        })
    }

    pub(super) fn find(&self, query: ChangeQuery) -> Result<Vec<JournalChange>, JournalError> {
        let found = self.look(|journal| journal.changes(query))?;
        Ok(found
            .unwrap_or_default()
            .into_iter()
            .map(|record| self.change_of(record))
            .collect())
    }

    fn change_of(&self, record: ChangeRecord) -> JournalChange {
        JournalChange {
            elsewhere: self.is_elsewhere(Path::new(&record.path), record.home.as_deref()),
            id: record.number,
            at: record.at,
            session: record.session,
            session_id: record.session_id,
            turn: record.turn,
            call: record.call,
            tool: record.tool,
            path: self.path_of(record.path),
            keeps: record.keeps.map(|kept| self.path_of(kept)),
            what: record.what,
            tainted: record.tainted,
            before: record.before.map(ContentHash::from_bytes),
            after: record.after.map(ContentHash::from_bytes),
            undone: record.undone,
            foreign_before: record.foreign_before,
        }
    }
}
