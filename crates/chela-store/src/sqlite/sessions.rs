//! Sessions in a SQLite file.

mod rows;
mod salvage;
mod schema;
mod starting;
mod tree;

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use crate::engine::{JobError, SqliteEngine};
use crate::file::{FileSoundness, FileState, side_file};
use crate::sessions::{
    EntryBatch, EntryRecord, LeafMove, SaidEnds, SessionChange, SessionChanged, SessionFork,
    SessionForked, SessionImport, SessionImported, SessionQuery, SessionRecord, SessionResume,
    SessionSpan, SessionStart, SessionStarted, SessionStore, SessionTree, UsageSums,
};
use crate::{StoreCounts, StoreFuture, WriteDurability};

pub use salvage::{SalvagedEntry, SalvagedHeader, SalvagedSession, salvage_sessions};

use schema::FORMAT;

/// Sessions in one file, which several processes may have open.
#[derive(Debug, Clone)]
pub struct SqliteSessionStore {
    engine: SqliteEngine,
}

crate::sqlite::open_as!(SqliteSessionStore);

impl SqliteSessionStore {
    fn over(engine: SqliteEngine) -> Self {
        Self { engine }
    }

    /// What was there when it was opened.
    pub fn found(&self) -> FileState {
        self.engine.found()
    }
}

impl SessionStore for SqliteSessionStore {
    fn current(&self, key: &str) -> StoreFuture<'_, Option<SessionRecord>> {
        let key = key.to_owned();
        self.engine
            .read(move |connection| Ok(rows::current_session(connection, &key)?))
    }

    fn by_id(&self, id: &str) -> StoreFuture<'_, Option<SessionRecord>> {
        let id = id.to_owned();
        self.engine
            .read(move |connection| Ok(rows::session_by_id(connection, &id)?))
    }

    fn list(&self, query: SessionQuery) -> StoreFuture<'_, Vec<SessionRecord>> {
        let which = match query.span {
            SessionSpan::Current => {
                "updated >= ?1 AND ended IS NULL AND archived IS NULL \
                 ORDER BY updated DESC, row DESC LIMIT ?2"
            }
            SessionSpan::Everything => "updated >= ?1 ORDER BY updated DESC, row DESC LIMIT ?2",
        };
        // A negative limit is none.
        let most = query.most.map_or(-1, i64::from);
        self.engine.scan(move |connection| {
            Ok(rows::find_sessions(
                connection,
                which,
                &[&query.updated_since, &most],
            )?)
        })
    }

    fn names(&self) -> StoreFuture<'_, Vec<(String, String)>> {
        self.engine.scan(|connection| {
            let names = connection
                .prepare_cached("SELECT id, key FROM sessions ORDER BY updated DESC")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(names)
        })
    }

    fn foreign_sessions(&self) -> StoreFuture<'_, BTreeSet<String>> {
        self.engine.scan(|connection| {
            // One look into the index for each session.
            let found = connection
                .prepare_cached(
                    "SELECT id FROM sessions WHERE EXISTS (SELECT 1 FROM entries \
                     INDEXED BY entries_foreign WHERE trust = 'external' \
                     AND key BETWEEN sessions.row << 32 AND sessions.row << 32 | 0xffffffff)",
                )?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(found)
        })
    }

    fn start(&self, start: SessionStart) -> StoreFuture<'_, SessionStarted> {
        self.engine.write(WriteDurability::Process, move |tx| {
            starting::start(tx, &start)
        })
    }

    fn fork(&self, fork: SessionFork) -> StoreFuture<'_, SessionForked> {
        self.engine.write(WriteDurability::Process, move |tx| {
            starting::fork(tx, &fork)
        })
    }

    fn resume(&self, resume: SessionResume) -> StoreFuture<'_, Option<SessionRecord>> {
        self.engine.write(WriteDurability::Disk, move |tx| {
            starting::resume(tx, &resume)
        })
    }

    fn import(&self, import: SessionImport) -> StoreFuture<'_, SessionImported> {
        self.engine.write(WriteDurability::Disk, move |tx| {
            starting::import(tx, &import)
        })
    }

    fn archive(&self, id: &str, at: u64) -> StoreFuture<'_, bool> {
        let id = id.to_owned();
        self.engine.write(WriteDurability::Disk, move |tx| {
            let changed = tx.execute(
                "UPDATE sessions SET archived = ?2, ended = coalesce(ended, ?2), \
                 ended_why = coalesce(ended_why, 'archived'), version = version + 1 \
                 WHERE id = ?1",
                params![id, at],
            )?;
            Ok(changed > 0)
        })
    }

    fn remove(&self, id: &str) -> StoreFuture<'_, bool> {
        self.change(id, WriteDurability::Disk, |tx, session| {
            tree::remove_session(tx, session)
        })
    }

    fn set(&self, id: &str, change: SessionChange) -> StoreFuture<'_, SessionChanged> {
        let id = id.to_owned();
        self.engine
            .write(WriteDurability::Disk, move |tx| set(tx, &id, &change))
    }

    fn add_usage(
        &self,
        id: &str,
        usage: UsageSums,
        durability: WriteDurability,
    ) -> StoreFuture<'_, bool> {
        self.change(id, durability, move |tx, session| {
            tree::add_usage(tx, session, usage)
        })
    }

    fn frozen(&self, id: &str) -> StoreFuture<'_, Option<String>> {
        let id = id.to_owned();
        self.engine.read(move |connection| {
            let body = connection
                .prepare_cached(
                    "SELECT body FROM frozen WHERE row = (SELECT row FROM sessions WHERE id = ?1)",
                )?
                .query_row([id], |row| row.get(0))
                .optional()?;
            Ok(body)
        })
    }

    fn freeze(&self, id: &str, body: String) -> StoreFuture<'_, bool> {
        self.change(id, WriteDurability::Process, move |tx, session| {
            tx.prepare_cached("INSERT OR REPLACE INTO frozen (row, body) VALUES (?1, ?2)")?
                .execute(params![session, body])
                .map(drop)
        })
    }

    fn append(
        &self,
        id: &str,
        batch: EntryBatch,
        durability: WriteDurability,
    ) -> StoreFuture<'_, Option<Vec<u32>>> {
        let id = id.to_owned();
        self.engine
            .write(durability, move |tx| tree::append(tx, &id, &batch))
    }

    fn branch(&self, id: &str) -> StoreFuture<'_, Option<Vec<EntryRecord>>> {
        let id = id.to_owned();
        self.engine.read(move |connection| {
            let Some(session) = rows::row_of(connection, &id)? else {
                return Ok(None);
            };
            Ok(Some(tree::branch(connection, session)?))
        })
    }

    fn said_ends(&self, id: &str) -> StoreFuture<'_, Option<SaidEnds>> {
        let id = id.to_owned();
        self.engine.read(move |connection| {
            let Some(session) = rows::row_of(connection, &id)? else {
                return Ok(None);
            };
            let end = |order| rows::said_end(connection, session.row, order);
            Ok(Some(SaidEnds {
                first: end("ASC")?,
                last: end("DESC")?,
            }))
        })
    }

    fn read_since(&self, id: &str, after: u32) -> StoreFuture<'_, Option<SessionTree>> {
        let id = id.to_owned();
        self.engine
            .read(move |connection| tree::read_since(connection, &id, after))
    }

    fn last_compaction(&self, id: &str) -> StoreFuture<'_, Option<u32>> {
        let id = id.to_owned();
        self.engine
            .read(move |connection| tree::last_compaction(connection, &id))
    }

    fn move_leaf(&self, id: &str, leaf: LeafMove) -> StoreFuture<'_, Option<bool>> {
        let id = id.to_owned();
        self.engine.write(WriteDurability::Disk, move |tx| {
            tree::move_leaf(tx, &id, leaf)
        })
    }

    fn check(&self) -> StoreFuture<'_, FileSoundness> {
        self.engine.check()
    }

    fn give_room_back(&self) -> StoreFuture<'_, ()> {
        self.engine.maintain(|connection| {
            connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM;")?;
            Ok(())
        })
    }

    fn stored_bytes(&self) -> StoreFuture<'_, u64> {
        let path = self.engine.path();
        let bytes = [path.to_owned(), side_file(path, "-wal")]
            .iter()
            .filter_map(|path| std::fs::metadata(path).ok())
            .map(|file| file.len())
            .sum();
        Box::pin(std::future::ready(Ok(bytes)))
    }

    fn counts(&self) -> StoreCounts {
        self.engine.counts()
    }
}

