//! Inbox, outbox, jobs and leases in one SQLite file: what a process that runs for long has to know when
//! it starts again.

mod guarding;
mod inbox;
mod jobs;
mod leases;
mod occurrences;
mod outbox;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_files::MayWrite;
use rusqlite::Connection;

use crate::claims::{ClaimAsk, ClaimState, LeaseTime, WorkClaim};
use crate::engine::SqliteEngine;
use crate::file::{FileSoundness, FileState};
use crate::inbox::{
    ClaimedMessage, InboxMessage, InboxStore, LaneRoom, MessageAccepted, MessageOutcome, NewMessage,
};
use crate::jobs::{
    JobAdvance, JobChanged, JobPlan, JobRecord, JobStore, KnownRevision, OccurrenceChange,
    OccurrenceLimit, OccurrenceQuery, OccurrenceRecord, OpenOccurrence,
};
use crate::leases::{LeaseAcquired, LeaseAsk, LeaseKey, LeaseRecord, LeaseStore};
use crate::outbox::{
    DeliveryEnd, DeliveryQuery, DeliveryRecord, FinishedWork, NewDelivery, OutboxStore,
};
use crate::row_origins::RowOrigins;
use crate::{StoreCounts, StoreError, StoreFuture, WriteDurability};

use guarding::RowGuard;
pub use guarding::{RefusedRow, RowRepair};
use schema::FORMAT;

/// Inbox, outbox, jobs and leases in one file, which several processes may have open.
#[derive(Debug, Clone)]
pub struct SqliteRuntimeStore {
    engine: SqliteEngine,
    rows: Arc<RowGuard>,
}

crate::sqlite::open_as!(SqliteRuntimeStore);

impl SqliteRuntimeStore {
    fn over(engine: SqliteEngine) -> Self {
        let file = (!engine.is_in_memory()).then(|| engine.path());
        let rows = Arc::new(RowGuard::new(RowOrigins::of(file)));
        Self { engine, rows }
    }

    /// Looks after the rows from now on: what is put in by others than Chela's own processes, those
    /// `may_write` says yes to, is taken out before anybody acts on it. What is there now counts as
    /// Chela's, unless somebody in this process looks after them already.
    pub async fn guard_rows(&self, may_write: Box<MayWrite>) -> Result<RowsGuarded, StoreError> {
        let is_first = self.rows.origins().begin_guard(may_write);
        let rows = Arc::clone(&self.rows);
        let guarded = RowsGuarded(rows.shared_origins());
        let work = move |tx: &Connection| match is_first {
            true => rows.take_as_known(tx),
            false => rows.look(tx),
        };
        self.write(WriteDurability::Process, work).await?;
        Ok(guarded)
    }

    /// The same where there is no file yet: whatever is in it then, others put there, unless
    /// Chela's own processes say so.
    pub fn guard_absent(file: &Path, may_write: Box<MayWrite>) -> RowsGuarded {
        let origins = RowOrigins::of(Some(file));
        origins.begin_guard(may_write);
        RowsGuarded(origins)
    }

    /// Looks for such rows now, and gives those that were found since this was last asked.
    pub async fn refuse_unknown(&self) -> Result<Vec<RefusedRow>, StoreError> {
        let rows = Arc::clone(&self.rows);
        let look = self.write(WriteDurability::Disk, move |tx| rows.look(tx));
        look.await?;
        Ok(self.take_refused())
    }

    /// Those that were found since this was last asked.
    pub fn take_refused(&self) -> Vec<RefusedRow> {
        self.rows.take_refused()
    }

