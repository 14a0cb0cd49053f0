//! Work that one worker at a time has in its hands, for a while.
//!
//! A claim is known by a number no other claim ever had. It holds until its time is over, and
//! after that for as long as nobody else makes one: a worker that is late but alone may still end
//! what it began.

/// How long something is held, in the time of whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTime {
    /// Milliseconds since 1970.
    pub now: u64,
    /// Milliseconds from now.
    pub ttl: u64,
}

impl LeaseTime {
    /// The moment it is over.
    pub fn until(self) -> u64 {
        self.now.saturating_add(self.ttl)
    }
}

/// Who wants work, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAsk {
    pub worker: String,
    pub time: LeaseTime,
}

/// What a worker shows when it ends or prolongs what it claimed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkClaim {
    /// The id of the message.
    pub name: String,
    /// Larger than that of every claim before.
    pub number: u64,
}

/// Who has a piece of work in its hands. It may be over already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimHolder {
    pub worker: String,
    pub until: u64,
}

/// What became of a claim that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// It held, and what was asked for was done.
    Held,
    /// Somebody else has claimed the work since, or it is done, given back or gone. Nothing was
    /// changed.
    Lost,
}
