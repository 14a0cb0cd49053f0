//! The seam for leases: who may do what only one may do at a time. Nothing in Chela uses it yet.
//!
//! A holder that was late may not know that it lost a lease. Whatever it writes elsewhere carries
//! the fence of its lease, and whoever keeps that refuses a fence smaller than one it has seen.

use crate::StoreFuture;
use crate::claims::LeaseTime;

/// Keeps leases. Times are those of whoever calls.
pub trait LeaseStore: std::fmt::Debug + Send + Sync {
    /// Takes a lease that nobody holds, or whose time is over. A holder may take its own again,
    /// as after a restart: with a new fence, so that what it did before counts as lost.
    fn acquire(&self, ask: LeaseAsk) -> StoreFuture<'_, LeaseAcquired>;

    /// Holds a lease for longer; gives it as it is then. `None`: somebody else took it, or it
    /// was released.
    fn renew(&self, lease: &LeaseKey, time: LeaseTime) -> StoreFuture<'_, Option<LeaseRecord>>;

    /// Gives a lease up. Says whether it was still this one's.
    fn release(&self, lease: &LeaseKey) -> StoreFuture<'_, bool>;

    /// Who holds a lease at a moment.
    fn current(&self, name: &str, now: u64) -> StoreFuture<'_, Option<LeaseRecord>>;

    /// What is held at a moment, by name.
    fn list(&self, now: u64) -> StoreFuture<'_, Vec<LeaseRecord>>;
}

/// Who wants a lease, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseAsk {
    pub name: String,
    pub holder: String,
    pub time: LeaseTime,
}

/// What a holder shows when it prolongs or gives up a lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeaseKey {
    pub name: String,
    /// Larger than that of every lease before, whatever its name.
    pub fence: u64,
}

/// A lease on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRecord {
    pub key: LeaseKey,
    pub holder: String,
    pub until: u64,
}

/// What became of an attempt to take a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseAcquired {
    Acquired(LeaseRecord),
    /// Somebody else holds it.
    Taken(LeaseRecord),
}