    /// Rows of which nobody need be asked any more.
    fn forget_origins(&self) -> StoreFuture<'static, ()> {
        let rows = Arc::clone(&self.rows);
        self.read(move |connection| rows.forget_what_is_over(connection))
    }

    /// Reads what somebody will act on.
    fn read_guarded<T, F>(&self, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        if !self.rows.origins().are_guarded() {
            return self.read(work);
        }
        let rows = Arc::clone(&self.rows);
        self.write(WriteDurability::Process, move |tx| {
            rows.look(tx)?;
            work(tx)
        })
    }

    /// Where a home keeps it.
    pub fn path_in(home: &Path) -> PathBuf {
        home.join("state").join("runtime.sqlite")
    }

    /// What was there when it was opened.
    pub fn found(&self) -> FileState {
        self.engine.found()
    }

    /// Reads everything to see whether it hangs together.
    pub fn check(&self) -> StoreFuture<'static, FileSoundness> {
        self.engine.check()
    }

    /// The messages that were accepted since a moment and are remembered, in their order.
    pub fn accepted_since(&self, at: u64) -> StoreFuture<'static, Vec<InboxMessage>> {
        self.read(move |connection| inbox::accepted_since(connection, at))
    }

    pub fn counts(&self) -> StoreCounts {
        self.engine.counts()
    }

    fn write<T, F>(&self, durability: WriteDurability, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.engine.write(durability, move |tx| Ok(work(tx)?))
    }

    fn read<T, F>(&self, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.engine.read(move |connection| Ok(work(connection)?))
    }

    /// Changes work that somebody has in its hands.
    fn with_claim<T, F>(
        &self,
        claim: &WorkClaim,
        durability: WriteDurability,
        work: F,
    ) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &WorkClaim) -> rusqlite::Result<T> + Send + 'static,
    {
        let claim = claim.clone();
        self.write(durability, move |tx| work(tx, &claim))
    }
}

/// The rows are looked after for as long as this is kept.
#[derive(Debug)]
pub struct RowsGuarded(Arc<RowOrigins>);

impl Drop for RowsGuarded {
    fn drop(&mut self) {
        self.0.end_guard();
    }
}

/// What is claimed is not waited for by the disk: a power cut ends every worker, and what it
/// forgets of their claims is claimed again.
impl InboxStore for SqliteRuntimeStore {
    fn accept(&self, message: NewMessage) -> StoreFuture<'_, MessageAccepted> {
        self.rows.origins().note_message(&message);
        self.write(WriteDurability::Disk, move |tx| inbox::accept(tx, &message))
    }

    fn accept_within(
        &self,
        message: NewMessage,
        room: LaneRoom,
    ) -> StoreFuture<'_, MessageAccepted> {
        self.rows.origins().note_message(&message);
        self.write(WriteDurability::Disk, move |tx| {
            inbox::accept_within(tx, &message, room)
        })
    }

    fn claim(&self, ask: ClaimAsk) -> StoreFuture<'_, Option<ClaimedMessage>> {
        let rows = Arc::clone(&self.rows);
        self.write(WriteDurability::Process, move |tx| {
            rows.look(tx)?;
            inbox::claim(tx, &ask)
        })
    }

    fn claim_up_to(&self, ask: ClaimAsk, most: usize) -> StoreFuture<'_, Vec<ClaimedMessage>> {
        let rows = Arc::clone(&self.rows);
        self.write(WriteDurability::Process, move |tx| {
            rows.look(tx)?;
            let mut claimed = Vec::new();
            while claimed.len() < most
                && let Some(one) = inbox::claim(tx, &ask)?
            {
                claimed.push(one);
            }
            Ok(claimed)
        })
    }

    fn claim_behind(
        &self,
        claim: &WorkClaim,
        ask: ClaimAsk,
    ) -> StoreFuture<'_, Option<ClaimedMessage>> {
        let rows = Arc::clone(&self.rows);
        self.with_claim(claim, WriteDurability::Process, move |tx, claim| {
            rows.look(tx)?;
            inbox::claim_behind(tx, claim, &ask)
        })
    }

    fn release_claims(&self) -> StoreFuture<'_, usize> {
        self.write(WriteDurability::Process, inbox::release_claims)
    }

    fn renew(&self, claim: &WorkClaim, time: LeaseTime) -> StoreFuture<'_, ClaimState> {
        self.with_claim(claim, WriteDurability::Process, move |tx, claim| {
            inbox::renew(tx, claim, time)
        })
    }

    fn give_back(&self, claim: &WorkClaim) -> StoreFuture<'_, ClaimState> {
        self.with_claim(claim, WriteDurability::Process, inbox::give_back)
    }

    fn finish(&self, claim: &WorkClaim, outcome: MessageOutcome) -> StoreFuture<'_, ClaimState> {
        self.with_claim(claim, WriteDurability::Disk, move |tx, claim| {
            inbox::finish(tx, claim, &outcome)
        })
    }

    fn by_id(&self, id: &str) -> StoreFuture<'_, Option<InboxMessage>> {
        let id = id.to_owned();
        self.read(move |connection| inbox::by_id(connection, &id))
    }

    fn unanswered(&self, lane: Option<&str>) -> StoreFuture<'_, Vec<InboxMessage>> {
        let lane = lane.map(str::to_owned);
        self.read(move |connection| inbox::unanswered(connection, lane.as_deref()))
    }

    fn finished_before(&self, id: &str, most: usize) -> StoreFuture<'_, Vec<InboxMessage>> {
        let id = id.to_owned();
        self.read(move |connection| inbox::finished_before(connection, &id, most))
    }

    fn forget_finished(&self, before: u64) -> StoreFuture<'_, usize> {
        let over = self.forget_origins();
        let forgotten = self.write(WriteDurability::Disk, move |tx| {
            inbox::forget_finished(tx, before)
        });
        let forgotten = self.engine.after_forgetting(forgotten);
        Box::pin(async move {
            over.await?;
            forgotten.await
        })
    }
}

