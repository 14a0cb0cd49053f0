//! Keeping what a change replaces, for as long as there is room.

use chela_core::ContentHash;
use chela_tools::{ChangeId, FileChange};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{Journal, JournalError, foreign};

/// On whose behalf a file is changed.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    /// Its key.
    pub session: &'a str,
    pub session_id: &'a str,
    pub turn: &'a str,
    /// The turn has read text from outside.
    pub tainted: bool,
}

/// What becomes of the trust in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAfter {
    /// It follows from who writes, and what of the old text lives on.
    Follows,
    /// What was there is there again, with the trust it had.
    Restored { foreign: bool },
}

/// How often what is too old is looked for: with the first change, and every so many.
const TIDY_EVERY: i64 = 64;
const LEVEL: i32 = 3;
/// What a row takes besides the text.
const ROW: u64 = 400;

impl Journal {
    /// On the disk when this returns.
    pub fn keep(
        &self,
        change: &FileChange<'_>,
        author: &Author<'_>,
        trust: TrustAfter,
    ) -> Result<ChangeId, JournalError> {
        let path = self.name_of(change.path)?;
        let path = path.as_str();
        let keeps = change.keeps.map(|path| self.name_of(path)).transpose()?;
        let home = self.home();
        let home = home.to_str();
        let packed = change.before.map(pack);
        let room = packed.as_ref().map_or(0, |packed| packed.len() as u64) + ROW;
        if room > self.retention.bytes {
            return Err(JournalError::TooLarge {
                path: change.path.to_owned(),
                most: self.retention.bytes,
            });
        }
        let id = self.write(|tx| {
            let was = foreign::is_foreign(tx, path, change.before)?;
            let lives_on = match (&keeps, change.keeps) {
                (Some(kept), _) if kept == path => was,
                (Some(kept), Some(at)) => foreign::is_foreign_on_disk(tx, kept, at)?,
                _ => false,
            };
            let is = match trust {
                TrustAfter::Follows => change.after.is_some() && (author.tainted || lives_on),
                TrustAfter::Restored { foreign } => foreign,
            };
            foreign::mark(tx, path, change.after, is)?;
            tx.prepare_cached(
                "INSERT INTO changes (at, session, session_id, turn, call, tool, path, keeps, \
                 what, before_hash, before_size, before, after_hash, tainted, foreign_before, \
                 foreign_after, home) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
                 ?13, ?14, ?15, ?16, ?17)",
            )?
            .execute(params![
                self.host.unix_millis(),
                author.session,
                author.session_id,
                author.turn,
                change.call,
                change.tool,
                path,
                keeps,
                change.in_words(),
                change
                    .before
                    .map(|bytes| *ContentHash::of(bytes).as_bytes()),
                change.before.map_or(0, <[u8]>::len),
                packed,
                change.after.map(|bytes| *ContentHash::of(bytes).as_bytes()),
                author.tainted,
                was,
                is,
                home,
            ])?;
            Ok(tx.last_insert_rowid())
        })?;
        if id % TIDY_EVERY == 1 {
            // Best effort: what is too much now is too much the next time as well.
            let _ = self.tidy();
        }
        Ok(ChangeId(id))
    }

    /// A change that was kept came to nothing: it and what it did to the trust are forgotten.
    pub fn take_out(&self, change: ChangeId) -> Result<(), JournalError> {
        self.write(|tx| {
            let found: Option<(String, bool)> = tx
                .prepare_cached("SELECT path, foreign_before FROM changes WHERE id = ?1")?
                .query_row([change.0], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            if let Some((path, was)) = found {
                foreign::mark(tx, &path, None, was)?;
                tx.execute("DELETE FROM changes WHERE id = ?1", [change.0])?;
            }
            Ok(())
        })
    }

    /// Forgets what is too old or too much. Gives how many changes went.
    pub fn tidy(&self) -> Result<usize, JournalError> {
        let age = u64::try_from(self.retention.age.as_millis()).unwrap_or(u64::MAX);
        let oldest = self.host.unix_millis().saturating_sub(age);
        let most = i64::try_from(self.retention.bytes).unwrap_or(i64::MAX);
        let gone = self.write(|tx| forget(tx, oldest, most))?;
        if gone > 0 {
            // Somebody may be reading: then the room is given back another time.
            let _ = self.read(|connection| {
                connection
                    .prepare("PRAGMA incremental_vacuum")
                    .and_then(|mut statement| statement.query([])?.next().map(drop))
            });
        }
        Ok(gone)
    }

    /// What stood in a file before a change; `None`: no file.
    pub(super) fn kept(&self, id: i64) -> Result<Option<Vec<u8>>, JournalError> {
        let found = self.read(|connection| before(connection, id))?;
        Ok(found.flatten())
    }
}

fn forget(tx: &Transaction<'_>, oldest: u64, most: i64) -> rusqlite::Result<usize> {
    let old = tx.execute("DELETE FROM changes WHERE at < ?1", [oldest])?;
    let large = tx.execute(
        "DELETE FROM changes WHERE id <= (SELECT max(id) FROM (SELECT id, \
         sum(coalesce(length(before), 0) + ?2) OVER (ORDER BY id DESC) AS total FROM changes) \
         WHERE total > ?1)",
        params![most, ROW],
    )?;
    Ok(old + large)
}

fn before(connection: &Connection, id: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    let (data, size): (Option<Vec<u8>>, usize) = connection
        .prepare_cached("SELECT before, before_size FROM changes WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    data.map(|data| {
        zstd::bulk::decompress(&data, size).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(
                0,
                rusqlite::types::Type::Blob,
                Box::new(error),
            )
        })
    })
    .transpose()
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, LEVEL).unwrap_or_default()
}
