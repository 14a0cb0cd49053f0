//! The seam for the inbox: messages that were accepted, and what came of each.
//!
//! A message belongs to a lane. The messages of a lane are worked on one at a time, in the order
//! they were accepted; lanes do not wait for each other.

use crate::StoreFuture;
use crate::claims::{ClaimAsk, ClaimHolder, ClaimState, LeaseTime, WorkClaim};

/// Keeps accepted messages. Times are those of whoever calls.
pub trait InboxStore: std::fmt::Debug + Send + Sync {
    /// Accepts a message: when this is answered, the disk has it. The same id again changes
    /// nothing and gives what is on record, with the outcome if there is one.
    fn accept(&self, message: NewMessage) -> StoreFuture<'_, MessageAccepted>;

    /// The same where the lane has room; see [`LaneRoom`].
    fn accept_within(
        &self,
        message: NewMessage,
        room: LaneRoom,
    ) -> StoreFuture<'_, MessageAccepted>;

    /// The oldest message that waits at the head of its lane, for one worker. `None`: nothing
    /// waits that is not in somebody's hands.
    fn claim(&self, ask: ClaimAsk) -> StoreFuture<'_, Option<ClaimedMessage>>;

    /// The same for as many as there is room for. Fewer: nothing else waits.
    fn claim_up_to(&self, ask: ClaimAsk, most: usize) -> StoreFuture<'_, Vec<ClaimedMessage>>;

    /// The next message that waits in the lane of one the caller holds, to be taken along with it.
    /// `None`: nothing waits there, or the claim is lost.
    fn claim_behind(
        &self,
        claim: &WorkClaim,
        ask: ClaimAsk,
    ) -> StoreFuture<'_, Option<ClaimedMessage>>;

    /// Puts back everything that is in somebody's hands, and says how much. Only for whoever knows
    /// that no other worker lives: a process that has just become the only one.
    fn release_claims(&self) -> StoreFuture<'_, usize>;

    /// Holds on to a message for longer.
    fn renew(&self, claim: &WorkClaim, time: LeaseTime) -> StoreFuture<'_, ClaimState>;

    /// Puts a message back at the head of its lane.
    fn give_back(&self, claim: &WorkClaim) -> StoreFuture<'_, ClaimState>;

    /// Ends a message with what came of it. It is never claimed again.
    fn finish(&self, claim: &WorkClaim, outcome: MessageOutcome) -> StoreFuture<'_, ClaimState>;

    fn by_id(&self, id: &str) -> StoreFuture<'_, Option<InboxMessage>>;

    /// The messages without an outcome in the order they were accepted, of one lane or of all.
    fn unanswered(&self, lane: Option<&str>) -> StoreFuture<'_, Vec<InboxMessage>>;

    /// What was finished in the lane of a message and came before it, the newest first.
    fn finished_before(&self, id: &str, most: usize) -> StoreFuture<'_, Vec<InboxMessage>>;

    /// Forgets what was finished before a moment; gives how many messages went. An id that was
    /// forgotten is a new one.
    fn forget_finished(&self, before: u64) -> StoreFuture<'_, usize>;
}

/// A message that has just come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Given by whoever brings it: the same message has the same id however often it comes.
    pub id: String,
    /// What it waits behind.
    pub lane: String,
    /// What was said and by whom, in the caller's own form.
    pub body: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// How many messages may wait in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneRoom {
    pub most: u64,
    /// Those whose ids begin so take no room, and find some.
    pub apart: &'static str,
}

/// What became of a message that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageAccepted {
    New,
    /// So many wait in its lane that nobody has begun with: it was not accepted.
    Full {
        waiting: u64,
    },
    /// It was accepted before; as it is on record.
    Known(Box<InboxMessage>),
}

/// A message on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    pub id: String,
    pub lane: String,
    pub body: String,
    pub accepted: u64,
    /// How often it was claimed.
    pub tries: u64,
    pub holder: Option<ClaimHolder>,
    pub outcome: Option<MessageOutcome>,
}

/// What came of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageOutcome {
    /// In the caller's own form.
    pub text: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// A message in the hands of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMessage {
    pub claim: WorkClaim,
    pub message: InboxMessage,
    /// What came of the one that was finished before it in its lane, as far as that is remembered.
    pub before: Option<MessageOutcome>,
}