impl OutboxStore for SqliteRuntimeStore {
    fn finish_and_send(
        &self,
        claim: &WorkClaim,
        outcome: MessageOutcome,
        deliveries: Vec<NewDelivery>,
    ) -> StoreFuture<'_, FinishedWork> {
        for delivery in &deliveries {
            self.rows.origins().note_delivery(delivery);
        }
        self.with_claim(claim, WriteDurability::Disk, move |tx, claim| {
            outbox::finish_and_send(tx, claim, &outcome, &deliveries)
        })
    }

    fn send(&self, delivery: NewDelivery) -> StoreFuture<'_, bool> {
        self.rows.origins().note_delivery(&delivery);
        self.write(WriteDurability::Disk, move |tx| outbox::send(tx, &delivery))
    }

    fn due_deliveries(&self, now: u64, most: usize) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        self.read_guarded(move |connection| outbox::due(connection, now, most))
    }

    fn next_delivery(&self) -> StoreFuture<'_, Option<u64>> {
        self.read(outbox::next)
    }

    fn note_try(&self, id: &str, why: &str, due: u64) -> StoreFuture<'_, bool> {
        let (id, why) = (id.to_owned(), why.to_owned());
        self.write(WriteDurability::Process, move |tx| {
            outbox::note_try(tx, &id, &why, due)
        })
    }

    fn end_delivery(&self, id: &str, end: DeliveryEnd) -> StoreFuture<'_, bool> {
        let id = id.to_owned();
        // What was delivered must not be delivered once more after a power cut.
        self.write(WriteDurability::Disk, move |tx| outbox::end(tx, &id, &end))
    }

    fn retry_delivery(&self, id: &str, now: u64, expires: u64) -> StoreFuture<'_, bool> {
        let id = id.to_owned();
        let rows = Arc::clone(&self.rows);
        self.write(WriteDurability::Disk, move |tx| {
            rows.note_delivery_again(tx, &id)?;
            outbox::retry(tx, &id, now, expires)
        })
    }

    fn delivery(&self, id: &str) -> StoreFuture<'_, Option<DeliveryRecord>> {
        let id = id.to_owned();
        self.read(move |connection| outbox::by_id(connection, &id))
    }

    fn deliveries(&self, query: DeliveryQuery) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        self.read(move |connection| outbox::newest(connection, query))
    }

    fn forget_deliveries(&self, before: u64) -> StoreFuture<'_, usize> {
        let forgotten = self.write(WriteDurability::Disk, move |tx| outbox::forget(tx, before));
        self.engine.after_forgetting(forgotten)
    }
}

