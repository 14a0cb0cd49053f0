//! What the owner, or the runtime, put on record about a session for the guard.

use chela_core::{ContentHash, Origin, Trust, ok_or_warn};
use chela_guard::approval::ApprovalScope;
use chela_session::{CustomEntry, EntryBody};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of entry that keeps what the owner decided.
pub(crate) const GUARD_MARK: &str = "guard";

/// Something the owner decided about this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum GuardMark {
    /// A call was allowed.
    Allowed {
        call: String,
        shape: ContentHash,
        scope: ApprovalScope,
        /// The question it answers, by its id in the audit chain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    Refused {
        call: String,
        shape: ContentHash,
    },
    /// What was read so far is no reason to ask any more.
    Released,
    /// Files of the prompt are somebody else's words.
    PromptForeign {
        trust: Trust,
        /// Those files, where it is nothing but files: the owner may say yes to them later.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<Origin>,
    },
    /// What stands there cannot be read: it may have been a no.
    #[serde(skip)]
    Unreadable,
}

impl GuardMark {
    /// The mark an entry keeps, if it keeps one. One that cannot be read is one all the same.
    pub(crate) fn of(body: &EntryBody) -> Option<Self> {
        match body {
            EntryBody::Custom(custom) if custom.custom_type == GUARD_MARK => {
                Some(Self::read(&custom.data))
            }
            _ => None,
        }
    }

    /// The mark as it stands in an entry.
    pub(crate) fn read(data: &Value) -> Self {
        let read = ok_or_warn!(
            serde_json::from_value(data.clone()),
            "what the owner decided cannot be read: the session counts as tainted"
        );
        read.unwrap_or(Self::Unreadable)
    }

    /// Whether the session has foreign text by it.
    pub(crate) fn taints(&self) -> bool {
        matches!(self, Self::PromptForeign { .. } | Self::Unreadable)
    }
}

impl From<GuardMark> for EntryBody {
    fn from(mark: GuardMark) -> Self {
        Self::Custom(CustomEntry {
            custom_type: GUARD_MARK.to_owned(),
            data: serde_json::to_value(mark).unwrap_or_default(),
        })
    }
}
