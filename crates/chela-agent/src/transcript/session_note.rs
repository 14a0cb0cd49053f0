//! When a conversation ends: what the person asked in it goes into a dated note.
//!
//! What the model said stays in the transcript. In a note it would be found again like a fact, and
//! nobody has said that it is one.

use std::path::PathBuf;

use chela_core::ok_or_warn;
use chela_memory::note::{SessionEnd, write_session_note};
use chela_model::ModelMessage;

use super::Transcript;
use crate::entry_trust::has_read_foreign;
use crate::local;
use chela_session::journal::{AnsweredBy, FileWriter};
use chela_session::{EntryBody, ExternalSpans, MessageSource, OpenSession, split_told};

impl Transcript {
    /// The session that was left behind when this one began, if one was.
    pub async fn note_replaced(&self) {
        let Some((old, _)) = self.session().replaced else {
            return;
        };
        let old = self.sessions.by_id(old.as_str()).await;
        if let Some(Some(old)) = ok_or_warn!(old, "no note of the session that ended") {
            self.write_note_of(&old).await;
        }
    }

    /// Writes `memory/YYYY-MM-DD-HHMM.md` from what the person said last, when `session-memory` is
    /// on. A note that cannot be written loses nothing: the transcript is kept.
    pub(super) async fn write_note_of(&self, session: &OpenSession) -> Option<PathBuf> {
        let scope = &self.scope;
        let hooks = &scope.agents.loaded.config.hooks;
        if !hooks.internal.is_on("session-memory") {
            return None;
        }
        let branch = self.sessions.branch(session).await;
        let branch = ok_or_warn!(branch, "no note of the session that ended")?;
        let said: Vec<String> = branch
            .iter()
            .filter_map(|entry| match &entry.body {
                EntryBody::Message { message, meta }
                    if matches!(message, ModelMessage::User { .. })
                        && meta.source == MessageSource::Person =>
                {
                    own_words(&words_of(message, meta.lead), &meta.external)
                }
                _ => None,
            })
            .filter(|text| !text.trim().is_empty())
            .collect();
        let messages: Vec<&str> = said.iter().map(String::as_str).collect();
        let zone = scope.view.user_timezone.value.as_deref();
        let host = &scope.agents.host;
        let written = write_session_note(&SessionEnd {
            workspace: &scope.view.workspace.value,
            session_key: &scope.key.to_string(),
            session_id: session.id.as_str(),
            day: local::day(host, zone),
            time: local::time(host, zone),
            messages: &messages,
        });
        if let Err(error) = &written {
            tracing::warn!(%error, "no note of the session that ended");
        }
        let note = written.ok().flatten()?;
        let real = note.canonicalize().unwrap_or_else(|_| note.clone());
        let journal = scope.agents.journal(&scope.view.id);
        if has_read_foreign(&branch, &scope.view.owner_allow_from.value) {
            // A note nobody can vouch for is not left lying about.
            if journal.mark_foreign(&real).is_err() {
                tracing::warn!("a note with untrusted content cannot be marked: it is dropped");
                ok_or_warn!(std::fs::remove_file(&note), "and cannot be removed");
                return None;
            }
        } else {
            let by = AnsweredBy {
                writer: FileWriter::Agent,
                how: "session-memory",
                turn: "",
            };
            let noted = journal.note_own_files([real], &by);
            ok_or_warn!(noted, "a session note is not approved");
        }
        Some(note)
    }
}

/// What of a message the person wrote: what was piped in, pasted or quoted is somebody else's.
fn own_words(text: &str, external: &ExternalSpans) -> Option<String> {
    match external {
        ExternalSpans::Known(spans) => split_told(text, spans).map(|(own, _)| own),
        ExternalSpans::Unreadable(_) => None,
    }
}

/// A message without what the runtime put before it.
pub(crate) fn words_of(message: &ModelMessage, lead: u32) -> String {
    message
        .content()
        .iter()
        .skip(lead as usize)
        .filter_map(|part| match part {
            chela_model::MessagePart::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
