//! Questions that are open somewhere: in another terminal, in a process of its own.
//!
//! A question is answered where it was asked. For whoever waits behind it, or wonders, it is
//! written down for as long as it is open, in a file that goes with it; what a process left behind
//! that died counts no more.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_debug};
use chela_files::{create_private_folder, is_process_alive, restrict_to_owner, this_boot};
use serde::{Deserialize, Serialize};

/// No question a person could read is larger.
const MOST_BYTES: u64 = 4 << 20;

/// A question that is open in a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// As it is typed where it was asked.
    pub id: String,
    pub agent: String,
    pub session: String,
    pub pid: u32,
    pub boot: String,
    /// Milliseconds since 1970.
    pub since: u64,
    /// Until when an answer counts, likewise.
    pub until: u64,
    pub calls: Vec<OpenCall>,
}

/// A call a question is about, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenCall {
    pub tool: String,
    pub summary: String,
    /// Every argument, made safe to print.
    pub exact: Vec<(String, String)>,
    pub why: String,
}

/// Keeps a question on record for as long as it is open.
#[derive(Debug)]
pub struct OpenQuestionRecord(PathBuf);

impl Drop for OpenQuestionRecord {
    fn drop(&mut self) {
        let gone = std::fs::remove_file(&self.0);
        ok_or_debug!(gone, "a question that is answered stays on record");
    }
}

impl OpenQuestion {
    /// Writes a question of this process down. That it cannot be is no reason not to ask.
    pub fn keep(&self, host: &Host) -> Option<OpenQuestionRecord> {
        Self::forget_old(host);
        let folder = folder_of(host);
        let file = folder.join(format!("{}-{}.json", self.pid, self.id));
        let written = create_private_folder(&folder).and_then(|()| {
            let text = serde_json::to_vec(self)?;
            let mut open = OpenOptions::new();
            open.write(true).create_new(true);
            restrict_to_owner(&mut open).open(&file)?.write_all(&text)
        });
        ok_or_debug!(written, "an open question is not on record")?;
        Some(OpenQuestionRecord(file))
    }

    /// The questions that are open now, the oldest first.
    pub fn all(host: &Host) -> Vec<Self> {
        let entries = std::fs::read_dir(folder_of(host));
        let entries = entries.into_iter().flatten().flatten();
        let mut open: Vec<Self> = entries
            .filter_map(|entry| read(&entry.path()))
            .filter(|question| question.is_open(host))
            .collect();
        open.sort_by_key(|question| question.since);
        open
    }

    /// Takes away what processes left behind that died.
    fn forget_old(host: &Host) {
        let entries = std::fs::read_dir(folder_of(host));
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            if !read(&path).is_some_and(|question| question.is_open(host)) {
                let gone = std::fs::remove_file(&path);
                ok_or_debug!(gone, "a question that is over stays on record");
            }
        }
    }

    fn is_open(&self, host: &Host) -> bool {
        host.unix_millis() < self.until && is_process_alive(&self.boot, self.pid)
    }

    /// A question of this process.
    pub fn of_this_process(id: &str, (since, until): (u64, u64)) -> Self {
        Self {
            id: id.to_owned(),
            agent: String::new(),
            session: String::new(),
            pid: std::process::id(),
            boot: this_boot().to_owned(),
            since,
            until,
            calls: Vec::new(),
        }
    }

    /// What it is about, in a line.
    pub fn summary(&self) -> String {
        let words: Vec<&str> = self
            .calls
            .iter()
            .map(|call| call.summary.as_str())
            .collect();
        words.join("; ")
    }
}

fn read(file: &Path) -> Option<OpenQuestion> {
    let size = file.symlink_metadata().ok()?;
    if !size.is_file() || size.len() > MOST_BYTES {
        return None;
    }
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn folder_of(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("questions")
}

#[cfg(test)]
mod tests {
    use chela_core::Host;

    use super::OpenQuestion;

    #[test]
    fn a_question_is_on_record_while_it_is_open_and_its_process_lives() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let now = host.unix_millis();
        let open = OpenQuestion::of_this_process("a1b2c3", (now, now + 1_000));
        let record = open.keep(&host);
        assert_eq!(OpenQuestion::all(&host), std::slice::from_ref(&open));
        drop(record);
        assert!(OpenQuestion::all(&host).is_empty());
        let lapsed = OpenQuestion::of_this_process("a", (now - 9, now - 1));
        let dead = OpenQuestion {
            boot: "another".to_owned(),
            ..open
        };
        let _kept = (lapsed.keep(&host), dead.keep(&host));
        assert!(OpenQuestion::all(&host).is_empty());
        OpenQuestion::forget_old(&host);
        let folder = home.path().join(".chela/state/questions");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}
