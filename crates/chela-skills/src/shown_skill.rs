//! A skill as it is written into a list: cleaned, escaped and measured once, when it is read, so
//! that listing hundreds of them at every session costs next to nothing.

use std::path::Path;

use chela_core::{ContentHash, Host, sanitize};

use crate::xml::{escape, escape_attribute};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownSkill {
    pub name: String,
    pub description: String,
    /// Length of the description in characters.
    pub description_chars: usize,
    pub location: String,
    /// `~/.chela/workspace/skills/{name}/SKILL.md`, when the location follows from the name.
    pub pattern: Option<String>,
    pub version: String,
    /// Characters of the full entry without its description.
    pub frame_chars: usize,
    pub name_chars: usize,
}

/// What a skill is shown by.
pub(crate) struct ShownParts<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub file: &'a Path,
    pub version: ContentHash,
}

impl ShownSkill {
    pub(crate) fn new(parts: &ShownParts<'_>, host: &Host) -> Self {
        let place =
            |path: &Path| escape_attribute(&sanitize::literal(&host.compact(path))).into_owned();
        let name = escape(parts.name).into_owned();
        let description = escape(parts.description).into_owned();
        let location = place(parts.file);
        let version = parts.version.short();
        let tags = "<skill><name></name><description></description><location></location><version>sha256:</version></skill>\n";
        let name_chars = chars(&name);
        Self {
            frame_chars: tags.len() + name_chars + chars(&location) + version.len(),
            pattern: shared_folder(parts)
                .map(|folder| place(&folder.join("{name}").join(crate::SKILL_FILE))),
            description_chars: chars(&description),
            name,
            description,
            location,
            version,
            name_chars,
        }
    }

    /// The full entry with its description cut to `cap` characters.
    pub(crate) fn write(&self, text: &mut String, cap: usize) {
        let description = if self.description_chars <= cap {
            &self.description
        } else {
            self.cut(cap)
        };
        text.push_str("<skill><name>");
        text.push_str(&self.name);
        text.push_str("</name><description>");
        text.push_str(description);
        if description.len() < self.description.len() {
            text.push('…');
        }
        text.push_str("</description><location>");
        text.push_str(&self.location);
        text.push_str("</location><version>sha256:");
        text.push_str(&self.version);
        text.push_str("</version></skill>\n");
    }

    /// The characters of the full entry at a cap, at most.
    pub(crate) fn chars_at(&self, cap: usize) -> usize {
        self.frame_chars + self.description_chars.min(cap)
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

/// For descriptions without blanks, such as Chinese ones: a cut anywhere but inside an escape.
fn without_broken_escape(head: &str) -> &str {
    match head.rfind('&') {
        Some(at) if !head.get(at..).unwrap_or_default().contains(';') => {
            head.get(..at).unwrap_or_default()
        }
        _ => head,
    }
}

/// The folder a skill shares with others, if its own folder is called like it and its name can
/// stand between blanks.
fn shared_folder<'a>(parts: &ShownParts<'a>) -> Option<&'a Path> {
    let folder = parts.file.parent()?;
    let folder_is_name = folder.file_name()? == parts.name;
    let usual_file = parts.file.file_name()? == crate::SKILL_FILE;
    let one_word = !parts.name.contains(char::is_whitespace);
    if folder_is_name && usual_file && one_word {
        folder.parent()
    } else {
        None
    }
}

pub(crate) fn chars(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}
