//! The seam for the ledger: requests with their contents, audit chains, and what calls cost.
//!
//! What an entry is bound to, what a limit is and how long a request stays are the caller's
//! business: it decides inside of a transaction, with what the store shows it there. How a
//! request is packed, and the seals by which a row that changed by itself is noticed, are the
//! store's.

mod calls;
mod chains;
mod examining;
mod requests;

use std::sync::{Arc, Mutex};

use chela_core::lock;

use crate::{StoreCounts, StoreError, StoreFuture, WriteDurability};

pub use calls::{CallState, LimitSpan, NewCall, OpenCall, SpentAmount, SpentQuery};
pub use chains::{AuditEntry, ChainEnd, ChainHead, ChainId, EntryQuery, NotedHead};
pub use examining::{LedgerFact, LedgerPlace, LedgerVisitor, RequestSeals, UnreadableRow};
pub use requests::{
    AddedRequest, DeletedContents, KnownContents, NewRequest, PriorRequest, RequestBody,
    RequestEnd, RequestLine, RequestParts, RequestQuery, ReuseFacts, SentRequest, StoredContent,
    StoredContents, StoredRequest,
};

/// Keeps a ledger.
pub trait LedgerStore: std::fmt::Debug + Send + Sync {
    /// Does a piece of work in a transaction that nobody else writes beside. Queued when this
    /// returns, whatever becomes of the future; what is queued later is done later. An error means
    /// that nothing of it was kept. Callers have `write`, which gives back what the work found.
    fn transact(&self, durability: WriteDurability, work: LedgerWork) -> StoreFuture<'static, ()>;

    /// Requests in the order they were made.
    fn requests(&self, query: RequestQuery) -> StoreFuture<'static, Vec<RequestLine>>;

    /// Everything about a request but its bytes.
    fn request(&self, number: i64) -> StoreFuture<'static, Option<StoredRequest>>;

    fn request_body(&self, number: i64) -> StoreFuture<'static, Option<RequestBody>>;

    /// What the prompts of requests were made of, each list once.
    fn request_parts(&self, query: RequestQuery) -> StoreFuture<'static, RequestParts>;

    /// The id of the session somebody means: by its id or the start of one, by its key or the end
    /// of one; of several the one recorded last. `None` for the last of all.
    fn find_session(&self, given: Option<&str>) -> StoreFuture<'static, Option<String>>;

    /// Entries of a chain, in order.
    fn entries(&self, query: EntryQuery) -> StoreFuture<'static, Vec<AuditEntry>>;

    /// Where each chain there is ends.
    fn chain_ends(&self) -> StoreFuture<'static, Vec<ChainEnd>>;

    fn count_requests(&self) -> StoreFuture<'static, u64>;

    /// Bytes of all contents, as they are stored.
    fn content_bytes(&self) -> StoreFuture<'static, u64>;

    /// Reads everything, and tells what it finds in the order of [`LedgerFact`].
    fn examine(&self, visitor: LedgerVisitor) -> StoreFuture<'static, ()>;

    /// Gives room back after a deletion. Somebody may be reading: then it is for another time.
    fn give_room_back(&self) -> StoreFuture<'static, ()>;

    /// The error for a record that does not say what it ought to.
    fn damaged(&self, what: String) -> StoreError;

    fn counts(&self) -> StoreCounts;
}

/// A piece of work in a transaction.
pub type LedgerWork = Box<dyn FnOnce(&mut dyn LedgerTransaction) -> WorkEnd + Send>;

/// What becomes of what a piece of work did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    Keep,
    TakeBack,
}

/// What can be done to a ledger while nobody else writes.
pub trait LedgerTransaction {
    /// Does something that can be taken back by itself.
    fn nested(
        &mut self,
        work: &mut dyn FnMut(&mut dyn LedgerTransaction) -> WorkEnd,
    ) -> Result<(), StoreError>;

    /// Where a chain ends, with what was added to it in this transaction.
    fn chain_end(&mut self, chain: &ChainId) -> Result<ChainEnd, StoreError>;

    /// Adds an entry. It is noted as the newest of its chain before anybody is answered.
    fn add_entry(&mut self, chain: &ChainId, entry: &AuditEntry) -> Result<(), StoreError>;

    /// The newest request of a session, or else of the session that had its key before.
    fn prior_request(
        &mut self,
        session: &str,
        key: &str,
    ) -> Result<Option<PriorRequest>, StoreError>;

    fn sent_request(&mut self, number: i64) -> Result<SentRequest, StoreError>;

    /// Stores contents, each once. Those that are `known` are not looked at again.
    fn put_contents(
        &mut self,
        contents: &[&[u8]],
        known: KnownContents<'_>,
    ) -> Result<StoredContents, StoreError>;

