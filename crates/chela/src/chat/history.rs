//! What was typed before, kept from one chat to the next.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use chela_core::ok_or_debug;

/// Entries kept.
const MOST: usize = 1000;
/// A pasted book is not worth finding again.
const LONGEST: usize = 32 * 1024;

/// Earlier messages, oldest first. Each is one JSON string on a line of its file.
#[derive(Debug, Default)]
pub struct InputHistory {
    file: Option<PathBuf>,
    entries: Vec<String>,
    /// Where one is while going back, and what was being written before.
    at: Option<(usize, String)>,
}

impl InputHistory {
    /// Reads what is there; a file that cannot be read is no history.
    pub fn open(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let lines = text.lines().count();
        let entries: Vec<String> = text
            .lines()
            .skip(lines.saturating_sub(MOST))
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let history = Self {
            file: Some(file),
            entries,
            at: None,
        };
        if lines > 2 * MOST {
            history.rewrite();
        }
        history
    }

    /// Remembers a message. One that starts with a blank is private.
    pub fn add(&mut self, entry: &str) {
        self.at = None;
        let repeated = self.entries.last().is_some_and(|last| last == entry);
        if entry.trim().is_empty() || entry.starts_with(' ') || entry.len() > LONGEST || repeated {
            return;
        }
        self.entries.push(entry.to_owned());
        if let Some(mut file) = self.open_for(OpenOptions::new().append(true)) {
            // Losing a line of history is no reason to disturb a chat.
            let _ = writeln!(file, "{}", serde_json::Value::from(entry));
        }
    }

    /// The entry before, that begins with what was being written.
    pub fn back(&mut self, writing: &str) -> Option<&str> {
        let (from, draft) = match &self.at {
            Some((at, draft)) => (*at, draft.clone()),
            None => (self.entries.len(), writing.to_owned()),
        };
        let found = self.entries[..from]
            .iter()
            .rposition(|entry| entry.starts_with(&draft) && *entry != writing)?;
        self.at = Some((found, draft));
        self.entries.get(found).map(String::as_str)
    }

    /// The entry after, or what was being written.
    pub fn forth(&mut self) -> Option<String> {
        let (at, draft) = self.at.take()?;
        let next = self.entries[at + 1..]
            .iter()
            .position(|entry| entry.starts_with(&draft))
            .map(|after| at + 1 + after);
        match next {
            Some(next) => {
                self.at = Some((next, draft));
                self.entries.get(next).cloned()
            }
            None => Some(draft),
        }
    }

    /// The newest entry that holds `wanted` in any casing, older than the `skip` newest of them.
    pub fn search(&self, wanted: &str, skip: usize) -> Option<&str> {
        let wanted = wanted.to_lowercase();
        let found = self.entries.iter().rev();
        let mut seen = std::collections::BTreeSet::new();
        found
            .filter(|entry| entry.to_lowercase().contains(&wanted) && seen.insert(entry.as_str()))
            .nth(skip)
            .map(String::as_str)
    }

    /// Whatever is typed next is a new message.
    pub fn leave(&mut self) {
        self.at = None;
    }

    fn open_for(&self, options: &mut OpenOptions) -> Option<std::fs::File> {
        let file = self.file.as_ref()?;
        chela_files::create_private_folder(file.parent()?).ok()?;
        options.create(true).mode(0o600).open(file).ok()
    }

    fn rewrite(&self) {
        if let Some(mut file) = self.open_for(OpenOptions::new().write(true).truncate(true)) {
            let lines: String = self
                .entries
                .iter()
                .map(|entry| format!("{}\n", serde_json::Value::from(entry.as_str())))
                .collect();
            ok_or_debug!(
                file.write_all(lines.as_bytes()),
                "what was typed is not kept"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::InputHistory;

    #[test]
    fn entries_come_back_in_the_next_chat_for_nobody_else_to_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("chat/main.jsonl");
        let mut history = InputHistory::open(file.clone());
        for entry in ["one", "two\nlines", "two\nlines", " secret", ""] {
            history.add(entry);
        }
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut history = InputHistory::open(file);
        assert_eq!(history.back("draft"), None, "nothing begins with it");
        assert_eq!(history.back(""), Some("two\nlines"));
        assert_eq!(history.back("two\nlines"), Some("one"));
        assert_eq!(history.back("one"), None);
        assert_eq!(history.forth().as_deref(), Some("two\nlines"));
        assert_eq!(history.forth().as_deref(), Some(""));
        assert_eq!(history.forth(), None);
    }

    #[test]
    fn a_search_walks_from_the_newest_to_the_oldest() {
        let mut history = InputHistory::default();
        for entry in ["deploy staging", "hello", "Deploy production", "hello"] {
            history.add(entry);
        }
        assert_eq!(history.search("deploy", 0), Some("Deploy production"));
        assert_eq!(history.search("deploy", 1), Some("deploy staging"));
        assert_eq!(history.search("deploy", 2), None);
        assert_eq!(history.search("hello", 1), None, "the same twice is one");
    }

    #[test]
    fn what_is_typed_narrows_the_search() {
        let mut history = InputHistory::default();
        for entry in ["/model a", "hello", "/model b", "/new"] {
            history.add(entry);
        }
        assert_eq!(history.back("/model"), Some("/model b"));
        assert_eq!(history.back("/model b"), Some("/model a"));
    }
}
