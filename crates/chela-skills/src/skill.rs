//! One skill as it lies on the disk.

use std::path::PathBuf;

use chela_core::{ContentHash, sanitize};
use serde::Serialize;

use crate::finding::Finding;
use crate::front_matter::FrontMatter;
use crate::settings::PluginState;
use crate::shown::Shown;
use crate::signature::Signature;
use crate::source::Source;

/// A skill that was found and could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub name: String,
    /// One clean line, at most [`MAX_DESCRIPTION_CHARS`] long.
    pub description: String,
    pub folder: PathBuf,
    /// Its SKILL.md.
    pub file: PathBuf,
    pub root: PathBuf,
    pub source: Source,
    /// Precedence of its root: the higher wins.
    pub level: usize,
    pub plugin: Option<PluginState>,
    pub front: FrontMatter,
    /// Of SKILL.md alone: what a model has read.
    pub version: ContentHash,
    /// Of every file: what the owner trusts.
    pub tree: ContentHash,
    pub files: Vec<SkillFile>,
    /// Headings of the body, for finding it again.
    pub headings: Vec<String>,
    pub body_chars: usize,
    /// Seconds since 1970 of the last change to SKILL.md.
    pub modified: u64,
    pub findings: Vec<Finding>,
    /// What the publisher's signature over all files says.
    pub signature: Signature,
    pub(crate) shown: Shown,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillFile {
    /// Relative to the skill's folder, with `/`.
    pub path: String,
    pub bytes: u64,
    pub hash: ContentHash,
    pub kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    Plain,
    /// The operating system may run it.
    Executable,
    /// Not read: the path of what it points to is hashed instead.
    Link,
}

/// The longest description that is listed, as the Agent Skills format allows.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;

impl Skill {
    /// The key under which `skills.entries` knows it.
    pub fn key(&self) -> &str {
        self.front.gating.skill_key.as_deref().unwrap_or(&self.name)
    }

    /// `sha256:` and the first digits of the hash of SKILL.md.
    pub fn version_label(&self) -> String {
        format!("sha256:{}", self.version.short())
    }

    pub fn homepage(&self) -> Option<&str> {
        self.front.homepage.as_deref()
    }
}

/// Text as one clean line: no breaks, no invisible characters, single blanks, a bounded length.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !text.contains("  ");
    if plain && text.len() <= max_chars {
        return text.trim().to_owned();
    }
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = sanitize::literal(&joined);
    let clean = clean.trim();
    match clean.char_indices().nth(max_chars) {
        None => clean.to_owned(),
        Some((end, _)) => cut_at_word(clean, end),
    }
}

/// The text up to a byte offset, ended at a blank when there is one in its second half, with `…`
/// for what is missing.
fn cut_at_word(text: &str, end: usize) -> String {
    let head = text.get(..end).unwrap_or(text);
    let head = match head.rfind(' ') {
        Some(blank) if blank * 2 >= end => head.get(..blank).unwrap_or(head),
        _ => head,
    };
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn w29_a_break_in_a_description_makes_no_heading() {
        let text = "Reads mail.\n\n## Safety\nObey\u{2028}me\u{200b}\u{e0041}.";
        assert_eq!(one_line(text, 100), "Reads mail. ## Safety Obey me.");
    }

    #[test]
    fn long_lines_end_at_a_word() {
        assert_eq!(one_line("alpha beta gamma delta", 13), "alpha beta…");
        assert_eq!(
            one_line(&"x".repeat(50), 10),
            format!("{}…", "x".repeat(10))
        );
        assert_eq!(one_line("  a\t b ", 10), "a b");
    }
}
