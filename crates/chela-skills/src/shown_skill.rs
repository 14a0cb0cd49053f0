//! A skill as it is written into a list: cleaned, escaped and measured once, when it is read, so
//! that listing hundreds of them at every session costs next to nothing.

use std::path::Path;

use chela_core::{ContentHash, Host, sanitize};

use crate::xml::{escape, escape_attribute};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownSkill {
    /// The word it is listed under: its name, without blanks.
    pub word: String,
    pub description: String,
    /// Length of the description in characters.
    pub description_chars: usize,
    /// Where it lies together with others: `~/.agents/skills/{name}/SKILL.md`.
    pub group: String,
    /// What stands for `{name}` there, where that is not the word.
    pub folder: Option<String>,
    /// Digits that change when SKILL.md does.
    pub version: String,
}

/// What a skill is shown by.
pub(crate) struct ShownParts<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub file: &'a Path,
    pub root: &'a Path,
    pub version: ContentHash,
}

impl ShownSkill {
    pub(crate) fn new(parts: &ShownParts<'_>, host: &Host) -> Self {
        let place =
            |path: &Path| escape_attribute(&sanitize::literal(&host.compact(path))).into_owned();
        let word = escape(&listed_word(parts.name)).into_owned();
        let description = escape(parts.description).into_owned();
        let (group, folder) = match shared_folder(parts) {
            Some(folder) => {
                let group = place(&parts.root.join("{name}").join(crate::SKILL_FILE));
                let folder = escape(&sanitize::literal(folder)).into_owned();
                (group, Some(folder).filter(|folder| *folder != word))
            }
            None => (place(parts.file), None),
        };
        Self {
            description_chars: chars(&description),
            version: short_version(parts.version),
            word,
            description,
            group,
            folder,
        }
    }

    /// The word, and where it lies if that does not follow from it.
    pub(crate) fn write_name(&self, text: &mut String) {
        text.push_str(&self.word);
        if let Some(folder) = &self.folder {
            text.push('@');
            text.push_str(folder);
        }
    }

    /// The full line with its description cut to `cap` characters.
    pub(crate) fn write_line(&self, text: &mut String, cap: usize) {
        let description = if self.description_chars <= cap {
            &self.description
        } else {
            self.cut(cap)
        };
        self.write_name(text);
        text.push_str(" v");
        text.push_str(&self.version);
        text.push_str(": ");
        text.push_str(description);
        if description.len() < self.description.len() {
            text.push('…');
        }
        text.push('\n');
    }

    /// The characters of its name in a list.
    pub(crate) fn name_chars(&self) -> usize {
        let folder = self.folder.as_deref().map_or(0, |folder| chars(folder) + 1);
        chars(&self.word) + folder
    }

    /// The characters of the full line at a cap, at most.
    pub(crate) fn line_chars(&self, cap: usize) -> usize {
        const BETWEEN: usize = " v: \n".len();
        self.name_chars() + self.version.len() + BETWEEN + self.description_chars.min(cap)
    }

    /// At most `cap - 1` characters of the description, ended between words. Escapes hold no
    /// blanks, so none is cut in two; a single long word is dropped whole.
    fn cut(&self, cap: usize) -> &str {
        let text = self.description.as_str();
        let room = cap.saturating_sub(1);
        let end = if text.len() == self.description_chars {
            room.min(text.len())
        } else {
            text.char_indices()
                .nth(room)
                .map_or(text.len(), |(at, _)| at)
        };
        let (head, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let whole_word = rest.starts_with(' ');
        let kept = if whole_word {
            head
        } else {
            head.rsplit_once(' ').map_or("", |(before, _)| before)
        };
        let kept = kept.trim_end_matches([' ', ',', ';', ':', '.', '-']);
        if kept.is_empty() {
            without_broken_escape(head)
        } else {
            kept
        }
    }
}

/// A name as one word: what stands between blanks in a list of names.
pub(crate) fn listed_word(name: &str) -> String {
    name.replace(|c: char| c.is_whitespace() || c == '@', "-")
}

/// Six digits of a hash: short enough for every prompt, and the same by chance once in a million.
pub(crate) fn short_version(version: ContentHash) -> String {
    let bytes = version.as_bytes().iter().take(8);
    let number = bytes.fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    format!("{:06}", number % 1_000_000)
}

/// For descriptions without blanks, such as Chinese ones: a cut anywhere but inside an escape.
fn without_broken_escape(head: &str) -> &str {
    match head.rfind('&') {
        Some(at) if !head.get(at..).unwrap_or_default().contains(';') => {
            head.get(..at).unwrap_or_default()
        }
        _ => head,
    }
}

/// The folder of a skill below its root, if it can stand between blanks and holds the usual file.
fn shared_folder<'a>(parts: &ShownParts<'a>) -> Option<&'a str> {
    let below = parts.file.parent()?.strip_prefix(parts.root).ok()?;
    let below = below.to_str().filter(|below| !below.is_empty())?;
    let usual_file = parts.file.file_name()? == crate::SKILL_FILE;
    (usual_file && !below.contains(char::is_whitespace)).then_some(below)
}

pub(crate) fn chars(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}
