//! Notes written at the end of a session, from its last messages. No model is needed.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::day::Day;

/// How many messages a note keeps.
pub const MESSAGES: usize = 15;
/// A message longer than this is cut: a note is to be found again, not to be complete.
const LONGEST_MESSAGE: usize = 800;

/// One message of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said<'a> {
    /// `User` or `Assistant`, or a name.
    pub by: &'a str,
    pub text: &'a str,
}

/// A session that ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd<'a> {
    pub workspace: &'a Path,
    pub session_key: &'a str,
    pub day: Day,
    /// Hour and minute in the user's zone.
    pub time: (u32, u32),
    pub messages: &'a [Said<'a>],
    /// A few words for the file name, from a model; the time stands in for it.
    pub slug: Option<&'a str>,
    /// A better text than the messages themselves, from a model.
    pub summary: Option<&'a str>,
}

#[derive(Debug, thiserror::Error)]
#[error("the note of the session could not be written to {}", path.display())]
pub struct NoteError {
    pub path: PathBuf,
    pub source: std::io::Error,
}

/// Writes `memory/YYYY-MM-DD-HHMM.md`. Nothing is overwritten; nothing is written when nothing
/// was said.
pub fn write_session_note(end: &SessionEnd<'_>) -> Result<Option<PathBuf>, NoteError> {
    let Some(text) = session_note(end) else {
        return Ok(None);
    };
    let folder = end.workspace.join("memory");
    let fail = |path: &Path, source| NoteError {
        path: path.to_owned(),
        source,
    };
    std::fs::create_dir_all(&folder).map_err(|source| fail(&folder, source))?;
    let stem = match end.slug.map(slug).filter(|slug| !slug.is_empty()) {
        Some(slug) => format!("{}-{slug}", end.day),
        None => format!("{}-{:02}{:02}", end.day, end.time.0, end.time.1),
    };
    for copy in 1..1000 {
        let name = if copy == 1 {
            format!("{stem}.md")
        } else {
            format!("{stem}-{copy}.md")
        };
        let path = folder.join(name);
        match std::fs::File::options()
            .write(true)
            .create_new(true)
            .open(&path)
        {
            Ok(mut file) => {
                file.write_all(text.as_bytes())
                    .map_err(|source| fail(&path, source))?;
                return Ok(Some(path));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(fail(&path, source)),
        }
    }
    Ok(None)
}

/// The text of the note.
pub fn session_note(end: &SessionEnd<'_>) -> Option<String> {
    let said: Vec<&Said<'_>> = end
        .messages
        .iter()
        .filter(|m| !m.text.trim().is_empty())
        .collect();
    let last = said
        .get(said.len().saturating_sub(MESSAGES)..)
        .unwrap_or_default();
    if last.is_empty() && end.summary.is_none() {
        return None;
    }
    let mut text = format!(
        "# Session {} {:02}:{:02}\n\nSession key: {}\n\n",
        end.day, end.time.0, end.time.1, end.session_key
    );
    if let Some(summary) = end
        .summary
        .map(str::trim)
        .filter(|summary| !summary.is_empty())
    {
        text.push_str(&format!("## Summary\n\n{summary}\n\n"));
    }
    if !last.is_empty() {
        text.push_str("## Last messages\n\n");
        for message in last {
            text.push_str(&format!("- {}: {}\n", message.by, one_line(message.text)));
        }
    }
    Some(text)
}

fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{}…", joined.get(..at).unwrap_or_default()),
        None => joined,
    }
}

fn slug(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .map(str::to_lowercase)
        .collect();
    words.join("-").chars().take(48).collect()
}

#[cfg(test)]
mod tests {
    use super::{Said, SessionEnd, session_note, write_session_note};
    use crate::day::Day;

    fn end<'a>(workspace: &'a std::path::Path, messages: &'a [Said<'a>]) -> SessionEnd<'a> {
        SessionEnd {
            workspace,
            session_key: "agent:main:main",
            day: Day::find("2026-03-04").unwrap(),
            time: (9, 5),
            messages,
            slug: None,
            summary: None,
        }
    }

    #[test]
    fn the_last_messages_become_a_dated_note() {
        let home = tempfile::tempdir().unwrap();
        let many: Vec<String> = (0..20).map(|i| format!("message\n{i}")).collect();
        let said: Vec<Said<'_>> = many.iter().map(|text| Said { by: "User", text }).collect();
        let path = write_session_note(&end(home.path(), &said))
            .unwrap()
            .unwrap();
        assert_eq!(path.file_name().unwrap(), "2026-03-04-0905.md");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("- User: message 19\n"), "{text}");
        assert!(
            text.contains("- User: message 5\n") && !text.contains("message 4\n"),
            "{text}"
        );
        // A second one in the same minute has a name of its own.
        let again = write_session_note(&end(home.path(), &said))
            .unwrap()
            .unwrap();
        assert_eq!(again.file_name().unwrap(), "2026-03-04-0905-2.md");
    }

    #[test]
    fn nothing_said_is_no_note() {
        let blank = [Said {
            by: "User",
            text: "  ",
        }];
        assert_eq!(session_note(&end("/nowhere".as_ref(), &blank)), None);
    }
}
