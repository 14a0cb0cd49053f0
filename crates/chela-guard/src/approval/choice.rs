//! What an owner can choose from: data that comes with the question.

use serde::{Deserialize, Serialize};

use super::{ApprovalScope, shown};

/// One answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalChoice {
    /// The word that is typed for it, and by which the one who asked knows it again.
    pub word: String,
    /// As it stands on the card.
    pub label: String,
    pub scope: ApprovalScope,
    /// What holds from now on, for whom, and how it is taken back. A choice that says so is asked
    /// about a second time before it counts.
    pub follows: Option<String>,
}

impl ApprovalChoice {
    pub fn deny() -> Self {
        Self::plain(ApprovalScope::Deny, "deny")
    }

    pub fn once() -> Self {
        Self::plain(ApprovalScope::Once, "allow once")
    }

    pub fn session() -> Self {
        Self::plain(ApprovalScope::Session, "for this session")
    }

    /// A yes for good, under a word of its own; `follows` says what will be allowed.
    pub fn always(word: &str, label: &str, follows: &str) -> Self {
        Self {
            word: shown(word),
            label: shown(label),
            scope: ApprovalScope::Always,
            follows: Some(shown(follows)),
        }
    }

    /// The answers to a question about calls; `who` makes them.
    pub fn usual(who: &str) -> Vec<Self> {
        let follows = format!(
            "From now on {who} does exactly this, with exactly these arguments, without asking: \
             in every session, whatever it has read. `chela approvals list` shows it, `chela \
             approvals revoke ID` revokes it."
        );
        vec![
            Self::deny(),
            Self::once(),
            Self::session(),
            Self::always("always", "always", &follows),
        ]
    }

    fn plain(scope: ApprovalScope, label: &str) -> Self {
        Self {
            word: scope.as_str().to_owned(),
            label: label.to_owned(),
            scope,
            follows: None,
        }
    }

    /// Whether this is what somebody typed.
    pub fn is_typed(&self, typed: &str) -> bool {
        let typed = typed.to_lowercase();
        let typed = match typed.strip_prefix("allow-").unwrap_or(&typed) {
            "y" | "yes" => "once",
            "s" => "session",
            "a" => "always",
            "n" | "no" => "deny",
            other => other,
        };
        self.word == typed
    }
}
