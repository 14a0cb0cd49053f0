//! The journal in a SQLite file.

mod changes;
mod foreign;
mod own_versions;
mod schema;

use crate::engine::SqliteEngine;
use crate::file::{FileSoundness, FileState};
use crate::journal::{
    ChangeQuery, ChangeRecord, ForeignQuery, ForgetLimit, JournalStore, NewChange, OwnVersion,
    PackedText, TextHash, TextMark,
};
use crate::{StoreCounts, StoreFuture, WriteDurability};

use schema::FORMAT;

/// A journal in one file, which several processes may have open.
#[derive(Debug, Clone)]
pub struct SqliteJournalStore {
    engine: SqliteEngine,
}

crate::sqlite::open_as!(SqliteJournalStore);

impl SqliteJournalStore {
    fn over(engine: SqliteEngine) -> Self {
        Self { engine }
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
        self.engine
            .write(WriteDurability::Disk, move |tx| Ok(work(tx)?))
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
        self.engine.after_forgetting(forgotten)
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

    fn own_versions(&self, path: &str) -> StoreFuture<'_, Vec<OwnVersion>> {
        let path = path.to_owned();
        self.engine
            .read(move |connection| Ok(own_versions::of_path(connection, &path)?))
    }

    fn own_below(&self, beginning: &str) -> StoreFuture<'_, Vec<(String, OwnVersion)>> {
        let beginning = beginning.to_owned();
        self.engine
            .read(move |connection| Ok(own_versions::below(connection, &beginning)?))
    }

    fn note_own(&self, versions: Vec<(String, OwnVersion)>) -> StoreFuture<'_, ()> {
        self.write(move |tx| own_versions::note(tx, &versions))
    }

    fn disown(&self, path: &str) -> StoreFuture<'_, ()> {
        let path = path.to_owned();
        self.write(move |tx| own_versions::disown(tx, &path))
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

    fn check(&self) -> StoreFuture<'_, FileSoundness> {
        self.engine.check()
    }

    fn counts(&self) -> StoreCounts {
        self.engine.counts()
    }
}
