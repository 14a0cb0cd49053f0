//! A transaction on the file, as the seam shows it.

use std::collections::BTreeMap;

use chela_core::ContentHash;
use rusqlite::Connection;

use super::heads::ChainHeads;
use super::{calls, contents, entries, forgetting, requests, sealed};
use crate::engine::{FileNaming, JobError};
use crate::error::StoreError;
use crate::ledger::{
    AddedRequest, AuditEntry, CallState, ChainEnd, ChainHead, ChainId, DeletedContents,
    KnownContents, LedgerTransaction, NewCall, NewRequest, NotedHead, OpenCall, PriorRequest,
    RequestEnd, SentRequest, SpentAmount, SpentQuery, StoredContents, WorkEnd,
};

pub(super) struct SqliteTransaction<'a> {
    connection: &'a Connection,
    heads: &'a ChainHeads,
    naming: &'a FileNaming,
    /// The newest entries of this piece of work.
    added: BTreeMap<ChainId, ChainHead>,
    /// What went wrong last, in the engine's terms: the others of its group are told the same.
    trouble: Option<JobError>,
}

impl<'a> SqliteTransaction<'a> {
    pub fn new(connection: &'a Connection, heads: &'a ChainHeads, naming: &'a FileNaming) -> Self {
        Self {
            connection,
            heads,
            naming,
            added: BTreeMap::new(),
            trouble: None,
        }
    }

    /// The work is kept, if its group is.
    pub fn keep_heads(self) {
        self.heads.add(self.added);
    }

    pub fn trouble(self) -> JobError {
        self.trouble.unwrap_or(JobError::TakenBack)
    }

    fn explained<T, E: Into<JobError>>(&mut self, outcome: Result<T, E>) -> Result<T, StoreError> {
        outcome.map_err(|error| {
            let error = error.into();
            self.trouble = Some(error.clone());
            self.naming.explain(error)
        })
    }
}

impl LedgerTransaction for SqliteTransaction<'_> {
    fn nested(
        &mut self,
        work: &mut dyn FnMut(&mut dyn LedgerTransaction) -> WorkEnd,
    ) -> Result<(), StoreError> {
        let opened = self.connection.execute_batch("SAVEPOINT nested");
        self.explained(opened)?;
        let before = self.added.clone();
        let end = work(self);
        let closed = match end {
            WorkEnd::Keep => self.connection.execute_batch("RELEASE nested"),
            WorkEnd::TakeBack => {
                self.added = before;
                self.connection
                    .execute_batch("ROLLBACK TO nested; RELEASE nested")
            }
        };
        self.explained(closed)
    }

    fn chain_end(&mut self, chain: &ChainId) -> Result<ChainEnd, StoreError> {
        let noted = match self.added.get(chain) {
            Some(head) => NotedHead::Head(*head),
            None => self.heads.of(chain),
        };
        self.explained(entries::end_of(self.connection, chain, noted))
    }

    fn add_entry(&mut self, chain: &ChainId, entry: &AuditEntry) -> Result<(), StoreError> {
        self.explained(entries::add(self.connection, chain, entry))?;
        self.added.insert(chain.clone(), entry.head());
        Ok(())
    }

    fn prior_request(
        &mut self,
        session: &str,
        key: &str,
    ) -> Result<Option<PriorRequest>, StoreError> {
        self.explained(requests::before(self.connection, session, key))
    }

    fn sent_request(&mut self, number: i64) -> Result<SentRequest, StoreError> {
        self.explained(requests::sent(self.connection, number))
    }

    fn put_contents(
        &mut self,
        contents: &[&[u8]],
        known: KnownContents<'_>,
    ) -> Result<StoredContents, StoreError> {
        self.explained(contents::put_all(self.connection, contents, known))
    }

    fn add_request(&mut self, request: &NewRequest<'_>) -> Result<AddedRequest, StoreError> {
        self.explained(requests::add(self.connection, request))
    }

    fn end_request(
        &mut self,
        number: i64,
        end: &RequestEnd<'_>,
    ) -> Result<Option<ContentHash>, StoreError> {
        self.explained(requests::end(self.connection, number, end))
    }

    fn listed_sections(
        &mut self,
        session: &str,
        list: ContentHash,
    ) -> Result<Option<u64>, StoreError> {
        self.explained(sealed::listed_sections(self.connection, session, list))
    }

    fn note_sections(
        &mut self,
        session: &str,
        list: ContentHash,
        entry: u64,
    ) -> Result<(), StoreError> {
        self.explained(sealed::note_sections(self.connection, session, list, entry))
    }

    fn open_calls(&mut self) -> Result<Vec<OpenCall>, StoreError> {
        self.explained(calls::open(self.connection))
    }

    fn add_call(&mut self, call: &NewCall<'_>) -> Result<i64, StoreError> {
        self.explained(calls::add(self.connection, call))
    }

    fn settle_call(&mut self, number: i64, cost: SpentAmount) -> Result<CallState, StoreError> {
        self.explained(calls::settle(self.connection, number, cost))
    }

    fn release_call(&mut self, number: i64) -> Result<(), StoreError> {
        self.explained(calls::release(self.connection, number))
    }

    fn give_up_call(&mut self, number: i64) -> Result<(), StoreError> {
        self.explained(calls::give_up(self.connection, number))
    }

    fn spent(&mut self, query: &SpentQuery<'_>) -> Result<SpentAmount, StoreError> {
        self.explained(calls::spent(self.connection, query))
    }

    fn count_calls(&mut self) -> Result<u64, StoreError> {
        self.explained(calls::count(self.connection))
    }

    fn forget_calls(&mut self, before: u64, most: u64) -> Result<usize, StoreError> {
        self.explained(calls::forget(self.connection, before, most))
    }

    fn oldest_requests(&mut self, before: Option<u64>, limit: u64) -> Result<Vec<i64>, StoreError> {
        self.explained(forgetting::oldest(self.connection, before, limit))
    }

    fn session_requests(&mut self, session: &str) -> Result<Vec<i64>, StoreError> {
        self.explained(forgetting::of_session(self.connection, session))
    }

    fn count_requests(&mut self) -> Result<u64, StoreError> {
        self.explained(forgetting::count_requests(self.connection))
    }

    fn content_bytes(&mut self) -> Result<u64, StoreError> {
        self.explained(forgetting::content_bytes(self.connection))
    }

    fn delete_requests(&mut self, numbers: &[i64]) -> Result<DeletedContents, StoreError> {
        self.explained(forgetting::delete(self.connection, numbers))
    }

    fn forget_session(&mut self, session: &str) -> Result<(), StoreError> {
        self.explained(forgetting::forget_session(self.connection, session))
    }
}
