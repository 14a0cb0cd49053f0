//! Up to where conversations are in notes, so that nothing is noted twice, also where the owner
//! has deleted a note.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chela_core::{AgentId, Host, ok_or_warn};
use chela_files::{FileMode, PathLocks, write_file};

/// Conversations beyond these ended long ago.
const MOST: usize = 400;

/// What is known of an agent's conversations: entries by session.
pub(crate) struct NotedSessions {
    host: Host,
    path: PathBuf,
}

impl NotedSessions {
    pub fn of(host: &Host, agent: &AgentId) -> Self {
        let folder = host.state_dir().join("state").join("memory");
        Self {
            host: host.clone(),
            path: folder.join(format!("{}.noted.json", agent.as_str())),
        }
    }

    /// How many entries of a session a note was made of.
    pub fn entries_of(&self, session: &str) -> usize {
        self.read().get(session).map_or(0, |noted| noted.entries)
    }

    pub fn note(&self, session: &str, entries: usize) {
        if let Some(folder) = self.path.parent() {
            ok_or_warn!(std::fs::create_dir_all(folder), "what is noted is not kept");
        }
        let held = PathLocks::of(&self.host).hold([self.path.as_path()]);
        let held = ok_or_warn!(held, "what is noted is not kept");
        let mut all = self.read();
        let at = self.host.unix_time();
        all.insert(session.to_owned(), NotedSession { entries, at });
        while all.len() > MOST {
            let oldest = all.iter().min_by_key(|(_, noted)| noted.at);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            all.remove(&oldest);
        }
        let text = serde_json::to_vec(&all).unwrap_or_default();
        let written = write_file(&self.path, &text, FileMode::Private);
        ok_or_warn!(written, "what is noted is not kept");
        drop(held);
    }

    fn read(&self) -> BTreeMap<String, NotedSession> {
        let text = std::fs::read(&self.path).unwrap_or_default();
        match text.is_empty() {
            true => BTreeMap::new(),
            false => ok_or_warn!(
                serde_json::from_slice(&text),
                "up to where conversations are noted is not known"
            )
            .unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct NotedSession {
    entries: usize,
    /// Seconds since 1970.
    at: u64,
}
