//! What a file is, and how its tables grow.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// What a file is, and its tables. A version is a step; files of an older version take the
/// missing ones.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// As a sentence names it: "the ledger".
    pub name: &'static str,
    /// What to do when it is damaged, as the end of a sentence.
    pub if_damaged: &'static str,
    pub steps: &'static [&'static str],
    /// What the rows of an older version need besides. It is told how many steps were done
    /// before.
    pub mend: Option<fn(&Transaction<'_>, usize) -> rusqlite::Result<()>>,
    pub room: Room,
}

/// What becomes of room that is no longer needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It is used again.
    Kept,
    /// It is overwritten and can be given back; only in a new file.
    GivenBack,
}

impl Format {
    pub const fn version(&self) -> i64 {
        self.steps.len() as i64
    }

    /// Sets up a connection that may write, and brings the file up to this version.
    pub(super) fn prepare(&self, connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
        if self.room == Room::GivenBack {
            connection.pragma_update(None, "secure_delete", "ON")?;
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        if found < self.version() {
            self.upgrade(connection)?;
        }
        Ok(())
    }

    /// Two processes may try at once: the second finds the work done.
    fn upgrade(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = usize::try_from(version_of(&transaction)?).unwrap_or(0);
        for step in self.steps.iter().skip(done) {
            transaction.execute_batch(step)?;
        }
        if let Some(mend) = self.mend {
            mend(&transaction, done)?;
        }
        transaction.pragma_update(None, "user_version", self.version())?;
        transaction.commit()
    }
}

pub(super) fn version_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
