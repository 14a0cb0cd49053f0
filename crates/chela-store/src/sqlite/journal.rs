//! The journal in a SQLite file.

mod changes;
mod foreign;
mod schema;

use std::path::Path;

use crate::engine::SqliteEngine;
use crate::file::{FileState, Soundness};
use crate::journal::{
    ChangeQuery, ChangeRecord, ForeignQuery, ForgetLimit, JournalStore, NewChange, PackedText,
    TextHash, TextMark,
};
use crate::{Durability, StoreCounts, StoreError, StoreFuture};

use schema::FORMAT;

/// A journal in one file, which several processes may have open.
#[derive(Debug, Clone)]
pub struct SqliteJournalStore {
    engine: SqliteEngine,
}

impl SqliteJournalStore {
    /// Opens a file, making it if there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        SqliteEngine::open(path, &FORMAT).map(|engine| Self { engine })
    }

    /// Opens a file that is there, for reading only where nothing can be written; `None` when
    /// there is none.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, StoreError> {
        let opened = SqliteEngine::open_existing(path, &FORMAT)?;
        Ok(opened.map(|engine| Self { engine }))
    }

    /// One that leaves no trace.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        SqliteEngine::open_in_memory(&FORMAT).map(|engine| Self { engine })
    }

    /// What was there when it was opened.
    pub fn found(&self) -> FileState {
        self.engine.found()
    }

    /// Opened for reading only, where nothing can be written.
    pub fn may_write(&self) -> bool {
        self.engine.may_write()
    }

    fn write<T, F>(&self, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.engine.write(Durability::Disk, move |tx| Ok(work(tx)?))
    }
}

impl JournalStore for SqliteJournalStore {
    fn keep(&self, change: NewChange) -> StoreFuture<'_, i64> {
        self.write(move |tx| changes::keep(tx, &change))
    }

    fn take_out(&self, change: i64) -> StoreFuture<'_, ()> {
        self.write(move |tx| changes::take_out(tx, change))
    }

    fn forget(&self, limit: ForgetLimit) -> StoreFuture<'_, usize> {
        let forgotten = self.write(move |tx| changes::forget(tx, limit));
        Box::pin(async move {
            let gone = forgotten.await?;
            if gone > 0 {
                // Somebody may be reading: then the room is given back another time.
                if let Err(error) = self.engine.give_room_back().await {
                    tracing::debug!(%error, "the room of old changes is not given back yet");
                }
            }
            Ok(gone)
        })
    }

    fn changes(&self, query: ChangeQuery) -> StoreFuture<'_, Vec<ChangeRecord>> {
        self.engine
            .read(move |connection| Ok(changes::find(connection, &query)?))
    }

    fn text_before(&self, change: i64) -> StoreFuture<'_, Option<Option<PackedText>>> {
        self.engine
            .read(move |connection| Ok(changes::text_before(connection, change)?))
    }

    fn mark_undone(&self, changes: Vec<i64>, by: i64) -> StoreFuture<'_, ()> {
        self.write(move |tx| changes::mark_undone(tx, &changes, by))
    }

    fn is_foreign(&self, what: ForeignQuery) -> StoreFuture<'_, bool> {
        self.engine
            .read(move |connection| Ok(foreign::is_foreign(connection, &what)?))
    }

    fn foreign_files(&self) -> StoreFuture<'_, Vec<String>> {
        self.engine.read(|connection| {
            let found = connection
                .prepare_cached("SELECT path FROM foreign_files")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(found)
        })
    }

    fn mark_foreign(&self, path: &str, text: Option<TextMark>) -> StoreFuture<'_, ()> {
        let path = path.to_owned();
        self.write(move |tx| foreign::mark_foreign(tx, &path, text))
    }

    fn vouch(&self, path: &str, text: Option<TextHash>) -> StoreFuture<'_, ()> {
        let path = path.to_owned();
        self.write(move |tx| {
            foreign::clear(tx, &path)?;
            if let Some(hash) = text {
                tx.execute("DELETE FROM foreign_texts WHERE hash = ?1", [hash])?;
            }
            Ok(())
        })
    }

    fn adopt_names(&self, home: &str) -> StoreFuture<'_, ()> {
        let home = home.to_owned();
        Box::pin(async move {
            let looked_for = home.clone();
            let any = self
                .engine
                .read(move |connection| Ok(changes::has_names_in(connection, &looked_for)?));
            if any.await? {
                self.write(move |tx| changes::adopt_names(tx, &home))
                    .await?;
            }
            Ok(())
        })
    }

    fn check(&self) -> StoreFuture<'_, Soundness> {
        self.engine.check()
    }

    fn counts(&self) -> StoreCounts {
        self.engine.counts()
    }
}
