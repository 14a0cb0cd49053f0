//! The changes on record.

use std::path::PathBuf;

use chela_core::ContentHash;
use rusqlite::{Connection, Row, ToSql};
use serde::Serialize;

use super::{Journal, JournalError};

/// One change to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
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
    #[serde(skip)]
    home: Option<String>,
}

/// Which changes to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListAsk {
    /// The newest so many.
    pub limit: usize,
}

const COLUMNS: &str = "id, at, session, session_id, turn, call, tool, path, keeps, what, tainted, \
                       before_hash, after_hash, undone, foreign_before, home";

impl Journal {
    /// The newest changes, the newest first.
    pub fn list(&self, ask: ListAsk) -> Result<Vec<Change>, JournalError> {
        let limit = i64::try_from(ask.limit).unwrap_or(i64::MAX);
        self.find("1 ORDER BY id DESC LIMIT ?1", &[&limit])
    }

    pub(super) fn find(
        &self,
        which: &str,
        with: &[&dyn ToSql],
    ) -> Result<Vec<Change>, JournalError> {
        let found = self.read(|connection| find(connection, which, with))?;
        let mut changes = found.unwrap_or_default();
        for change in &mut changes {
            change.elsewhere = self.is_elsewhere(&change.path, change.home.as_deref());
            change.path = self.path_of(&change.path);
            change.keeps = change.keeps.take().map(|kept| self.path_of(kept));
        }
        Ok(changes)
    }
}

fn find(
    connection: &Connection,
    which: &str,
    with: &[&dyn ToSql],
) -> rusqlite::Result<Vec<Change>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM changes WHERE {which}"))?
        .query_map(with, change_of)?
        .collect()
}

fn change_of(row: &Row<'_>) -> rusqlite::Result<Change> {
    let path = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(at)?.map(PathBuf::from));
    let hash = |at| {
        let bytes: Option<[u8; 32]> = row.get(at)?;
        Ok::<_, rusqlite::Error>(bytes.map(ContentHash::from_bytes))
    };
    Ok(Change {
        id: row.get(0)?,
        at: row.get(1)?,
        session: row.get(2)?,
        session_id: row.get(3)?,
        turn: row.get(4)?,
        call: row.get(5)?,
        tool: row.get(6)?,
        path: path(7)?.unwrap_or_default(),
        keeps: path(8)?,
        what: row.get(9)?,
        tainted: row.get(10)?,
        before: hash(11)?,
        after: hash(12)?,
        undone: row.get(13)?,
        foreign_before: row.get(14)?,
        elsewhere: false,
        home: row.get(15)?,
    })
}