    fn add_request(&mut self, request: &NewRequest<'_>) -> Result<AddedRequest, StoreError>;

    /// Notes what came of a request; gives the seal over that. `None`: there is no such request.
    fn end_request(
        &mut self,
        number: i64,
        end: &RequestEnd<'_>,
    ) -> Result<Option<chela_core::ContentHash>, StoreError>;

    /// The entry that lists the sections of a session, if it is this list.
    fn listed_sections(
        &mut self,
        session: &str,
        list: chela_core::ContentHash,
    ) -> Result<Option<u64>, StoreError>;

    fn note_sections(
        &mut self,
        session: &str,
        list: chela_core::ContentHash,
        entry: u64,
    ) -> Result<(), StoreError>;

    /// Calls that are neither settled nor given up.
    fn open_calls(&mut self) -> Result<Vec<OpenCall>, StoreError>;

    /// Writes an open call; gives its number, which is the one it asks for if it had one before.
    fn add_call(&mut self, call: &NewCall<'_>) -> Result<i64, StoreError>;

    /// Says what a call cost in the end.
    fn settle_call(&mut self, number: i64, cost: SpentAmount) -> Result<CallState, StoreError>;

    /// Forgets an open call.
    fn release_call(&mut self, number: i64) -> Result<(), StoreError>;

    /// Of a call that nobody will settle, only what was known before it counts.
    fn give_up_call(&mut self, number: i64) -> Result<(), StoreError>;

    /// What calls cost, settled or not.
    fn spent(&mut self, query: &SpentQuery<'_>) -> Result<SpentAmount, StoreError>;

    fn count_calls(&mut self) -> Result<u64, StoreError>;

    /// Forgets calls from before a moment, the oldest first and at most so many. Says how many.
    fn forget_calls(&mut self, before: u64, most: u64) -> Result<usize, StoreError>;

    /// The oldest requests, those from before a moment only where one is given.
    fn oldest_requests(&mut self, before: Option<u64>, limit: u64) -> Result<Vec<i64>, StoreError>;

    fn session_requests(&mut self, session: &str) -> Result<Vec<i64>, StoreError>;

    fn count_requests(&mut self) -> Result<u64, StoreError>;

    fn content_bytes(&mut self) -> Result<u64, StoreError>;

    /// Deletes requests, and what no other uses.
    fn delete_requests(&mut self, numbers: &[i64]) -> Result<DeletedContents, StoreError>;

    /// Forgets what is noted of a session that has no request any more.
    fn forget_session(&mut self, session: &str) -> Result<(), StoreError>;
}

/// What a piece of work answers with.
pub type WorkFuture<T, E> = std::pin::Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl dyn LedgerStore + '_ {
    /// [`LedgerStore::transact`] for work that gives something back. What it did is kept if it
    /// succeeds.
    pub fn write<T, E, F>(&self, durability: WriteDurability, work: F) -> WorkFuture<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn LedgerTransaction) -> Result<T, E> + Send + 'static,
    {
        self.ended(durability, work, |found| match found {
            Ok(_) => WorkEnd::Keep,
            Err(_) => WorkEnd::TakeBack,
        })
    }

    /// What a piece of work would do: all of it is taken back.
    pub fn try_out<T, E, F>(&self, work: F) -> WorkFuture<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn LedgerTransaction) -> Result<T, E> + Send + 'static,
    {
        self.ended(WriteDurability::Process, work, |_| WorkEnd::TakeBack)
    }

    fn ended<T, E, F>(
        &self,
        durability: WriteDurability,
        work: F,
        end: fn(&Result<T, E>) -> WorkEnd,
    ) -> WorkFuture<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn LedgerTransaction) -> Result<T, E> + Send + 'static,
    {
        let found = Arc::new(Mutex::new(None));
        let place = Arc::clone(&found);
        let done = self.transact(
            durability,
            Box::new(move |tx| {
                let outcome = work(tx);
                let end = end(&outcome);
                *lock(&place) = Some((outcome, end));
                end
            }),
        );
        Box::pin(async move {
            let done = done.await;
            let found = lock(&found).take();
            match found {
                // Its own trouble says more than what became of the others.
                Some((Err(own), _)) => Err(own),
                Some((Ok(value), WorkEnd::TakeBack)) => Ok(value),
                Some((Ok(value), WorkEnd::Keep)) => done.map(|()| value).map_err(E::from),
                None => Err(done.err().unwrap_or(StoreError::Unanswered).into()),
            }
        })
    }
}

impl dyn LedgerTransaction + '_ {
    /// [`LedgerTransaction::nested`] for work that gives something back: if it fails, only what
    /// it did is taken back.
    pub fn attempt<T, E>(
        &mut self,
        work: impl FnOnce(&mut dyn LedgerTransaction) -> Result<T, E>,
    ) -> Result<Result<T, E>, StoreError> {
        let (mut work, mut found) = (Some(work), None);
        self.nested(&mut |tx| {
            found = work.take().map(|work| work(tx));
            match found {
                Some(Ok(_)) => WorkEnd::Keep,
                _ => WorkEnd::TakeBack,
            }
        })?;
        found.ok_or(StoreError::Unanswered)
    }
}
