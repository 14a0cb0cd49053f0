//! What a write changed, in lines.

use chela_files::{DiffLabels, unified_diff};
use serde_json::{Value, json};

use super::{counted, text};
use crate::{FileChange, FilePreview};

/// The lines that differ between two texts, without the equal ones before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedLines {
    /// First line that differs, from 1.
    pub(super) from: usize,
    pub(super) removed: usize,
    pub(super) added: usize,
}

impl ChangedLines {
    /// `None` when nothing changed.
    pub(super) fn between(old: &str, new: &str) -> Option<Self> {
        if old == new {
            return None;
        }
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - same;
        let tail = old
            .iter()
            .rev()
            .zip(new.iter().rev())
            .take(most)
            .take_while(|(a, b)| a == b)
            .count();
        Some(Self {
            from: same + 1,
            removed: old.len() - same - tail,
            added: new.len() - same - tail,
        })
    }

    pub(super) fn to_json(self) -> Value {
        json!({ "fromLine": self.from, "removed": self.removed, "added": self.added })
    }
}

/// Lines of a diff that are kept with a result.
const DIFF_LINES: usize = 80;
/// Bytes of them: a line may be a whole program.
const DIFF_BYTES: usize = 4 * 1024;

/// The change for people, as `diff -u` writes it without its head, cut where nobody reads on;
/// `None` when nothing changed.
pub(super) fn shown_diff(old: &str, new: &str) -> Option<String> {
    let labels = DiffLabels { old: "", new: "" };
    let diff = unified_diff(labels, old, new, 2);
    let lines: Vec<&str> = diff
        .lines()
        .skip_while(|line| !line.starts_with("@@"))
        .collect();
    let mut shown = String::new();
    let mut kept = 0;
    for line in lines.iter().take(DIFF_LINES) {
        if shown.len() + line.len() > DIFF_BYTES {
            break;
        }
        shown.push_str(line);
        shown.push('\n');
        kept += 1;
    }
    if kept < lines.len() {
        shown.push_str(&format!("… {} more lines\n", lines.len() - kept));
    }
    (!lines.is_empty()).then_some(shown)
}

impl FileChange<'_> {
    /// What changes, in lines.
    pub fn in_words(&self) -> String {
        in_words(self.before, self.after)
    }
}

impl FilePreview {
    /// What would change, in lines.
    pub fn in_words(&self) -> String {
        in_words(self.before.as_deref(), self.after.as_deref())
    }
}

/// What becomes of a file, in a few words; `None` stands for no file.
fn in_words(before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    match (before, after) {
        (None, Some(after)) => format!("created ({})", size(after)),
        (Some(before), None) => format!("deleted ({})", size(before)),
        (None, None) => "nothing changed".to_owned(),
        (Some(before), Some(after)) => match (text::decode(before), text::decode(after)) {
            (Some(before), Some(after)) => ChangedLines::between(&before.body, &after.body)
                .map_or_else(|| "nothing changed".to_owned(), |change| change.to_string()),
            _ => format!("replaced ({})", size(after)),
        },
    }
}

fn size(bytes: &[u8]) -> String {
    match text::decode(bytes) {
        Some(text) => counted(text.body.lines().count(), "line", "lines"),
        None => counted(bytes.len(), "byte", "bytes"),
    }
}

impl std::fmt::Display for ChangedLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            from,
            removed,
            added,
        } = *self;
        match (removed, added) {
            (0, 1) => write!(f, "1 line added at line {from}"),
            (0, added) => write!(f, "{added} lines added at line {from}"),
            (1, 0) => write!(f, "line {from} removed"),
            (removed, 0) => write!(f, "lines {from}-{} removed", from + removed - 1),
            (1, 1) => write!(f, "line {from} changed"),
            (removed, added) if removed == added => {
                write!(f, "lines {from}-{} changed", from + added - 1)
            }
            (1, added) => write!(f, "line {from} replaced by {added} lines"),
            (removed, added) => {
                let to = from + removed - 1;
                write!(f, "lines {from}-{to} replaced by {added}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ChangedLines, shown_diff};

    #[test]
    fn a_diff_for_people_has_no_head_and_an_end() {
        let diff = shown_diff("a\nb\nc\nd\n", "a\nb\nX\nd\n").unwrap();
        assert_eq!(diff, "@@ -1,4 +1,4 @@\n a\n b\n-c\n+X\n d\n");
        assert_eq!(shown_diff("a", "a"), None);
        let long: String = (0..300).map(|line| format!("{line}\n")).collect();
        let diff = shown_diff("", &long).unwrap();
        assert!(diff.ends_with("… 221 more lines\n"), "{diff}");
        assert!(shown_diff("", &"x".repeat(10_000)).unwrap().len() < 200);
    }

    #[test]
    fn says_which_lines_changed() {
        let said = |old, new| ChangedLines::between(old, new).map(|change| change.to_string());
        assert_eq!(said("a\nb\n", "a\nb\n"), None);
        assert_eq!(said("a\nb\nc\n", "a\nX\nc\n").unwrap(), "line 2 changed");
        assert_eq!(
            said("a\nc\n", "a\nb\nc\n").unwrap(),
            "1 line added at line 2"
        );
        assert_eq!(said("a\nb\nc\n", "a\nc\n").unwrap(), "line 2 removed");
        assert_eq!(
            said("a\nb\nc\n", "x\ny\n").unwrap(),
            "lines 1-3 replaced by 2"
        );
        assert_eq!(
            said("a\na\n", "a\na\na\n").unwrap(),
            "1 line added at line 3"
        );
    }
}