impl JobStore for SqliteRuntimeStore {
    fn put(&self, job: JobPlan, known: KnownRevision) -> StoreFuture<'_, JobChanged> {
        self.rows.origins().note_job(&job);
        self.write(WriteDurability::Disk, move |tx| jobs::put(tx, &job, known))
    }

    fn remove(&self, id: &str, withdrawn: MessageOutcome) -> StoreFuture<'_, bool> {
        let id = id.to_owned();
        self.write(WriteDurability::Disk, move |tx| {
            jobs::remove(tx, &id, &withdrawn)
        })
    }

    fn job(&self, id: &str) -> StoreFuture<'_, Option<JobRecord>> {
        let id = id.to_owned();
        self.read_guarded(move |connection| jobs::by_id(connection, &id))
    }

    fn list(&self) -> StoreFuture<'_, Vec<JobRecord>> {
        self.read_guarded(jobs::list)
    }

    fn due(&self, now: u64) -> StoreFuture<'_, Vec<JobRecord>> {
        self.read_guarded(move |connection| jobs::due(connection, now))
    }

    fn next_due(&self) -> StoreFuture<'_, Option<u64>> {
        self.read(jobs::next_due)
    }

    fn advance(&self, advance: JobAdvance) -> StoreFuture<'_, JobChanged> {
        for step in &advance.steps {
            if let OccurrenceChange::Send { message, .. } = &step.change {
                self.rows.origins().note_message(message);
            }
        }
        self.write(WriteDurability::Disk, move |tx| jobs::advance(tx, &advance))
    }

    fn open_occurrences(&self) -> StoreFuture<'_, Vec<OpenOccurrence>> {
        self.read(occurrences::open)
    }

    fn occurrences(&self, query: OccurrenceQuery) -> StoreFuture<'_, Vec<OccurrenceRecord>> {
        self.read(move |connection| occurrences::newest(connection, &query))
    }

    fn forget_occurrences(&self, limit: OccurrenceLimit) -> StoreFuture<'_, usize> {
        let forgotten = self.write(WriteDurability::Disk, move |tx| {
            occurrences::forget(tx, limit)
        });
        self.engine.after_forgetting(forgotten)
    }
}

impl LeaseStore for SqliteRuntimeStore {
    fn acquire(&self, ask: LeaseAsk) -> StoreFuture<'_, LeaseAcquired> {
        // A fence is known elsewhere: no power cut may take it back.
        self.write(WriteDurability::Disk, move |tx| leases::acquire(tx, &ask))
    }

    fn renew(&self, lease: &LeaseKey, time: LeaseTime) -> StoreFuture<'_, Option<LeaseRecord>> {
        let lease = lease.clone();
        self.write(WriteDurability::Process, move |tx| {
            leases::renew(tx, &lease, time)
        })
    }

    fn release(&self, lease: &LeaseKey) -> StoreFuture<'_, bool> {
        let lease = lease.clone();
        self.write(WriteDurability::Process, move |tx| {
            leases::release(tx, &lease)
        })
    }

    fn current(&self, name: &str, now: u64) -> StoreFuture<'_, Option<LeaseRecord>> {
        let name = name.to_owned();
        self.read(move |connection| leases::current(connection, &name, now))
    }

    fn list(&self, now: u64) -> StoreFuture<'_, Vec<LeaseRecord>> {
        self.read(move |connection| leases::list(connection, now))
    }
}
