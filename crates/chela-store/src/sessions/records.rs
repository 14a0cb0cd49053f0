//! Sessions and entries as they are kept. Times are milliseconds since 1970.

/// A session, without what was said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    pub id: String,
    pub key: String,
    pub started: u64,
    pub updated: u64,
    /// When a person last wrote.
    pub interacted: u64,
    pub ended: Option<u64>,
    pub ended_why: Option<String>,
    /// When it was last taken up again after it had ended.
    pub resumed: Option<u64>,
    pub archived: Option<u64>,
    pub pinned: bool,
    /// The session it was forked from.
    pub parent: Option<String>,
    /// Where the conversation stands; 0 where nothing was said yet.
    pub leaf: u32,
    pub label: Option<String>,
    pub display_name: Option<String>,
    /// JSON whose meaning is the caller's.
    pub settings: String,
    pub usage: UsageSums,
    pub compactions: u64,
    pub flushed_at: Option<u64>,
    pub flushed_compaction: Option<u64>,
    pub entries: u64,
    /// Of all bodies.
    pub bytes: u64,
    /// Grows with every change.
    pub version: u64,
}

/// What a session has cost so far, or one more call of it, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageSums {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Of the newest request.
    pub context: u64,
}

/// Which sessions are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionQuery {
    /// Nothing older than this.
    pub updated_since: u64,
    pub span: SessionSpan,
    /// The newest so many; `None`: all.
    pub most: Option<u32>,
}

/// How much of the past is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSpan {
    /// What goes on and was not put away.
    Current,
    Everything,
}

/// A session that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    /// One that no session has.
    pub id: String,
    pub key: String,
    pub at: u64,
    pub settings: String,
    pub label: Option<String>,
    pub display_name: Option<String>,
    pub parent: Option<String>,
    /// What goes on under this key as far as the caller knows, which ends; `None`: nothing does.
    pub ends: Option<CurrentSession>,
}

/// The session of a key as somebody saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentSession {
    pub id: String,
    pub version: u64,
    /// Why it ends.
    pub why: String,
}

/// What came of starting a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStarted {
    Started(SessionRecord),
    /// Something else goes on under the key than the caller knew; nothing was done.
    Overtaken(Option<SessionRecord>),
    /// Some session has this id; nothing was done.
    IdTaken,
}

/// A session that is to go on after it had ended. It ends what goes on under its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionResume {
    pub id: String,
    pub at: u64,
    /// Why the session ends that goes on under its key.
    pub ends_why: String,
}

/// What a person wrote first and last in a session, on whatever branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaidEnds {
    pub first: Option<EntryRecord>,
    pub last: Option<EntryRecord>,
}

/// A session that is to begin as the child of another. It ends what goes on under its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFork {
    pub parent: String,
    pub id: String,
    pub key: String,
    pub at: u64,
    pub settings: String,
    /// Why the session ends that goes on under its key.
    pub ends_why: String,
    /// A branch that has more than this since its last compaction is not taken over.
    pub most_bytes: u64,
}

/// What came of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionForked {
    Forked {
        child: SessionRecord,
        inherited: BranchInherited,
    },
    /// The parent is not there.
    ParentGone,
    IdTaken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchInherited {
    Branch {
        entries: usize,
    },
    /// The parent's branch is too long.
    Nothing {
        bytes: u64,
    },
}

/// A whole session from elsewhere. Its entries are numbered from 1 in the order they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionImport {
    pub id: String,
    pub key: String,
    pub started: u64,
    pub updated: u64,
    pub settings: String,
    pub label: Option<String>,
    pub parent: Option<String>,
    pub leaf: u32,
    /// Why it has ended, where it stands beside one that goes on.
    pub past_why: String,
    pub entries: Vec<ImportedEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedEntry {
    /// 0: a root.
    pub parent: u32,
    pub at: u64,
    pub kind: String,
    pub body: String,
}

/// What came of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionImported {
    Current(SessionRecord),
    /// Its key already had a conversation.
    Past(SessionRecord),
    IdTaken,
}

/// One thing that is changed about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    Label(Option<String>),
    DisplayName(Option<String>),
    Pinned(bool),
    Flushed {
        at: u64,
        compaction: u64,
    },
    /// Only if nothing was changed since the caller looked.
    Settings {
        text: String,
        version: u64,
    },
}

/// What came of changing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChanged {
    Changed,
    /// Somebody changed the session since the caller looked; nothing was done.
    Overtaken,
    Gone,
}

/// Entries that are appended together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryBatch {
    pub entries: Vec<NewEntry>,
    pub at: u64,
    pub usage: Option<UsageSums>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub kind: String,
    /// JSON; trust and source are read from it.
    pub body: String,
}

/// An entry of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRecord {
    /// Counted from 1 within its session.
    pub number: u32,
    /// 0: a root.
    pub parent: u32,
    pub at: u64,
    pub kind: String,
    pub body: String,
    /// The lowest trust it speaks of, as a word.
    pub trust: Option<String>,
    /// Of a user's message: what made it, as a word.
    pub source: Option<String>,
}

/// Which of the sessions that ever had an id it is: one that was removed and taken in again is
/// another, whoever did it. It says nothing but that. The default is that of none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionIncarnation(pub(crate) i64);

/// Entries of a session, and where the conversation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTree {
    pub incarnation: SessionIncarnation,
    pub leaf: u32,
    pub version: u64,
    /// By number.
    pub entries: Vec<EntryRecord>,
}

/// Where the leaf is, and where it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafMove {
    pub expected: u32,
    pub target: u32,
}
