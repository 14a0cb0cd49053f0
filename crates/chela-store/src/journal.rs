//! The seam for the journal: what was changed in files, and which files hold foreign text.
//!
//! Files are named by their paths as text: inside a home relative to it. What a file held is known by the hash of its bytes;
//! the bytes themselves come packed, and how is the caller's business.

use crate::{FileSoundness, StoreCounts, StoreFuture};

/// The hash of what a file holds.
pub type TextHash = [u8; 32];

/// Keeps a journal. What is answered is on the disk.
pub trait JournalStore: std::fmt::Debug + Send + Sync {
    /// Keeps a change and what becomes of the trust in its file. Gives its number.
    fn keep(&self, change: NewChange) -> StoreFuture<'_, i64>;

    /// A change came to nothing: it and what it did to the trust are forgotten.
    fn take_out(&self, change: i64) -> StoreFuture<'_, ()>;

    /// Forgets what is older than a moment, and the oldest of what takes more room than this;
    /// gives how many changes went.
    fn forget(&self, limit: ForgetLimit) -> StoreFuture<'_, usize>;

    fn changes(&self, query: ChangeQuery) -> StoreFuture<'_, Vec<ChangeRecord>>;

    /// What stood in a file before a change: `None` when the change is not on record, `Some` of
    /// `None` when there was no file.
    fn text_before(&self, change: i64) -> StoreFuture<'_, Option<Option<PackedText>>>;

    /// Notes what was taken back, and by which change. What that had taken back itself counts
    /// again.
    fn mark_undone(&self, changes: Vec<i64>, by: i64) -> StoreFuture<'_, ()>;

    /// Whether a file is foreign by its path, or a text by its size or by what it is.
    fn is_foreign(&self, what: ForeignQuery) -> StoreFuture<'_, bool>;

    fn foreign_files(&self) -> StoreFuture<'_, Vec<String>>;

    /// Notes that a file holds foreign text.
    fn mark_foreign(&self, path: &str, text: Option<TextMark>) -> StoreFuture<'_, ()>;

    /// The owner stands for a file and for what it holds.
    fn vouch(&self, path: &str, text: Option<TextHash>) -> StoreFuture<'_, ()>;

    /// The versions of a file that somebody answers for; of a folder, named with a slash at its
    /// end, whether it is answered for itself.
    fn own_versions(&self, path: &str) -> StoreFuture<'_, Vec<OwnVersion>>;

    /// All versions on record whose path begins so, by path.
    fn own_below(&self, beginning: &str) -> StoreFuture<'_, Vec<(String, OwnVersion)>>;

    /// Notes versions somebody answers for: they are foreign no more.
    fn note_own(&self, versions: Vec<(String, OwnVersion)>) -> StoreFuture<'_, ()>;

    /// Nobody answers any more for a file, or for what lies below a folder that is named with a
    /// slash at its end.
    fn disown(&self, path: &str) -> StoreFuture<'_, ()>;

    /// Names of files in this home become relative to it.
    fn adopt_names(&self, home: &str) -> StoreFuture<'_, ()>;

    /// Reads everything to see whether it hangs together.
    fn check(&self) -> StoreFuture<'_, FileSoundness>;

    fn counts(&self) -> StoreCounts;
}

/// What a text is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextMark {
    pub hash: TextHash,
    pub size: u64,
}

/// A text as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedText {
    pub packed: Vec<u8>,
    /// Unpacked.
    pub size: u64,
}

/// A change that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChange {
    pub at: u64,
    pub session: String,
    pub session_id: String,
    pub turn: String,
    pub call: String,
    pub tool: String,
    pub path: String,
    /// The home it is made in.
    pub home: Option<String>,
    pub keeps: Option<KeptFile>,
    pub what: String,
    /// `None`: there is no file yet.
    pub before: Option<TextMark>,
    pub packed_before: Option<Vec<u8>>,
    /// `None`: there will be no file.
    pub after: Option<TextMark>,
    /// Texts shorter than this are not known again elsewhere.
    pub shortest_known: u64,
    /// The turn had read text from outside.
    pub tainted: bool,
    /// Somebody answers for the text that lives on.
    pub keeps_own: bool,
    pub trust: TrustChange,
}

/// A file whose text lives on in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    pub path: String,
    /// What it holds, where that was looked at.
    pub text: Option<TextMark>,
}

/// What becomes of the trust in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustChange {
    /// It follows from who writes, and what of the old text lives on.
    Follows,
    /// What was there is there again, with the trust it had.
    Restored { foreign: bool },
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetLimit {
    /// Milliseconds since 1970.
    pub oldest: u64,
    pub most_bytes: u64,
    /// What a change takes besides the text.
    pub bytes_per_change: u64,
}

/// Which changes are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeQuery {
    /// The newest so many, the newest first.
    Newest {
        limit: u64,
    },
    ByNumber(i64),
    /// What the last turn did that did something, of a session or of all; without what was
    /// taken back, and without what took back.
    LastTurn {
        session: Option<String>,
    },
    /// The turns whose names begin so.
    TurnsBeginning(String),
    /// What else a call did that was not taken back.
    SameCall {
        turn: String,
        call: String,
        session_id: String,
    },
    /// The newest change of a file after a number that was not taken back.
    LaterOf {
        path: String,
        after: i64,
    },
}

/// A change on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRecord {
    pub number: i64,
    pub at: u64,
    pub session: String,
    pub session_id: String,
    pub turn: String,
    pub call: String,
    pub tool: String,
    pub path: String,
    pub keeps: Option<String>,
    pub what: String,
    pub tainted: bool,
    pub before: Option<TextHash>,
    pub after: Option<TextHash>,
    /// The change that took it back; 0 where nothing had to be changed for that.
    pub undone: Option<i64>,
    pub foreign_before: bool,
    /// The home it was made in; `None` where an older version made it.
    pub home: Option<String>,
}

/// A version of a file that somebody answers for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnVersion {
    /// `None` where only the stamp is known: what a command made is not read through.
    pub hash: Option<TextHash>,
    /// What the file system said about the file when it was this version; the caller knows how to
    /// read it. Empty where it was not looked at.
    pub stamp: String,
    /// Who answers for it, in a word.
    pub writer: String,
    /// The tool or the command.
    pub how: String,
    /// The turn it was written in; empty where there was none.
    pub turn: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// What may be foreign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignQuery {
    Path(String),
    /// Whether any foreign text has this size: else its content need not be looked at.
    Size(u64),
    Text(TextHash),
}
