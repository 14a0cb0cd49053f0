//! The seam for the outbox: what is to be delivered, and what became of it.
//!
//! An answer that goes somewhere is written down together with the outcome it belongs to, so that
//! no crash loses one without the other. Each delivery has an id that whoever brings it chose: the
//! same id is written once, and is what receivers know a repetition by.

use crate::StoreFuture;
use crate::claims::{ClaimState, WorkClaim};
use crate::inbox::MessageOutcome;

/// Keeps what is to be delivered. Times are those of whoever calls.
pub trait OutboxStore: std::fmt::Debug + Send + Sync {
    /// Ends a message of the inbox with what came of it, and writes down what is to be delivered
    /// of that, in one transaction. When the claim is lost neither is done. Says whether something
    /// waits then, in whatever lane.
    fn finish_and_send(
        &self,
        claim: &WorkClaim,
        outcome: MessageOutcome,
        deliveries: Vec<NewDelivery>,
    ) -> StoreFuture<'_, FinishedWork>;

    /// Something to deliver that belongs to no message. `false`: the id is known, nothing changed.
    fn send(&self, delivery: NewDelivery) -> StoreFuture<'_, bool>;

    /// What is due, the oldest first.
    fn due_deliveries(&self, now: u64, most: usize) -> StoreFuture<'_, Vec<DeliveryRecord>>;

    /// When the next one is due.
    fn next_delivery(&self) -> StoreFuture<'_, Option<u64>>;

    /// A try that did not work: how it stands now, and when it is tried again.
    fn note_try(&self, id: &str, why: &str, due: u64) -> StoreFuture<'_, bool>;

    /// It is over. `false`: it was over before, or nobody knows it.
    fn end_delivery(&self, id: &str, end: DeliveryEnd) -> StoreFuture<'_, bool>;

    /// Tries again what is not delivered, from now on and until a moment. `false`: it was
    /// delivered, or nobody knows it.
    fn retry_delivery(&self, id: &str, now: u64, expires: u64) -> StoreFuture<'_, bool>;

    fn delivery(&self, id: &str) -> StoreFuture<'_, Option<DeliveryRecord>>;

    /// The newest first.
    fn deliveries(&self, query: DeliveryQuery) -> StoreFuture<'_, Vec<DeliveryRecord>>;

    /// Forgets what was over before a moment; gives how many went.
    fn forget_deliveries(&self, before: u64) -> StoreFuture<'_, usize>;
}

/// How it stands after work was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedWork {
    pub claim: ClaimState,
    /// Some message waits that nobody has in its hands.
    pub more: bool,
}

/// Something to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Given by whoever brings it: the same delivery has the same id however often it is brought.
    pub id: String,
    /// Where to and what, in the caller's own form.
    pub body: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// After that it is not tried any more.
    pub expires: u64,
}

/// How it stands with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is still to be delivered.
    Waiting,
    Delivered,
    /// Whoever was to get it does not take it.
    Failed,
    /// Its time was over before it worked.
    Expired,
    /// Its owner does not want it delivered any more.
    Dropped,
}

impl DeliveryState {
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::Delivered,
        Self::Failed,
        Self::Expired,
        Self::Dropped,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Dropped => "dropped",
        }
    }

    /// As it is kept. A word of a later version is one of something that is over.
    pub(crate) fn read(word: &str) -> Self {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == word);
        known.unwrap_or(Self::Failed)
    }
}

/// How a delivery ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryEnd {
    pub state: DeliveryState,
    /// Why it was not delivered, or what was answered.
    pub why: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// A delivery on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    pub id: String,
    pub body: String,
    pub made: u64,
    /// When it is tried next, while it waits.
    pub due: u64,
    pub expires: u64,
    /// How often it was tried.
    pub tries: u64,
    pub state: DeliveryState,
    /// What came of the last try.
    pub why: String,
    pub ended: Option<u64>,
}

/// Which deliveries are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryQuery {
    /// Only those in this state.
    pub state: Option<DeliveryState>,
    pub limit: usize,
}
