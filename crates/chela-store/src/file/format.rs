//! What a file is, and how its tables grow.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::sound::FileState;

/// What a file is, and its tables. A version is a step; files of an older version take the
/// missing ones.
#[derive(Debug, Clone, Copy)]
pub struct FileFormat {
    /// As a sentence names it: "the ledger".
    pub name: &'static str,
    /// What to do when it is damaged, as the end of a sentence.
    pub if_damaged: &'static str,
    pub steps: &'static [&'static str],
    /// What the rows of an older version need besides. It is told how many steps were done
    /// before.
    pub mend: Option<fn(&Transaction<'_>, usize) -> rusqlite::Result<()>>,
    pub room: FreedRoom,
}

/// What becomes of room that is no longer needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreedRoom {
    /// It is used again.
    Kept,
    /// It is overwritten and can be given back; only in a new file.
    GivenBack,
}

impl FileFormat {
    pub const fn version(&self) -> i64 {
        self.steps.len() as i64
    }

    /// Sets up a connection that may write, and brings the file up to this version. Says what
    /// was there before.
    pub(super) fn prepare(
        &self,
        connection: &mut Connection,
        found: i64,
    ) -> rusqlite::Result<FileState> {
        if self.room == FreedRoom::GivenBack {
            connection.pragma_update(None, "secure_delete", "ON")?;
            // Setting it writes, whatever was set before, and the disk is waited for.
            if found == 0 {
                connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            }
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        match found < self.version() {
            true => self.upgrade(connection),
            false => Ok(FileState::Present),
        }
    }

    /// Two processes may try at once: the second finds the work done, and a file that is no
    /// longer empty.
    fn upgrade(&self, connection: &mut Connection) -> rusqlite::Result<FileState> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = usize::try_from(version_of(&transaction)?).unwrap_or(0);
        if done > 0 {
            tracing::info!(
                what = self.name,
                from = done,
                to = self.version(),
                "a file of records is brought up to date"
            );
        }
        for step in self.steps.iter().skip(done) {
            transaction.execute_batch(step)?;
        }
        if let Some(mend) = self.mend {
            mend(&transaction, done)?;
        }
        transaction.pragma_update(None, "user_version", self.version())?;
        transaction.commit()?;
        Ok(match done {
            0 => FileState::Empty,
            _ => FileState::Present,
        })
    }
}

pub(super) fn version_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
