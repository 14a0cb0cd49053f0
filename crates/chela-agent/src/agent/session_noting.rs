//! When a conversation ends, or rests for long: what the person said in it goes into a dated note.
//!
//! What the model said stays in the transcript. In a note it would be found again like a fact, and
//! nobody has said that it is one. A note holds what was said since the one before it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_config::AgentView;
use chela_core::{SessionKey, ok_or_warn};
use chela_memory::note::{SessionEnd, write_session_note};
use chela_model::ModelMessage;
use chela_tools::FileChange;

use super::Agents;
use crate::entry_trust::has_read_foreign;
use crate::local;
use crate::noted_sessions::NotedSessions;
use chela_session::journal::{AnsweredBy, ChangeAuthor, FileWriter, TrustAfter};
use chela_session::{
    EntryBody, ExternalSpans, MessageSource, OpenSession, Sessions, TranscriptEntry, split_told,
};

/// Who writes these notes: the name of the hook that switches them off.
const WRITER: &str = "session-memory";

/// What a note is written from.
pub(crate) struct SessionNoting<'a> {
    pub agents: &'a Arc<Agents>,
    pub view: &'a AgentView,
    pub key: &'a SessionKey,
    pub sessions: &'a Sessions,
}

impl SessionNoting<'_> {
    /// Writes `memory/YYYY-MM-DD-HHMM.md` from what the person said since the last note, when
    /// `session-memory` is on. A note that cannot be written loses nothing: the transcript is kept.
    pub async fn write(&self, session: &OpenSession) -> Option<PathBuf> {
        let hooks = &self.agents.loaded.config.hooks;
        if !hooks.internal.is_on(WRITER) {
            return None;
        }
        let branch = self.sessions.branch(session).await;
        let branch = ok_or_warn!(branch, "no note of the session that ended")?;
        let noted = NotedSessions::of(self.agents.host(), &self.view.id);
        let before = noted.entries_of(session.id.as_str());
        let entries: Vec<&TranscriptEntry> = branch.iter().collect();
        // What was taken back since makes a conversation shorter than its note.
        let since = entries.get(before..).unwrap_or_default();
        let said = said_by_person(since);
        let messages: Vec<&str> = said.iter().map(String::as_str).collect();
        let zone = self.view.user_timezone.value.as_deref();
        let host = self.agents.host();
        let written = write_session_note(&SessionEnd {
            workspace: &self.view.workspace.value,
            session_key: &self.key.to_string(),
            session_id: session.id.as_str(),
            day: local::day(host, zone),
            time: local::time(host, zone),
            messages: &messages,
        });
        if let Err(error) = &written {
            tracing::warn!(%error, "no note of the session that ended");
        }
        let note = written.ok()?;
        noted.note(session.id.as_str(), entries.len());
        let note = note?;
        let is_foreign = has_read_foreign(&branch, &self.view.owner_allow_from.value);
        self.answer_for(&note, session, is_foreign).then_some(note)
    }

    /// Says whose note it is, and how it can be taken back. Says whether it stays.
    fn answer_for(&self, note: &Path, session: &OpenSession, is_foreign: bool) -> bool {
        let real = note.canonicalize().unwrap_or_else(|_| note.to_owned());
        let journal = self.agents.journal(&self.view.id);
        let text = ok_or_warn!(std::fs::read(&real), "a session note cannot be undone");
        if let Some(text) = text {
            let change = FileChange {
                path: &real,
                before: None,
                after: Some(&text),
                keeps: None,
                tool: WRITER,
                call: "",
            };
            let author = ChangeAuthor {
                session: &self.key.to_string(),
                session_id: session.id.as_str(),
                // No turn did it: it is taken back by its number.
                turn: "",
                tainted: is_foreign,
                keeps_own: false,
            };
            let kept = journal.keep(&change, &author, TrustAfter::Follows);
            ok_or_warn!(kept, "a session note cannot be undone");
        }
        if is_foreign {
            // A note nobody can vouch for is not left lying about.
            if journal.mark_foreign(&real).is_err() {
                tracing::warn!("a note with untrusted content cannot be marked: it is dropped");
                ok_or_warn!(std::fs::remove_file(note), "and cannot be removed");
                return false;
            }
        } else {
            let by = AnsweredBy {
                writer: FileWriter::Agent,
                how: WRITER,
                turn: "",
            };
            let noted = journal.note_own_files([real], &by);
            ok_or_warn!(noted, "a session note is not approved");
        }
        true
    }
}

/// What the person wrote, message by message.
fn said_by_person(entries: &[&TranscriptEntry]) -> Vec<String> {
    let own = entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Message { message, meta }
            if matches!(message, ModelMessage::User { .. })
                && meta.source == MessageSource::Person =>
        {
            own_words(&words_of(message, meta.lead), &meta.external)
        }
        _ => None,
    });
    own.filter(|text| !text.trim().is_empty()).collect()
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
