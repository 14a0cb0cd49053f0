//! The ledger in a SQLite file, and the newest entry of each chain in a small file beside it.

mod calls;
mod contents;
mod entries;
mod examining;
mod forgetting;
mod heads;
mod manifest;
mod requests;
mod schema;
mod seal;
mod sealed;
mod transaction;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::engine::{JobError, SqliteEngine};
use crate::ledger::{
    AuditEntry, ChainEnd, EntryQuery, LedgerStore, LedgerVisitor, LedgerWork, NotedHead,
    RequestBody, RequestLine, RequestParts, RequestQuery, StoredRequest, WorkEnd,
};
use crate::{StoreCounts, StoreError, StoreFuture, WriteDurability};

use heads::ChainHeads;
use schema::FORMAT;
use transaction::SqliteTransaction;

/// A ledger in one file, which several processes may have open.
#[derive(Debug, Clone)]
pub struct SqliteLedgerStore {
    engine: SqliteEngine,
    heads: Arc<ChainHeads>,
}

crate::sqlite::open_as!(SqliteLedgerStore);

impl SqliteLedgerStore {
    /// What is noted of the chains of a ledger that is not there: whatever is noted means that
    /// it was taken away.
    pub fn heads_beside(path: &Path) -> Vec<(crate::ChainId, NotedHead)> {
        ChainHeads::beside(path).all()
    }

    fn over(engine: SqliteEngine) -> Self {
        let heads = Arc::new(match engine.is_in_memory() {
            true => ChainHeads::in_memory(),
            false => ChainHeads::beside(engine.path()),
        });
        engine.watch(Box::new(Arc::clone(&heads)));
        Self { engine, heads }
    }
}

impl LedgerStore for SqliteLedgerStore {
    fn transact(&self, durability: WriteDurability, work: LedgerWork) -> StoreFuture<'static, ()> {
        let (heads, naming) = (Arc::clone(&self.heads), self.engine.naming());
        self.engine.write(durability, move |connection| {
            let mut transaction = SqliteTransaction::new(connection, &heads, &naming);
            match work(&mut transaction) {
                WorkEnd::Keep => {
                    transaction.keep_heads();
                    Ok(())
                }
                WorkEnd::TakeBack => Err(transaction.trouble()),
            }
        })
    }

    fn requests(&self, query: RequestQuery) -> StoreFuture<'static, Vec<RequestLine>> {
        // All of them may be many.
        let is_long = query.limit.is_none() && query.session.is_none();
        let find = move |connection: &Connection| Ok(requests::find(connection, &query)?);
        match is_long {
            true => self.engine.scan(find),
            false => self.engine.read(find),
        }
    }

    fn request(&self, number: i64) -> StoreFuture<'static, Option<StoredRequest>> {
        self.engine
            .read(move |connection| requests::by_number(connection, number))
    }

    fn request_body(&self, number: i64) -> StoreFuture<'static, Option<RequestBody>> {
        self.engine
            .read(move |connection| requests::body_by_number(connection, number))
    }

    fn request_parts(&self, query: RequestQuery) -> StoreFuture<'static, RequestParts> {
        self.engine
            .scan(move |connection| requests::with_parts(connection, &query))
    }

    fn find_session(&self, given: Option<&str>) -> StoreFuture<'static, Option<String>> {
        let given = given.map(str::to_owned);
        self.engine
            .read(move |connection| Ok(requests::find_session(connection, given.as_deref())?))
    }

    fn entries(&self, query: EntryQuery) -> StoreFuture<'static, Vec<AuditEntry>> {
        self.engine
            .scan(move |connection| entries::find(connection, &query))
    }

    fn chain_ends(&self) -> StoreFuture<'static, Vec<ChainEnd>> {
        let heads = Arc::clone(&self.heads);
        self.engine.read(move |connection| {
            // Before the chains, which only grow: what is noted must be there.
            let noted = heads.look();
            entries::all_chains(connection, noted)?
                .into_iter()
                .map(|(chain, noted)| entries::end_of(connection, &chain, noted))
                .collect()
        })
    }

    fn count_requests(&self) -> StoreFuture<'static, u64> {
        self.engine
            .read(|connection| Ok(forgetting::count_requests(connection)?))
    }

    fn content_bytes(&self) -> StoreFuture<'static, u64> {
        self.engine
            .scan(|connection| Ok(forgetting::content_bytes(connection)?))
    }

    fn examine(&self, mut visitor: LedgerVisitor) -> StoreFuture<'static, ()> {
        let heads = Arc::clone(&self.heads);
        self.engine.scan(move |connection| {
            // Before the chains, as above.
            let noted = heads.look();
            examining::visit_all(connection, noted, &mut *visitor)
        })
    }

    fn give_room_back(&self) -> StoreFuture<'static, ()> {
        let given = self.engine.give_room_back();
        let shortened = self.engine.maintain(|connection| {
            Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
        });
        Box::pin(async move {
            for error in [given.await, shortened.await]
                .into_iter()
                .filter_map(Result::err)
            {
                tracing::debug!(%error, "the room of old requests is not given back yet");
            }
            Ok(())
        })
    }

    fn damaged(&self, what: String) -> StoreError {
        self.engine.naming().explain(damaged(what))
    }

    fn counts(&self) -> StoreCounts {
        self.engine.counts()
    }
}

fn damaged(what: impl Into<String>) -> JobError {
    JobError::Damaged(what.into())
}

/// How many rows a query asks for; -1 for all.
fn limit_of(limit: Option<usize>) -> i64 {
    limit
        .and_then(|limit| i64::try_from(limit).ok())
        .unwrap_or(-1)
}
