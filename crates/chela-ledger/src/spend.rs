//! What is spent: reserved before a call, settled after it.
//!
//! A call is paid for twice by nobody: its estimate counts from the moment it is reserved until
//! it is settled with what it really cost, or released. All of that happens in one transaction at
//! a time, whatever process asks, so calls side by side cannot get past a limit together.

mod money;
mod reserve;
mod usage;

use chela_store::SpentAmount as Amount;
use serde::Serialize;

pub use money::dollars;
pub(crate) use reserve::take_room;
pub use usage::{UsageBy, UsageRange, UsageScope, UsageSum};

/// A call that is about to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReserveAsk {
    pub agent: String,
    pub session: String,
    pub turn: String,
    /// What it is for: `chat`, `heartbeat`, `cron`, `compaction`, a job's name.
    pub job: String,
    /// `provider/model`.
    pub model: String,
    /// At most what it may cost: the request and the longest answer.
    pub estimate: Amount,
    /// What it costs once it is sent, whatever comes of it: the request. Counts when nobody is
    /// left to say what the call came to.
    pub known: Amount,
    pub limits: Vec<SpendingBound>,
    /// In the owner's time zone: `2026-11-15`.
    pub day: String,
    /// `2026-11`.
    pub month: String,
    /// Milliseconds after which the call is surely over.
    pub lasts: u64,
}

/// A bound on what may be spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendingBound {
    pub scope: LimitScope,
    /// What it counts: calls of this agent, of this job, or all.
    pub of: LimitOf,
    pub tokens: Option<u64>,
    pub micro_dollars: Option<u64>,
    /// The key in the config that sets it, for the message.
    pub key: String,
}

/// The time a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LimitScope {
    Turn,
    Session,
    Day,
    Month,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOf {
    /// The agent that asks.
    Agent,
    /// The agent and the job that ask.
    Job,
}

/// Room for one call, taken until it is settled or released. Dropped without either, what is
/// known of its cost counts once the process is dead or the time is over; the rest is given back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle it or release it"]
pub struct SpendReservation {
    pub(crate) id: i64,
    pub(crate) ask: ReserveAsk,
}

/// Why a call may not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReserveError {
    #[error(transparent)]
    Limit(#[from] LimitReached),
    #[error(transparent)]
    Ledger(#[from] crate::ledger::LedgerError),
}

/// A limit that leaves no room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct LimitReached {
    pub scope: LimitScope,
    /// Spent and reserved already.
    pub used: Amount,
    pub estimate: Amount,
    pub tokens: Option<u64>,
    pub micro_dollars: Option<u64>,
    pub key: String,
}

impl LimitReached {
    /// One sentence for the person.
    pub fn in_words(&self) -> String {
        let time = match self.scope {
            LimitScope::Turn => "this turn",
            LimitScope::Session => "this session",
            LimitScope::Day => "today",
            LimitScope::Month => "this month",
        };
        let grouped =
            |number: u64| chela_core::grouped(usize::try_from(number).unwrap_or(usize::MAX));
        let over = self
            .micro_dollars
            .filter(|limit| self.used.micro_dollars + self.estimate.micro_dollars > *limit);
        let (used, next, limit) = match (over, self.tokens) {
            (Some(limit), _) => (
                dollars(self.used.micro_dollars),
                dollars(self.estimate.micro_dollars),
                dollars(limit),
            ),
            (None, limit) => (
                grouped(self.used.tokens),
                grouped(self.estimate.tokens),
                format!("{} tokens", grouped(limit.unwrap_or(0))),
            ),
        };
        format!(
            "Spending limit for {time} reached: {used} of {limit} used, and the next call may \
                take {next}. Raise {} to continue.",
            self.key
        )
    }
}

#[cfg(test)]
mod tests;