impl SqliteSessionStore {
    /// Changes a session that is there; says whether it was.
    fn change<F>(
        &self,
        id: &str,
        durability: WriteDurability,
        work: F,
    ) -> StoreFuture<'static, bool>
    where
        F: FnOnce(&Connection, i64) -> rusqlite::Result<()> + Send + 'static,
    {
        let id = id.to_owned();
        self.engine.write(durability, move |tx| {
            match rows::row_of(tx, &id)? {
                Some(session) => work(tx, session.row)?,
                None => return Ok(false),
            }
            Ok(true)
        })
    }
}

fn set(tx: &Connection, id: &str, change: &SessionChange) -> Result<SessionChanged, JobError> {
    let Some(session) = rows::row_of(tx, id)? else {
        return Ok(SessionChanged::Gone);
    };
    let row = session.row;
    let put = |column: &str, value: &dyn rusqlite::ToSql| {
        tx.execute(
            &format!("UPDATE sessions SET {column} = ?2, version = version + 1 WHERE row = ?1"),
            params![row, value],
        )
    };
    match change {
        SessionChange::Label(label) => put("label", label)?,
        SessionChange::DisplayName(name) => put("display_name", name)?,
        SessionChange::Pinned(pinned) => put("pinned", pinned)?,
        SessionChange::Flushed { at, compaction } => tx.execute(
            "UPDATE sessions SET flushed_at = ?2, flushed_compaction = ?3, \
             version = version + 1 WHERE row = ?1",
            params![row, at, compaction],
        )?,
        SessionChange::Settings { version, .. } if *version != session.version => {
            return Ok(SessionChanged::Overtaken);
        }
        SessionChange::Settings { text, .. } => put("settings", text)?,
    };
    Ok(SessionChanged::Changed)
}
