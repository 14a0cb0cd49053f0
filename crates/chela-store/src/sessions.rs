//! The seam for sessions: what was said, as records.
//!
//! A session is named by its id, an entry by its session and its number. The entries of a session
//! are a tree that only grows; a leaf says where the conversation stands. What has to happen
//! together or not at all is one method.

mod marks;
mod records;

use std::collections::BTreeSet;

use crate::{FileSoundness, StoreCounts, StoreFuture, WriteDurability};

pub use marks::EntryMarks;
pub use records::{
    BranchInherited, CurrentSession, EntryBatch, EntryRecord, ImportedEntry, LeafMove, NewEntry,
    SaidEnds, SessionChange, SessionChanged, SessionFork, SessionForked, SessionImport,
    SessionImported, SessionIncarnation, SessionQuery, SessionRecord, SessionResume, SessionSpan,
    SessionStart, SessionStarted, SessionTree, UsageSums,
};

/// Keeps sessions. Methods about one session answer with `None` or `false` when it is gone.
pub trait SessionStore: std::fmt::Debug + Send + Sync {
    /// The session a key stands for, if one goes on.
    fn current(&self, key: &str) -> StoreFuture<'_, Option<SessionRecord>>;

    fn by_id(&self, id: &str) -> StoreFuture<'_, Option<SessionRecord>>;

    /// The newest first.
    fn list(&self, query: SessionQuery) -> StoreFuture<'_, Vec<SessionRecord>>;

    /// Every id with its key, the newest first.
    fn names(&self) -> StoreFuture<'_, Vec<(String, String)>>;

    /// The sessions in which text from outside was read, by id.
    fn foreign_sessions(&self) -> StoreFuture<'_, BTreeSet<String>>;

    /// Starts a session under a key, and ends the one that went on under it, if that is still
    /// the one the caller knows, unchanged. Not waited for by the disk: what is said in it takes
    /// it along.
    fn start(&self, start: SessionStart) -> StoreFuture<'_, SessionStarted>;

    /// Starts a session from where another one stands; whatever went on under its key ends.
    fn fork(&self, fork: SessionFork) -> StoreFuture<'_, SessionForked>;

    /// Lets a session go on that has ended or was put away; whatever went on under its key ends.
    fn resume(&self, resume: SessionResume) -> StoreFuture<'_, Option<SessionRecord>>;

    /// Takes in a whole session. Beside one that goes on under its key it is a past one.
    fn import(&self, import: SessionImport) -> StoreFuture<'_, SessionImported>;

    /// Puts a session away: it ends, and nothing is lost.
    fn archive(&self, id: &str, at: u64) -> StoreFuture<'_, bool>;

    /// Deletes a session and everything said in it.
    fn remove(&self, id: &str) -> StoreFuture<'_, bool>;

    fn set(&self, id: &str, change: SessionChange) -> StoreFuture<'_, SessionChanged>;

    fn add_usage(
        &self,
        id: &str,
        usage: UsageSums,
        durability: WriteDurability,
    ) -> StoreFuture<'_, bool>;

    /// What was fixed when the session began.
    fn frozen(&self, id: &str) -> StoreFuture<'_, Option<String>>;

    /// Fixes it, or replaces it. Not waited for by the disk: it can be made again.
    fn freeze(&self, id: &str, body: String) -> StoreFuture<'_, bool>;

    /// Appends entries to where the conversation stands, all of them or none, with what they
    /// cost. Gives their numbers. What had been taken back can no longer be brought back.
    fn append(
        &self,
        id: &str,
        batch: EntryBatch,
        durability: WriteDurability,
    ) -> StoreFuture<'_, Option<Vec<u32>>>;

    /// The entries from the root to where the conversation stands.
    fn branch(&self, id: &str) -> StoreFuture<'_, Option<Vec<EntryRecord>>>;

    /// What a person wrote first and last, without reading the rest.
    fn said_ends(&self, id: &str) -> StoreFuture<'_, Option<SaidEnds>>;

    /// The entries after a number, on whatever branch, and where the conversation stands. Reads
    /// nothing else, so that somebody who knows the rest pays for what is new.
    fn read_since(&self, id: &str, after: u32) -> StoreFuture<'_, Option<SessionTree>>;

    /// The number of the newest compaction of the branch.
    fn last_compaction(&self, id: &str) -> StoreFuture<'_, Option<u32>>;

    /// Moves the leaf, if it is still where the caller saw it.
    fn move_leaf(&self, id: &str, leaf: LeafMove) -> StoreFuture<'_, Option<bool>>;

    /// Reads everything to see whether it hangs together.
    fn check(&self) -> StoreFuture<'_, FileSoundness>;

    /// Gives room back that is no longer needed.
    fn give_room_back(&self) -> StoreFuture<'_, ()>;

    /// How much room the records take.
    fn stored_bytes(&self) -> StoreFuture<'_, u64>;

    fn counts(&self) -> StoreCounts;
}
