//! Notes written when a session ends or rests: what the person said of themselves and wants done
//! always, what they asked last, and where the rest is. No model is needed, and nothing a model said
//! is in them.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::day::CalendarDay;
use crate::worth_keeping::kept_sentences;

/// How many messages a note keeps.
pub const MESSAGES: usize = 15;
/// How much of what is worth keeping one has.
const MOST_KEPT: usize = 30;
/// A message longer than this is cut: a note is to be found again, not to be complete.
const LONGEST_MESSAGE: usize = 300;
/// What a note of this kind says of itself: a new conversation does not begin with it.
const SESSION_NOTE: &str = "kind: session-note";

/// A session that ends, or rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd<'a> {
    pub workspace: &'a Path,
    pub session_key: &'a str,
    pub session_id: &'a str,
    pub day: CalendarDay,
    /// Hour and minute in the user's zone.
    pub time: (u32, u32),
    /// What the person wrote, in order.
    pub messages: &'a [&'a str],
}

#[derive(Debug, thiserror::Error)]
#[error("the note of the session could not be written to {}", path.display())]
pub struct NoteError {
    pub path: PathBuf,
    pub source: std::io::Error,
}

/// Whether a path of a workspace is that of such a note: `memory/YYYY-MM-DD-HHMM.md`, perhaps with
/// a number.
pub fn is_session_note(workspace: &Path, path: &Path) -> bool {
    let Some(stem) = path
        .strip_prefix(workspace.join("memory"))
        .ok()
        .and_then(Path::to_str)
        .and_then(|name| name.strip_suffix(".md"))
    else {
        return false;
    };
    let mut parts = stem.split('-');
    let mut has_digits = |count: usize| {
        parts.next().is_some_and(|part| {
            part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let is_dated = [4, 2, 2, 4].into_iter().all(&mut has_digits);
    is_dated && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
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
    let stem = format!("{}-{:02}{:02}", end.day, end.time.0, end.time.1);
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

const KEY_LINE: &str = "Session key: ";
const RESUME_LINE: &str = "The whole conversation: ";

/// The text of the note.
pub fn session_note(end: &SessionEnd<'_>) -> Option<String> {
    let said: Vec<&str> = end
        .messages
        .iter()
        .copied()
        .filter(|text| !text.trim().is_empty())
        .collect();
    let last = said
        .get(said.len().saturating_sub(MESSAGES)..)
        .filter(|last| !last.is_empty())?;
    let mut text = format!(
        "---\n{SESSION_NOTE}\n---\n\n# Session {} {:02}:{:02}\n\n\
         {KEY_LINE}{}\n{RESUME_LINE}`chela resume {}`\n\n",
        end.day, end.time.0, end.time.1, end.session_key, end.session_id
    );
    let kept = worth_keeping(&said);
    if !kept.is_empty() {
        text.push_str("## To keep\n\n");
        kept.iter()
            .for_each(|sentence| text.push_str(&format!("- {}\n", one_line(sentence))));
        text.push('\n');
    }
    text.push_str("## You asked\n\n");
    for message in last {
        text.push_str(&format!("- {}\n", one_line(message)));
    }
    Some(text)
}

/// Whether a line says of which session a note is, and nothing of what was said.
pub(crate) fn is_head_line(line: &str) -> bool {
    [KEY_LINE, RESUME_LINE]
        .iter()
        .any(|head| line.starts_with(head))
}

/// What outlasts the session, each once.
fn worth_keeping<'a>(said: &[&'a str]) -> Vec<&'a str> {
    let mut kept: Vec<&str> = Vec::new();
    for sentence in said.iter().flat_map(|message| kept_sentences(message)) {
        if !kept.contains(&sentence) {
            kept.push(sentence);
        }
    }
    kept.truncate(MOST_KEPT);
    kept
}

/// Whether a note was written at the end of a session. Older ones say so by their first lines.
pub(crate) fn is_session_note_text(text: &str) -> bool {
    if text.starts_with("# Session ") && text.contains("\nSession key: ") {
        return true;
    }
    let mut lines = text.lines();
    lines.next().map(str::trim_end) == Some("---")
        && lines
            .take_while(|line| line.trim_end() != "---")
            .any(|line| line.trim() == SESSION_NOTE)
}

fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{}…", joined.get(..at).unwrap_or_default()),
        None => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionEnd, is_session_note_text, session_note, write_session_note};
    use crate::day::CalendarDay;

    fn end<'a>(workspace: &'a std::path::Path, messages: &'a [&'a str]) -> SessionEnd<'a> {
        SessionEnd {
            workspace,
            session_key: "agent:main:main",
            session_id: "3f2a9c01-aaaa",
            day: CalendarDay::find("2026-03-04").unwrap(),
            time: (9, 5),
            messages,
        }
    }

    #[test]
    fn what_was_asked_last_becomes_a_dated_note() {
        let home = tempfile::tempdir().unwrap();
        let many: Vec<String> = (0..20).map(|i| format!("message\n{i}")).collect();
        let said: Vec<&str> = many.iter().map(String::as_str).collect();
        let path = write_session_note(&end(home.path(), &said))
            .unwrap()
            .unwrap();
        assert_eq!(path.file_name().unwrap(), "2026-03-04-0905.md");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("- message 19\n"), "{text}");
        assert!(
            text.contains("- message 5\n") && !text.contains("message 4\n"),
            "{text}"
        );
        assert!(text.contains("`chela resume 3f2a9c01-aaaa`"), "{text}");
        assert!(is_session_note_text(&text) && !is_session_note_text("# Session\n"));
        // A second one in the same minute has a name of its own.
        let again = write_session_note(&end(home.path(), &said))
            .unwrap()
            .unwrap();
        assert_eq!(again.file_name().unwrap(), "2026-03-04-0905-2.md");
    }

    #[test]
    fn what_outlasts_the_session_stands_above() {
        let said = [
            "I live in Faro. What is the weather?",
            "From now on answer in Portuguese.",
            "I live in Faro.",
        ];
        let text = session_note(&end("/nowhere".as_ref(), &said)).unwrap();
        assert!(
            text.contains(
                "## To keep\n\n- I live in Faro.\n- From now on answer in Portuguese.\n\n## You asked"
            ),
            "{text}"
        );
    }

    #[test]
    fn nothing_said_is_no_note() {
        assert_eq!(session_note(&end("/nowhere".as_ref(), &["  "])), None);
    }
}
