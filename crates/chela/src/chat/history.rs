//! What was typed before, kept from one chat to the next.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use chela_core::ok_or_debug;
use chela_files::restrict_to_owner;
use serde::{Deserialize, Serialize};

/// Entries kept.
const MOST: usize = 1000;
/// A pasted book is not worth finding again.
const LONGEST: usize = 32 * 1024;

/// A message as it was typed, with what of it was pasted: brought back to the line, that is still
/// somebody else's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedMessage {
    pub text: String,
    #[serde(default)]
    pub pasted: Vec<String>,
}

/// A line of the file: older ones are the text alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum HistoryLine {
    Message(TypedMessage),
    Text(String),
}

impl TypedMessage {
    /// Of whose lines nobody knows which were pasted: all of them, if there are several.
    fn of_unknown(text: String) -> Self {
        let pasted = text.contains('\n').then(|| text.clone());
        Self {
            pasted: pasted.into_iter().collect(),
            text,
        }
    }
}

/// Earlier messages, oldest first. Each is one JSON object on a line of its file.
#[derive(Debug, Default)]
pub struct InputHistory {
    file: Option<PathBuf>,
    entries: Vec<TypedMessage>,
    /// Where one is while going back, and what was being written before.
    at: Option<(usize, String)>,
}

impl InputHistory {
    /// Reads what is there; a file that cannot be read is no history.
    pub fn open(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let lines = text.lines().count();
        let entries: Vec<TypedMessage> = text
            .lines()
            .skip(lines.saturating_sub(MOST))
            .filter_map(|line| {
                let entry = serde_json::from_str(line);
                ok_or_debug!(entry, "a line of what was typed cannot be read")
            })
            .map(|line| match line {
                HistoryLine::Message(message) => message,
                HistoryLine::Text(text) => TypedMessage::of_unknown(text),
            })
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
    pub fn add(&mut self, entry: TypedMessage) {
        self.at = None;
        let text = &entry.text;
        let repeated = self.entries.last() == Some(&entry);
        if text.trim().is_empty() || text.starts_with(' ') || text.len() > LONGEST || repeated {
            return;
        }
        if let Some(mut file) = self.open_for(OpenOptions::new().append(true)) {
            // Losing a line of history is no reason to disturb a chat.
            ok_or_debug!(
                file.write_all(line_of(&entry).as_bytes()),
                "what was typed is not kept"
            );
        }
        self.entries.push(entry);
    }

    /// Remembers a message that was taken back, as it was typed.
    pub fn add_taken_back(&mut self, text: &str) {
        let mut known = self.entries.iter().rev();
        let known = known.find(|entry| entry.text.trim() == text.trim());
        let entry = known.cloned();
        self.add(entry.unwrap_or_else(|| TypedMessage::of_unknown(text.to_owned())));
    }

    /// The entry before, that begins with what was being written.
    pub fn back(&mut self, writing: &str) -> Option<&TypedMessage> {
        let (from, draft) = match &self.at {
            Some((at, draft)) => (*at, draft.clone()),
            None => (self.entries.len(), writing.to_owned()),
        };
        let found = self.entries[..from]
            .iter()
            .rposition(|entry| entry.text.starts_with(&draft) && entry.text != writing)?;
        self.at = Some((found, draft));
        self.entries.get(found)
    }

    /// The entry after, or what was being written.
    pub fn forth(&mut self) -> Option<TypedMessage> {
        let (at, draft) = self.at.take()?;
        let next = self.entries[at + 1..]
            .iter()
            .position(|entry| entry.text.starts_with(&draft))
            .map(|after| at + 1 + after);
        match next {
            Some(next) => {
                self.at = Some((next, draft));
                self.entries.get(next).cloned()
            }
            None => Some(TypedMessage {
                text: draft,
                pasted: Vec::new(),
            }),
        }
    }

    /// The newest entry that holds `wanted` in any casing, older than the `skip` newest of them.
    pub fn search(&self, wanted: &str, skip: usize) -> Option<&TypedMessage> {
        let wanted = wanted.to_lowercase();
        let found = self.entries.iter().rev();
        let mut seen = std::collections::BTreeSet::new();
        found
            .filter(|entry| {
                entry.text.to_lowercase().contains(&wanted) && seen.insert(entry.text.as_str())
            })
            .nth(skip)
    }

    /// Whatever is typed next is a new message.
    pub fn leave(&mut self) {
        self.at = None;
    }

    fn open_for(&self, options: &mut OpenOptions) -> Option<std::fs::File> {
        let file = self.file.as_ref()?;
        let opened = chela_files::create_private_folder(file.parent()?)
            .and_then(|()| restrict_to_owner(options.create(true)).open(file));
        ok_or_debug!(opened, "what was typed is not kept", path = %file.display())
    }

    fn rewrite(&self) {
        if let Some(mut file) = self.open_for(OpenOptions::new().write(true).truncate(true)) {
            let lines: String = self.entries.iter().map(line_of).collect();
            ok_or_debug!(
                file.write_all(lines.as_bytes()),
                "what was typed is not kept"
            );
        }
    }
}

fn line_of(entry: &TypedMessage) -> String {
    let line = ok_or_debug!(serde_json::to_string(entry), "what was typed is not kept");
    line.map_or_else(String::new, |line| format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{InputHistory, TypedMessage};

    fn typed(text: &str) -> TypedMessage {
        TypedMessage {
            text: text.to_owned(),
            pasted: Vec::new(),
        }
    }

    fn text(entry: Option<&TypedMessage>) -> Option<&str> {
        entry.map(|entry| entry.text.as_str())
    }

    #[test]
    fn what_was_pasted_stays_pasted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("main.jsonl");
        std::fs::write(&file, "\"an older\\nmail\"\n\"short\"\n").unwrap();
        let mut history = InputHistory::open(file.clone());
        let mail = TypedMessage {
            text: "what is this? a\nmail".to_owned(),
            pasted: vec!["a\nmail".to_owned()],
        };
        history.add(mail.clone());
        history.add(typed("/undo"));
        history.add_taken_back(&mail.text);
        let mut history = InputHistory::open(file);
        assert_eq!(history.back(""), Some(&mail));
        assert_eq!(history.search("older", 0).unwrap().pasted.len(), 1);
        assert!(history.search("short", 0).unwrap().pasted.is_empty());
    }

    #[test]
    fn entries_come_back_in_the_next_chat_for_nobody_else_to_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("chat/main.jsonl");
        let mut history = InputHistory::open(file.clone());
        for entry in ["one", "two\nlines", "two\nlines", " secret", ""] {
            history.add(typed(entry));
        }
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut history = InputHistory::open(file);
        assert_eq!(text(history.back("draft")), None, "nothing begins with it");
        assert_eq!(text(history.back("")), Some("two\nlines"));
        assert_eq!(text(history.back("two\nlines")), Some("one"));
        assert_eq!(text(history.back("one")), None);
        assert_eq!(text(history.forth().as_ref()), Some("two\nlines"));
        assert_eq!(text(history.forth().as_ref()), Some(""));
        assert_eq!(history.forth(), None);
    }

    #[test]
    fn a_search_walks_from_the_newest_to_the_oldest() {
        let mut history = InputHistory::default();
        for entry in ["deploy staging", "hello", "Deploy production", "hello"] {
            history.add(typed(entry));
        }
        assert_eq!(text(history.search("deploy", 0)), Some("Deploy production"));
        assert_eq!(text(history.search("deploy", 1)), Some("deploy staging"));
        assert_eq!(text(history.search("deploy", 2)), None);
        assert_eq!(
            text(history.search("hello", 1)),
            None,
            "the same twice is one"
        );
    }

    #[test]
    fn what_is_typed_narrows_the_search() {
        let mut history = InputHistory::default();
        for entry in ["/model a", "hello", "/model b", "/new"] {
            history.add(typed(entry));
        }
        assert_eq!(text(history.back("/model")), Some("/model b"));
        assert_eq!(text(history.back("/model b")), Some("/model a"));
    }
}
