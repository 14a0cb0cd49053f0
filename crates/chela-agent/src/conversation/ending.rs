//! When a conversation ends: what is worth keeping goes into a dated note.

use chela_core::{Trust, ok_or_warn};
use chela_memory::note::{Said, SessionEnd, write_session_note};
use chela_model::Message;
use serde_json::Value;

use super::Conversation;
use crate::local;
use chela_session::{Body, Entry, Session};

impl Conversation {
    /// The session that was left behind when this one began, if one was.
    pub(super) async fn note_replaced(&self, session: &Session) {
        let Some((old, _)) = &session.replaced else {
            return;
        };
        if let Ok(Some(old)) = self.sessions.by_id(old.as_str()).await {
            self.write_note_of(&old).await;
        }
    }

    /// Writes `memory/YYYY-MM-DD-HHMM.md` from the last messages, when `session-memory` is on.
    /// A note that cannot be written loses nothing: the transcript is kept.
    pub(super) async fn write_note_of(&self, session: &Session) {
        if !self
            .agents
            .loaded
            .config
            .hooks
            .internal
            .is_on("session-memory")
        {
            return;
        }
        let Ok(branch) = self.sessions.branch(session).await else {
            return;
        };
        let said: Vec<(&str, String)> = branch
            .iter()
            .filter_map(|entry| match &entry.body {
                Body::Message { message, meta } => {
                    let by = match message {
                        Message::User { .. } => "User",
                        Message::Assistant { .. } => "Assistant",
                        Message::ToolResult { .. } => return None,
                    };
                    Some((by, words_of(message, meta.lead)))
                }
                _ => None,
            })
            .filter(|(_, text)| !text.trim().is_empty())
            .collect();
        let messages: Vec<Said<'_>> = said.iter().map(|(by, text)| Said { by, text }).collect();
        let zone = self.view.user_timezone.value.as_deref();
        let host = &self.agents.host;
        let written = write_session_note(&SessionEnd {
            workspace: &self.view.workspace.value,
            session_key: &self.key.to_string(),
            day: local::day(host, zone),
            time: local::time(host, zone),
            messages: &messages,
            slug: None,
            summary: None,
        });
        if let Err(error) = &written {
            tracing::warn!(%error, "no note of the session that ended");
        }
        if let Ok(Some(note)) = written
            && has_read_foreign(&branch)
        {
            // A note nobody can vouch for is not left lying about.
            let real = note.canonicalize().unwrap_or_else(|_| note.clone());
            if self
                .agents
                .journal(&self.view.id)
                .mark_foreign(&real)
                .is_err()
            {
                tracing::warn!("a note that holds foreign text cannot be marked: it is dropped");
                ok_or_warn!(std::fs::remove_file(&note), "and cannot be removed");
            }
        }
    }
}

/// Whether foreign text was read in a conversation: by a tool, or told by the runtime.
fn has_read_foreign(branch: &[Entry]) -> bool {
    let told = |details: &Value| {
        let blocks = details.get("runtime").and_then(Value::as_array);
        blocks.is_some_and(|blocks| {
            let foreign = Trust::External.as_str();
            blocks.iter().any(|block| block["trust"] == foreign)
        })
    };
    branch.iter().any(|entry| match &entry.body {
        Body::Message { meta, .. } => {
            let label = meta.label.as_ref();
            label.is_some_and(|label| label.trust == Trust::External) || told(&meta.details)
        }
        Body::CustomMessage(message) => told(&message.details),
        _ => false,
    })
}

/// A message without what the runtime put before it.
pub(crate) fn words_of(message: &Message, lead: u32) -> String {
    message
        .content()
        .iter()
        .skip(lead as usize)
        .filter_map(|part| match part {
            chela_model::Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
