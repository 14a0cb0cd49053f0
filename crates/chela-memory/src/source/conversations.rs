//! Conversations among the files memory is made of: a file for each page.

use std::path::PathBuf;

use chela_core::Trust;

use super::{FileSource, FoundFile, FoundFiles};
use crate::settings::{MemorySettings, SourceKind};
use crate::transcript::{PAGE, SessionPage, TranscriptSource};

/// What the index knows of conversations lies under this name.
const FOLDER: &str = "sessions";

impl FoundFiles {
    /// Adds the conversations to what was found, where the settings ask for them. Without anybody to
    /// ask, what is known of them stays: that nobody told of a conversation does not mean it is gone.
    pub(crate) fn add_sessions(
        &mut self,
        source: Option<&dyn TranscriptSource>,
        settings: &MemorySettings,
    ) {
        if !settings.sources.contains(&SourceKind::Sessions) {
            return;
        }
        match source {
            Some(source) => list(source, self),
            None => self.unreadable.push(FOLDER.to_owned()),
        }
    }
}

/// Adds the pages of all conversations to what was found.
fn list(source: &dyn TranscriptSource, found: &mut FoundFiles) {
    let sessions = match source.sessions() {
        Ok(sessions) => sessions,
        Err(error) => {
            found.problems.push(error.to_string());
            found.unreadable.push(FOLDER.to_owned());
            return;
        }
    };
    for session in sessions {
        for from in (0..session.messages).step_by(PAGE as usize) {
            let page = SessionPage {
                session: session.id.clone(),
                from,
            };
            let size = (session.messages - from).min(PAGE);
            let label = page.label();
            let file = FoundFile {
                path: PathBuf::from(&label),
                label: label.clone(),
                source: FileSource::Sessions,
                size,
                // A full page stays as it is, whenever the conversation goes on.
                modified: match size == PAGE {
                    true => 0,
                    false => session.changed_at.saturating_mul(1_000_000_000),
                },
                trust: session.trust.min(Trust::Agent),
                audience: session.audience,
                page: Some(page),
            };
            found.files.insert(label, file);
        }
    }
}
