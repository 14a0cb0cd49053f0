//! Requests on record.

use chela_core::{ContentHash, Usage};

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct NewRequest<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    pub session_key: &'a str,
    /// Milliseconds since 1970.
    pub at: u64,
    pub turn: &'a str,
    pub step: u32,
    pub model: &'a str,
    pub url: &'a str,
    /// Bytes that are sent.
    pub length: u64,
    /// The hash of what is sent.
    pub sent: ContentHash,
    /// The hash of what is stored, where that is something else.
    pub stored: Option<ContentHash>,
    /// What it is made of, in order.
    pub contents: &'a StoredContents,
    pub redactions: Option<&'a str>,
    pub sections: &'a str,
    pub tools: &'a str,
    pub reuse: &'a ReuseFacts,
}

/// How much of a request was read before, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReuseFacts {
    pub tokens: u64,
    pub reused_tokens: u64,
    pub reread_tokens: u64,
    pub bytes: u64,
    pub reused_bytes: u64,
    /// Where the reused prefix ends, in the caller's own form.
    pub broken: Option<String>,
    /// Why, in one word.
    pub cause: Option<String>,
}

/// A content in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredContent {
    pub(crate) number: i64,
    pub tokens: u64,
}

/// Contents in the store, in the order they were given.
#[derive(Debug, Clone, Default)]
pub struct StoredContents {
    pub(crate) list: Vec<StoredContent>,
}

/// What is known beforehand of contents that are to be stored: those at either end are contents of
/// a request that is on record.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownContents<'a> {
    pub first: &'a [StoredContent],
    pub last: &'a [StoredContent],
}

impl StoredContents {
    pub fn list(&self) -> &[StoredContent] {
        &self.list
    }
}

/// A request that was put on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddedRequest {
    pub number: i64,
    /// The store's seal over everything that was known of it.
    pub seal: ContentHash,
}

/// The request before another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorRequest {
    pub number: i64,
    /// It is of the session that had this key before.
    pub another_session: bool,
}

/// A request, as far as the next one is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    pub body: Vec<u8>,
    pub model: String,
    pub url: String,
    pub sections: Vec<u8>,
}

/// What came of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestEnd<'a> {
    pub at: u64,
    pub outcome: &'a str,
    pub usage: Option<Usage>,
    pub cost: Option<u64>,
    pub error: Option<&'a str>,
}

/// Which requests are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestQuery {
    pub agent: Option<String>,
    /// The id of a session.
    pub session: Option<String>,
    /// The key of sessions.
    pub key: Option<String>,
    /// Milliseconds since 1970.
    pub since: Option<u64>,
    pub until: Option<u64>,
    /// The newest so many; all when `None`.
    pub limit: Option<usize>,
}

/// A request in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    pub number: i64,
    pub at: u64,
    pub agent: String,
    pub session: String,
    pub session_key: String,
    pub turn: String,
    pub step: u32,
    pub model: String,
    pub length: u64,
    pub reuse: ReuseFacts,
    pub ended: Option<u64>,
    pub usage: Option<Usage>,
    pub cost: Option<u64>,
    pub error: Option<String>,
}

/// Everything about a request but its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRequest {
    pub line: RequestLine,
    pub url: String,
    pub sent: ContentHash,
    pub sections: Vec<u8>,
    pub tools: Vec<u8>,
    pub redactions: Option<String>,
    pub outcome: Option<Vec<u8>>,
}

/// The bytes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBody {
    pub stored: Vec<u8>,
    pub redactions: Option<String>,
    /// The hash of what was sent.
    pub sent: ContentHash,
}

/// What the prompts of requests were made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestParts {
    /// Lists of sections and of tools, each once.
    pub lists: Vec<Vec<u8>>,
    /// Each request, with the places of its sections and its tools in the lists.
    pub requests: Vec<(RequestLine, usize, usize)>,
}

impl RequestParts {
    /// The list of that place; nothing where there is none.
    pub fn list(&self, at: usize) -> &[u8] {
        self.lists.get(at).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What went with deleted requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedContents {
    pub contents: usize,
    /// As they were stored.
    pub bytes: u64,
}
