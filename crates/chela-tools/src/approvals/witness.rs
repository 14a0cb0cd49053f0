//! Whether a change of the approvals document was this program's own.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;

use chela_core::{ContentHash, lock};

use super::document::{AgentApprovals, ApprovalsDocument, KnownState};

/// So many writes are remembered; commands run for seconds.
const MOST_REMEMBERED: usize = 64;

/// What this process wrote, the newest last.
static WRITTEN: Mutex<VecDeque<ContentHash>> = Mutex::new(VecDeque::new());

/// Remembers a text this process wrote as the document.
pub(super) fn remember_written(text: &str) {
    let mut written = lock(&WRITTEN);
    if written.len() == MOST_REMEMBERED {
        written.pop_front();
    }
    written.push_back(ContentHash::of(text));
}

impl ApprovalsDocument {
    /// Whether this process wrote a document of exactly these bytes.
    pub fn was_written_here(bytes: &[u8]) -> bool {
        lock(&WRITTEN).contains(&ContentHash::of(bytes))
    }

    /// Whether two documents allow the same. When something was last used and what waits for an
    /// answer allow nothing; a document that cannot be read is like no other.
    pub fn allows_the_same(one: Option<&[u8]>, other: Option<&[u8]>) -> bool {
        match (permits(one), permits(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one == other,
        }
    }
}

fn permits(bytes: Option<&[u8]>) -> Option<ApprovalsDocument> {
    let Some(bytes) = bytes else {
        return Some(ApprovalsDocument::default());
    };
    let text = std::str::from_utf8(bytes).ok()?;
    let mut document = ApprovalsDocument::read(text, Path::new("")).ok()?;
    for agent in document.agents.values_mut() {
        agent.calls.retain(|call| call.state != KnownState::Pending);
        for entry in &mut agent.allowlist {
            entry.id.clear();
            entry.last_used_at = None;
            entry.last_resolved_path = None;
        }
    }
    document
        .agents
        .retain(|_, agent| *agent != AgentApprovals::default());
    Some(document)
}

#[cfg(test)]
mod tests {
    use super::ApprovalsDocument;

    #[test]
    fn only_what_is_allowed_counts() {
        let empty = br#"{"version":1}"#;
        let used =
            br#"{"version":1,"agents":{"main":{"allowlist":[{"pattern":"ls","lastUsedAt":5}]}}}"#;
        let known =
            br#"{"version":1,"agents":{"main":{"allowlist":[{"pattern":"ls","id":"a1"}]},"x":{}}}"#;
        let more = br#"{"version":1,"agents":{"main":{"allowlist":[{"pattern":"ls"},{"pattern":"wget"}]}}}"#;
        let same =
            |one: &[u8], other: &[u8]| ApprovalsDocument::allows_the_same(Some(one), Some(other));
        assert!(same(used, known));
        assert!(!same(used, more) && !same(empty, used) && !same(empty, b"{"));
        assert!(ApprovalsDocument::allows_the_same(None, Some(empty)));
        assert!(!ApprovalsDocument::allows_the_same(None, Some(more)));
        assert!(!ApprovalsDocument::was_written_here(more));
    }
}
